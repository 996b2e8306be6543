//! Judges a run: pure, total, and the same run always gives the same report, byte for byte.
//!
//! Each check judges each profile and case apart ([`unit`]), once a repetition; what it says is held against its own
//! specification ([`guard`]); repetitions make one verdict ([`repeat`]); all findings make a report (`report`).

use std::collections::BTreeSet;

use ostiary_contract::Bundle;
use ostiary_record::{Axes, Finding, Gate, Layer, Recording, Report, Run};

use crate::{
    discover::Discovered,
    registry::Harness,
    report,
    scenario::DISCOVER,
};

mod guard;
mod missing;
mod repeat;
mod unit;

pub use guard::ENGINE_REASONS;

/// How to judge.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JudgeOptions {
    /// The layers asked for; `None` = those that the run's gate requires, see [`layers_of`].
    pub layers: Option<BTreeSet<Layer>>,
    /// Only these checks, scenarios or cases; empty = all of the gate.
    pub only: Vec<String>,
    /// Extensions that the consumer supports (C-08).
    pub consumer_extensions: Vec<String>,
}

/// What one judgement needs besides the check.
pub(crate) struct Scene<'a> {
    pub(crate) harness: &'a Harness,
    pub(crate) run: &'a Run,
    pub(crate) bundle: &'a Bundle,
    pub(crate) options: &'a JudgeOptions,
    pub(crate) discovered: &'a Discovered,
}

/// Judges a run.
#[must_use]
pub fn judge(harness: &Harness, run: &Run, bundle: &Bundle, options: &JudgeOptions) -> Report {
    let discovered = discovered(run);
    let scene = Scene { harness, run, bundle, options, discovered: &discovered };
    let mut findings: Vec<Finding> = Vec::new();
    for check in harness.checks_for(run.gate, &options.only) {
        for unit in unit::units(&scene, check.spec()) {
            findings.extend(repeat::judge_unit(&scene, check, &unit));
        }
    }
    report::report(&scene, findings)
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
