//! What a run's findings make of a gate, profile by profile.

use std::collections::BTreeSet;

use ostiary_canon::Profile;
use ostiary_record::{Finding, Layer, Outcome, Severity};

use super::{GateFacts, GateReason, Profiles};
use crate::policy::GateRule;

/// Judges the run's findings by `rule`.
///
/// A FAIL or INCONCLUSIVE counts when it is bound to an activated profile or to none. Elsewhere it only shows in the
/// list of profiles.
pub(super) fn judge(facts: &GateFacts<'_>, rule: &GateRule, reasons: &mut Vec<GateReason>) -> Profiles {
    let Some(run) = facts.run else {
        reasons.push(GateReason::RunMissing);
        return Profiles::default();
    };
    let required: Vec<&Finding> = run.findings.iter().filter(|f| counts(f, rule)).collect();
    let activated = &facts.version.activated;
    reasons.extend(required.iter().filter(|f| concerns(f, activated)).filter_map(|f| complaint(f)));
    for layer in &rule.layers {
        let without = activated.iter().filter(|p| !has_pass(&required, *layer, p, rule));
        reasons.extend(without.map(|p| GateReason::LayerWithoutPass { layer: *layer, profile: p.clone() }));
    }
    let not_run = rule.checks.iter().filter(|c| !run.findings.iter().any(|f| f.check == **c));
    reasons.extend(not_run.map(|c| GateReason::CheckNotRun { check: c.clone() }));
    profiles(&required, activated, rule)
}

/// What decides: everything of a required layer or check, and a FAIL wherever it is: what was seen to be broken is not
/// overlooked because nobody asked. Mere warnings never decide.
fn counts(finding: &Finding, rule: &GateRule) -> bool {
    let required = || rule.layers.contains(&finding.layer) || rule.checks.contains(&finding.check);
    finding.severity == Severity::Error && (finding.verdict.outcome() == Outcome::Fail || required())
}

fn concerns(finding: &Finding, activated: &[Profile]) -> bool {
    finding.profile.as_ref().is_none_or(|p| activated.contains(p))
}

fn complaint(finding: &Finding) -> Option<GateReason> {
    let failed = match finding.verdict.outcome() {
        Outcome::Fail => true,
        Outcome::Inconclusive => false,
        Outcome::Pass | Outcome::NotApplicable => return None,
    };
    Some(GateReason::Finding {
        check: finding.check.clone(),
        layer: finding.layer,
        profile: finding.profile.clone(),
        failed,
        code: finding.verdict.reason()?,
        message: finding.message.clone(),
    })
}

fn has_pass(findings: &[&Finding], layer: Layer, profile: &Profile, rule: &GateRule) -> bool {
    let bound_only = rule.bound_layers.contains(&layer);
    findings.iter().filter(|f| f.layer == layer && f.verdict.outcome() == Outcome::Pass).any(|f| match &f.profile {
        Some(bound) => bound == profile,
        None => !bound_only,
    })
}

fn profiles(findings: &[&Finding], activated: &[Profile], rule: &GateRule) -> Profiles {
    let outcome_in = |profile: &Profile, wanted: Outcome| {
        findings.iter().any(|f| f.verdict.outcome() == wanted && f.profile.as_ref().is_none_or(|p| p == profile))
    };
    let named: BTreeSet<&Profile> = findings.iter().filter_map(|f| f.profile.as_ref()).chain(activated).collect();
    let mut out = Profiles::default();
    for profile in named {
        let complete = rule.layers.iter().all(|layer| has_pass(findings, *layer, profile, rule));
        if outcome_in(profile, Outcome::Fail) {
            out.failed.push(profile.clone());
        } else if complete && !outcome_in(profile, Outcome::Inconclusive) {
            out.passed.push(profile.clone());
        }
    }
    out
}
