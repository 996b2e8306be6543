//! Many findings make one report: outcomes by layer and profile, counts, the statement.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_canon::Profile;
use ostiary_protocol::a2a::digest::card_digest;
use ostiary_record::{Counts, Finding, FindingLine, Kind, Layer, Outcome, ReasonCode, Report, Run, Severity};

use crate::{
    judge::{Scene, layers_of, unit},
    plan::activated,
    statement,
};

/// Reasons that say a task was in, or went to, a state where it must not be.
const STATE_REASONS: &[ReasonCode] =
    &[ReasonCode::TerminalStateReopened, ReasonCode::TaskTransitionForbidden, ReasonCode::TaskStateInvalid];

/// The layers without which nothing can be said about a working agent; an evaluation builds on all of them (V-04).
const CONTRACT_LAYERS: [Layer; 4] = [Layer::Declaration, Layer::Schema, Layer::Protocol, Layer::Authorization];

/// The outcomes that a statement and a gate look at.
pub(crate) struct Outcomes {
    pub(crate) asked: BTreeSet<Layer>,
    pub(crate) layers: BTreeMap<Layer, Option<Outcome>>,
    pub(crate) verdict: Outcome,
    pub(crate) passed: Vec<Profile>,
    pub(crate) failed: Vec<Profile>,
}

pub(crate) fn report(scene: &Scene<'_>, findings: Vec<Finding>) -> Report {
    let outcomes = outcomes(scene, &findings);
    let statement = statement::statement(scene, &outcomes, &findings);
    let producer = scene.bundle.contract.producer.digest();
    let whole = scene.options.only.is_empty() && CONTRACT_LAYERS.iter().all(|l| outcomes.asked.contains(l));
    Report {
        verdict: outcomes.verdict,
        verified_at: scene.run.started_at.clone(),
        harness_version: scene.harness.version(),
        bundle_digest: Some(scene.bundle.digest.to_string()),
        producer_digest: producer.map(|d| d.to_string()),
        producer_digest_source: scene.producer_source(),
        target: scene.run.environment.target(),
        card_digest: scene.discovered.card.as_ref().and_then(|c| card_digest(c).ok()).map(|d| d.to_string()),
        counts: counts(scene.run, &findings),
        evaluation_eligible: outcomes.verdict == Outcome::Pass && whole,
        layers: outcomes.layers,
        profiles_passed: outcomes.passed,
        profiles_failed: outcomes.failed,
        coverage: crate::coverage::report::coverage(scene, &findings),
        findings: findings.into_iter().map(line).collect(),
        reused: Vec::new(),
        statement,
    }
}

/// Aggregates by layer and profile. What is below error severity never counts; a proven FAIL counts in a layer that
/// nobody asked for, too.
fn outcomes(scene: &Scene<'_>, findings: &[Finding]) -> Outcomes {
    let asked = asked(scene);
    let wanted: BTreeSet<Profile> = activated(scene.bundle, scene.discovered).into_iter().collect();
    let counting: Vec<&Finding> = findings.iter().filter(|f| f.severity == Severity::Error).collect();
    let gating = |f: &&&Finding| f.profile.as_ref().is_none_or(|p| wanted.contains(p));
    let gate: Vec<&Finding> = counting.iter().filter(gating).copied().collect();
    let layers: BTreeMap<Layer, Option<Outcome>> =
        Layer::ALL.into_iter().map(|layer| (layer, layer_outcome(layer, &asked, &gate))).collect();
    let verdict = Outcome::aggregate(layers.values().flatten().copied());
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    for profile in unit::profiles(scene) {
        match profile_outcome(&profile, &asked, &counting) {
            Outcome::Pass if wanted.contains(&profile) => passed.push(profile),
            Outcome::Fail => failed.push(profile),
            Outcome::Pass | Outcome::Inconclusive | Outcome::NotApplicable => {}
        }
    }
    Outcomes { asked, layers, verdict, passed, failed }
}

/// The layers asked for: by name, by the checks named, or by the gate.
fn asked(scene: &Scene<'_>) -> BTreeSet<Layer> {
    let options = scene.options;
    if let Some(layers) = &options.layers {
        return layers.clone();
    }
    if options.only.is_empty() {
        return layers_of(scene.run.gate);
    }
    scene.harness.checks_for(scene.run.gate, &options.only).map(|c| c.spec().layer).collect()
}

/// The outcome of a layer; `None` when it was not asked for and nothing failed in it.
fn layer_outcome(layer: Layer, asked: &BTreeSet<Layer>, findings: &[&Finding]) -> Option<Outcome> {
    let of = findings.iter().filter(|f| f.layer == layer).map(|f| f.verdict.outcome());
    let outcome = Outcome::aggregate(of);
    (asked.contains(&layer) || outcome == Outcome::Fail).then_some(outcome)
}

/// A profile passes when each layer asked for has a PASS and nothing worse, among what is bound to it or to none; it
/// fails when something bound to it does.
fn profile_outcome(profile: &Profile, asked: &BTreeSet<Layer>, findings: &[&Finding]) -> Outcome {
    let own = |f: &&&Finding| f.profile.as_ref() == Some(profile);
    if findings.iter().filter(own).any(|f| f.verdict.outcome() == Outcome::Fail) {
        return Outcome::Fail;
    }
    let of = |layer: Layer| {
        let near = findings.iter().filter(|f| f.layer == layer && f.profile.as_ref().is_none_or(|p| p == profile));
        Outcome::aggregate(near.map(|f| f.verdict.outcome()))
    };
    let all = asked.iter().all(|layer| of(*layer) == Outcome::Pass);
    if all && findings.iter().any(|f| own(&f) && f.verdict.outcome() == Outcome::Pass) {
        Outcome::Pass
    } else {
        Outcome::Inconclusive
    }
}

fn counts(run: &Run, findings: &[Finding]) -> Counts {
    let mut counts = Counts { side_effects: side_effects(run), ..Counts::default() };
    for finding in findings {
        let outcome = finding.verdict.outcome();
        if finding.severity != Severity::Error {
            counts.warnings += u32::from(outcome == Outcome::Fail);
            continue;
        }
        let counter = match outcome {
            Outcome::Pass => &mut counts.pass,
            Outcome::Fail => &mut counts.fail,
            Outcome::Inconclusive => &mut counts.inconclusive,
            Outcome::NotApplicable => &mut counts.not_applicable,
        };
        *counter += 1;
        if outcome == Outcome::Fail {
            counts.schema_violations += u32::from(finding.layer == Layer::Schema);
            let state = finding.verdict.reason().is_some_and(|r| STATE_REASONS.contains(&r));
            counts.state_machine_violations += u32::from(state);
        }
    }
    counts
}

/// Effects that observers saw: the entries of each kind's list, or its number.
fn side_effects(run: &Run) -> u32 {
    let observed = run.recordings.iter().flat_map(|r| &r.events).filter_map(|e| match &e.kind {
        Kind::Observed { effects, .. } => effects.as_object(),
        _ => None,
    });
    let size = |v: &serde_json::Value| v.as_array().map_or_else(|| v.as_u64().unwrap_or(0), |list| list.len() as u64);
    let sum: u64 = observed.flat_map(|kinds| kinds.values()).map(size).sum();
    u32::try_from(sum).unwrap_or(u32::MAX)
}

fn line(finding: Finding) -> FindingLine {
    FindingLine { gate: finding.layer.blocks(), reason_code: finding.verdict.reason(), finding }
}
