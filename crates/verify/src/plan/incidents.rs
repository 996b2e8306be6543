//! Which variants past incidents need: the cases of `cases/regression/`, their scenarios and the controls of these.

use std::collections::BTreeSet;

use ostiary_contract::CaseSet;
use ostiary_record::Axes;

use crate::{plan::PlanInput, registry::Harness, scenario::Control};

/// What must be driven for past incidents.
pub(super) struct Incidents<'a> {
    cases: BTreeSet<&'a str>,
    /// Scenarios of which every variant is needed.
    scenarios: BTreeSet<&'static str>,
}

// === impl Incidents ===

impl<'a> Incidents<'a> {
    /// Those of the contract.
    pub(super) fn of(harness: &Harness, input: &PlanInput<'a>) -> Self {
        let past = || input.bundle.cases.iter().filter(|case| case.set == CaseSet::Regression);
        let cases: BTreeSet<&str> = past().map(|case| case.id.as_str()).collect();
        let mut scenarios: BTreeSet<&'static str> = past().flat_map(crate::cases::scenarios_of).copied().collect();
        // a case that calls the agent is driven by a scenario of cases
        let mut open: Vec<&'static str> = scenarios.iter().copied().collect();
        if !cases.is_empty() {
            open.extend(harness.scenarios().map(|s| s.spec().id).filter(|id| id.starts_with("case.")));
        }
        while let Some(id) = open.pop() {
            if let Some(Control::By(control)) = harness.scenario(id).map(|s| s.spec().control)
                && scenarios.insert(control)
            {
                open.push(control);
            }
        }
        Self { cases, scenarios }
    }

    /// Whether a variant is needed for one.
    pub(super) fn need(&self, scenario: &str, axes: &Axes) -> bool {
        axes.case.as_ref().is_some_and(|case| self.cases.contains(case.0.as_str())) || self.scenarios.contains(scenario)
    }
}
