//! What a run's findings make of a gate, profile by profile.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ostiary_canon::{Profile, intoto::AdmissionClass};
use ostiary_record::{Finding, Layer, Outcome, Severity};

use super::{GateFacts, GateReason, Profiles};
use crate::{
    policy::{GateRule, Policy},
    waiver::Waived,
};

/// What a gate asks of the version that it is judged for.
struct Asked<'a> {
    rule: &'a GateRule,
    /// Layers that must hold a PASS.
    layers: Vec<&'a Layer>,
    /// Layers that the version's class may go without.
    unobserved: &'a [Layer],
}

/// Judges the run's findings by a rule of a policy.
///
/// A FAIL or INCONCLUSIVE counts when it is bound to an activated profile or to none. Elsewhere it only shows in the
/// list of profiles. What is waived is no reason and no pass: its layer must hold a PASS of another check.
pub(super) fn judge(
    facts: &GateFacts<'_>,
    (rule, policy): (&GateRule, &Policy),
    now: Timestamp,
    reasons: &mut Vec<GateReason>,
) -> Profiles {
    let Some(run) = facts.run else {
        reasons.push(GateReason::RunMissing);
        return Profiles::default();
    };
    let asked = Asked::of(facts, rule, policy);
    let counting: Vec<&Finding> = run.findings.iter().filter(|f| asked.counts(f)).collect();
    let (mut required, mut waived) = (Vec::with_capacity(counting.len()), Vec::new());
    for finding in counting {
        match waiver(facts, policy, finding, now) {
            Some(excused) => waived.push(excused),
            None => required.push(finding),
        }
    }
    let activated = &facts.version.activated;
    reasons.extend(required.iter().filter(|f| concerns(f, activated)).filter_map(|f| complaint(f)));
    reasons.extend(asked.without_pass(&required, activated));
    let not_run = rule.checks.iter().filter(|c| !run.findings.iter().any(|f| f.check == **c));
    reasons.extend(not_run.map(|c| GateReason::CheckNotRun { check: c.clone() }));
    Profiles { waived, ..asked.profiles(&required, activated) }
}

/// What a waiver in force makes of `finding`. Once routers have a word on the version, only what that word tells them
/// is excused: the rest is a failure that shows, and a hold.
fn waiver(facts: &GateFacts<'_>, policy: &Policy, finding: &Finding, now: Timestamp) -> Option<Waived> {
    let (version, manifest, digest) = (facts.version, facts.subject.manifest, policy.digest());
    let in_force = |w: &&crate::Waiver| w.covers(finding) && w.holds(version, manifest, digest, now);
    // The one that lasts longest: it bounds what follows.
    let longest = facts.waivers.iter().filter(in_force).max_by_key(|w| w.request.expires_at)?;
    let excused = longest.waives(finding)?;
    version.state.admitted().is_none_or(|a| excused.told_by(&a.authorization)).then_some(excused)
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

// === impl Asked ===

impl<'a> Asked<'a> {
    fn of(facts: &GateFacts<'_>, rule: &'a GateRule, policy: &'a Policy) -> Self {
        let unobserved = match facts.version.class {
            AdmissionClass::Full => &[][..],
            AdmissionClass::Reduced => &policy.reduced_may_lack,
        };
        Self { rule, layers: policy.layers(rule, facts.version.class), unobserved }
    }

    /// What decides: everything of a required layer or check, and a FAIL wherever it is: what was seen to be broken is
    /// not overlooked because nobody asked. Mere warnings never decide, nor what could not be told in a layer that the
    /// version's class may go without.
    fn counts(&self, finding: &Finding) -> bool {
        if finding.severity != Severity::Error {
            return false;
        }
        match finding.verdict.outcome() {
            Outcome::Fail => true,
            Outcome::Inconclusive if self.unobserved.contains(&finding.layer) => false,
            Outcome::Pass | Outcome::Inconclusive | Outcome::NotApplicable => {
                self.rule.layers.contains(&finding.layer) || self.rule.checks.contains(&finding.check)
            }
        }
    }

    /// The layers that hold no PASS, profile by profile. Where the class leaves none to be asked for, the gate's own
    /// must show something all the same: no gate opens on nothing (V-09).
    fn without_pass(&self, findings: &[&Finding], activated: &[Profile]) -> Vec<GateReason> {
        let missing =
            |layer: &Layer, profile: &Profile| GateReason::LayerWithoutPass { layer: *layer, profile: profile.clone() };
        if self.layers.is_empty() && !self.rule.layers.is_empty() && !self.shows_something(findings) {
            return self.rule.layers.iter().flat_map(|l| activated.iter().map(move |p| missing(l, p))).collect();
        }
        let pairs = self.layers.iter().flat_map(|layer| activated.iter().map(move |p| (*layer, p)));
        pairs.filter(|(layer, p)| !self.has_pass(findings, **layer, p)).map(|(layer, p)| missing(layer, p)).collect()
    }

    fn shows_something(&self, findings: &[&Finding]) -> bool {
        findings.iter().any(|f| f.verdict.outcome() == Outcome::Pass)
    }

    fn has_pass(&self, findings: &[&Finding], layer: Layer, profile: &Profile) -> bool {
        let bound_only = self.rule.bound_layers.contains(&layer);
        findings.iter().filter(|f| f.layer == layer && f.verdict.outcome() == Outcome::Pass).any(|f| match &f.profile {
            Some(bound) => bound == profile,
            None => !bound_only,
        })
    }

    fn profiles(&self, findings: &[&Finding], activated: &[Profile]) -> Profiles {
        let outcome_in = |profile: &Profile, wanted: Outcome| {
            findings.iter().any(|f| f.verdict.outcome() == wanted && f.profile.as_ref().is_none_or(|p| p == profile))
        };
        let named: BTreeSet<&Profile> = findings.iter().filter_map(|f| f.profile.as_ref()).chain(activated).collect();
        let mut out = Profiles::default();
        for profile in named {
            let nothing = self.layers.is_empty() && !self.rule.layers.is_empty() && !self.shows_something(findings);
            let complete = !nothing && self.layers.iter().all(|layer| self.has_pass(findings, **layer, profile));
            if outcome_in(profile, Outcome::Fail) {
                out.failed.push(profile.clone());
            } else if complete && !outcome_in(profile, Outcome::Inconclusive) {
                out.passed.push(profile.clone());
            }
        }
        out
    }
}
