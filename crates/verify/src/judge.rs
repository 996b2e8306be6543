//! Judges a run: pure, total, and the same run always gives the same report, byte for byte.
//!
//! Each check judges each profile and case apart (`unit`), once a repetition; what it says is held against its own
//! specification (`guard`); repetitions make one verdict (`repeat`); all findings make a report (`report`).

use std::collections::BTreeSet;

use ostiary_contract::Bundle;
use ostiary_record::{Axes, DigestSource, Finding, Gate, Layer, Recording, Report, Run, Severity};

use crate::{
    answers::Kept, check::Check, coverage::core, discover::Discovered, registry::Harness, report, scenario::DISCOVER,
};

mod guard;
mod missing;
mod outcome;
pub(crate) mod repeat;
pub(crate) mod unit;

pub use guard::ENGINE_REASONS;

/// How to judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The layers asked for; `None` = those of the checks in `only`, or those that the run's gate requires, see
    /// [`layers_of`].
    pub layers: Option<BTreeSet<Layer>>,
    /// Only these checks, scenarios or cases; empty = all of the gate.
    pub only: Vec<String>,
    /// Extensions that the consumer supports (C-08).
    pub consumer_extensions: Vec<String>,
    /// The operator's keys for signed cards (C-07); without any, signatures are told and not checked.
    pub card_keys: ostiary_canon::jwk::KeySet,
    /// Whether the policy asks for a signed card.
    pub card_signature_required: bool,
    /// The last card that was known of the agent, to compare with.
    pub last_card: Option<serde_json::Value>,
    /// Whether cards of 0.2 and 0.3 are judged by their own version, instead of being told to migrate.
    pub legacy_cards: bool,
    /// Whether a card is judged by itself, so that nothing is to be activated.
    pub card_alone: bool,
}

/// What one judgement needs besides the check.
pub(crate) struct Scene<'a> {
    pub(crate) harness: &'a Harness,
    pub(crate) run: &'a Run,
    pub(crate) bundle: &'a Bundle,
    pub(crate) options: &'a JudgeOptions,
    pub(crate) discovered: &'a Discovered,
    /// The answers of the run's recordings, read once.
    pub(crate) answers: &'a Kept,
}

impl Scene<'_> {
    /// How the artifact's digest is known: observed only where the file that the environment names was digested for this
    /// run and is the pinned one, whatever the run itself says (B-05).
    pub(crate) fn producer_source(&self) -> DigestSource {
        let pinned = self.bundle.contract.producer.digest().map(|digest| digest.to_string());
        let environment = &self.run.environment;
        match environment.producer_digest_source {
            _ if pinned.is_some() && environment.artifact_digest == pinned => DigestSource::Observed,
            Some(DigestSource::Attested) => DigestSource::Attested,
            Some(DigestSource::Observed | DigestSource::Declared) | None => DigestSource::Declared,
        }
    }
}

/// Judges a run.
#[must_use]
pub fn judge(harness: &Harness, run: &Run, bundle: &Bundle, options: &JudgeOptions) -> Report {
    let discovered = discovered(run);
    let scene = Scene { harness, run, bundle, options, discovered: &discovered, answers: &Kept::of(run) };
    let checks = harness.checks_for(run.gate, &options.only);
    let findings = checks.flat_map(|check| findings_of(&scene, check)).collect();
    report::report(&scene, findings)
}

/// What one check says about a run, for every profile and case: the engine's whole path, guards included.
#[must_use]
pub fn judge_check(
    harness: &Harness,
    check: &dyn Check,
    run: &Run,
    bundle: &Bundle,
    options: &JudgeOptions,
) -> Vec<Finding> {
    let discovered = discovered(run);
    findings_of(&Scene { harness, run, bundle, options, discovered: &discovered, answers: &Kept::of(run) }, check)
}

fn findings_of<'a>(scene: &'a Scene<'a>, check: &dyn Check) -> Vec<Finding> {
    let units = unit::units(scene, check.spec());
    let findings = units.iter().flat_map(|unit| repeat::judge_unit(scene, check, unit));
    // over a binding that is not to be activated nothing fails, and nothing is passed
    let beyond = core::beyond(scene.bundle, scene.discovered);
    let told = |finding: Finding| match &finding.profile {
        Some(profile) if beyond.contains(profile) && finding.severity == Severity::Error => {
            finding.as_severity(Severity::Warning)
        }
        _ => finding,
    };
    findings.map(told).collect()
}

/// The layers that a gate asks for, by the first policy: behavior and temporal are not asked yet, and stand in the
/// statement as not verified.
#[must_use]
pub fn layers_of(gate: Option<Gate>) -> BTreeSet<Layer> {
    let layers: &[Layer] = match gate {
        Some(Gate::Static | Gate::Admission) => &[Layer::Declaration],
        Some(Gate::Conformance) => &[Layer::Declaration, Layer::Schema, Layer::Protocol],
        Some(Gate::Security) => &[Layer::Declaration, Layer::Authorization],
        None | Some(Gate::Canary | Gate::Active) => {
            &[Layer::Declaration, Layer::Schema, Layer::Protocol, Layer::Authorization]
        }
    };
    layers.iter().copied().collect()
}

/// The discovery tape of a run; an empty one where a stored run has none.
#[must_use]
pub fn discovered(run: &Run) -> Discovered {
    let first = run.recordings.first().filter(|r| r.scenario.0 == DISCOVER).cloned();
    Discovered::read(first.unwrap_or_else(|| Recording {
        scenario: DISCOVER.into(),
        axes: Axes::default(),
        seed: 0,
        events: Vec::new(),
    }))
}
