//! What each gate requires: data, versioned, named by its digest (L-07).

use std::collections::BTreeMap;

use jiff::SignedDuration;
use ostiary_canon::{Digest, intoto::AdmissionClass};
use ostiary_record::{CheckId, Gate, Layer};
use serde::{Deserialize, Serialize};

use crate::approval::Edge;

/// A policy. Two policies with the same digest require the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Which version of the policy.
    pub version: u32,
    /// What each gate requires.
    pub gates: BTreeMap<Gate, GateRule>,
    /// How many different people must consent to an edge; an edge that is not named needs none.
    pub approvals: BTreeMap<Edge, u32>,
    /// How old a live look at the card may be when the admission gate is judged, in seconds.
    pub card_max_age_seconds: u32,
    /// How old a run may be when a canary or promotion is judged on it, in seconds.
    pub fresh_run_max_age_seconds: u32,
    /// How long a version that was replaced may be brought back in one step, in seconds.
    pub rollback_window_seconds: u32,
    /// The share of cohorts that a canary serves, in hundredths of a percent.
    pub canary_weight: u16,
    /// Layers that a version of the reduced class may go without a PASS in, because nobody can observe what they are
    /// about (L-09). A FAIL in one counts as ever.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reduced_may_lack: Vec<Layer>,
}

/// What one gate requires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GateRule {
    /// Layers that must hold a PASS and neither a FAIL nor an INCONCLUSIVE, in each activated profile (V-09).
    pub layers: Vec<Layer>,
    /// Of these, the layers whose PASS must be bound to the profile itself: declared for all is not tried for each (Z-05).
    pub bound_layers: Vec<Layer>,
    /// Checks that must have given a verdict; one that was not run leaves the gate shut.
    pub checks: Vec<CheckId>,
    /// How long its result founds anything, in seconds.
    pub max_age_seconds: u32,
}

/// Seven days: long enough that a holiday does not stop a fleet, short enough that a year-old result founds nothing (L-02).
const WEEK: u32 = 7 * 24 * 3600;
/// One hour: a promotion rests on what was just seen, and a slow synthetic run must still fit.
const HOUR: u32 = 3600;
/// Ten percent: enough cohorts to see something, few enough to bear it.
const TENTH: u16 = 1_000;
/// Five minutes: the card is fetched for the admission itself.
const CARD_AGE: u32 = 300;

// === impl Policy ===

impl Policy {
    /// Policy 1: declaration; schema and protocol; authorization. Behaviour and time stand as not verified until policy 2.
    #[must_use]
    pub fn one() -> Self {
        use Layer::{Authorization, Behavior, Declaration, Protocol, Schema, Temporal};
        let mut gates = BTreeMap::new();
        gates.insert(Gate::Static, GateRule::of(&[Declaration], &[], STATIC_CHECKS));
        gates.insert(Gate::Conformance, GateRule::of(&[Schema, Protocol], &[Protocol], CONFORMANCE_CHECKS));
        gates.insert(Gate::Security, GateRule::of(&[Authorization], &[Authorization], SECURITY_CHECKS));
        gates.insert(Gate::Admission, GateRule::of(&[], &[], &[]));
        let synthetic = GateRule::of(&[Schema, Protocol], &[Protocol], CONFORMANCE_CHECKS);
        gates.insert(Gate::Canary, synthetic.clone());
        gates.insert(Gate::Active, synthetic);
        Self {
            version: 1,
            gates,
            approvals: BTreeMap::from([(Edge::Release, 1)]),
            card_max_age_seconds: CARD_AGE,
            fresh_run_max_age_seconds: HOUR,
            rollback_window_seconds: WEEK,
            canary_weight: TENTH,
            reduced_may_lack: vec![Behavior, Temporal],
        }
    }

    /// The policy's name in evidence: the digest of its canonical JSON.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let value = serde_json::to_value(self).expect("a policy holds only names and numbers");
        ostiary_canon::json::digest(&value).expect("names and small numbers have a canonical form")
    }

    /// What `gate` requires; `None` = the policy does not know the gate, so it never opens.
    #[must_use]
    pub fn rule(&self, gate: Gate) -> Option<&GateRule> {
        self.gates.get(&gate)
    }

    /// How many people must consent to `edge` for a version of `class`: somebody always answers for what is not seen.
    #[must_use]
    pub fn approvals_for(&self, edge: Edge, class: AdmissionClass) -> usize {
        let named = self.approvals.get(&edge).map_or(0, |n| usize::try_from(*n).unwrap_or(usize::MAX));
        match (class, edge) {
            (AdmissionClass::Reduced, Edge::Admission) => named.max(1),
            (AdmissionClass::Reduced | AdmissionClass::Full, _) => named,
        }
    }

    /// The layers that `rule` requires of a version of `class`.
    #[must_use]
    pub fn layers<'a>(&self, rule: &'a GateRule, class: AdmissionClass) -> Vec<&'a Layer> {
        let may_lack = |layer: &Layer| class == AdmissionClass::Reduced && self.reduced_may_lack.contains(layer);
        rule.layers.iter().filter(|layer| !may_lack(layer)).collect()
    }

    /// How long a replaced version may come back.
    #[must_use]
    pub fn rollback_window(&self) -> SignedDuration {
        SignedDuration::from_secs(self.rollback_window_seconds.into())
    }

    /// How old a live look at the card may be.
    #[must_use]
    pub fn card_max_age(&self) -> SignedDuration {
        SignedDuration::from_secs(self.card_max_age_seconds.into())
    }

    /// How old a run may be for a canary or promotion.
    #[must_use]
    pub fn fresh_run_max_age(&self) -> SignedDuration {
        SignedDuration::from_secs(self.fresh_run_max_age_seconds.into())
    }
}

// === impl GateRule ===

impl GateRule {
    /// How long the gate's result founds anything.
    #[must_use]
    pub fn max_age(&self) -> SignedDuration {
        SignedDuration::from_secs(self.max_age_seconds.into())
    }

    fn of(layers: &[Layer], bound: &[Layer], checks: &[&str]) -> Self {
        Self {
            layers: layers.to_vec(),
            bound_layers: bound.to_vec(),
            checks: checks.iter().map(|c| CheckId((*c).to_owned())).collect(),
            max_age_seconds: WEEK,
        }
    }
}

const STATIC_CHECKS: &[&str] = &[
    "contract.pins",
    "a2a.card.required",
    "a2a.card.interface_supported",
    "a2a.card.required_extension",
    "a2a.card.pinned",
    "a2a.card.skill_ids",
];

const CONFORMANCE_CHECKS: &[&str] = &[
    "a2a.version.accepted",
    "a2a.version.enforced",
    "a2a.message.response",
    "a2a.skill.content_mode",
    "a2a.skill.artifact",
    "a2a.skill.artifact_schema",
    "a2a.task.machine",
    "a2a.task.terminal_message",
    "a2a.stream.works",
    "a2a.stream.undeclared",
    "a2a.error.codes",
    "a2a.error.shape",
];

const SECURITY_CHECKS: &[&str] = &[
    "a2a.auth.missing",
    "a2a.auth.expired",
    "a2a.auth.foreign",
    "a2a.auth.accepted",
    "a2a.tenant.cross",
    "a2a.tenant.existence",
    "a2a.error.leak",
];

#[cfg(test)]
mod tests {
    use ostiary_record::{Gate, Layer};

    use super::Policy;

    #[test]
    fn policy_one_asks_for_four_layers_and_has_a_rule_for_every_gate() {
        let policy = Policy::one();
        let mut layers: Vec<Layer> = policy.gates.values().flat_map(|rule| rule.layers.clone()).collect();
        layers.sort_unstable();
        layers.dedup();
        assert_eq!(layers, [Layer::Declaration, Layer::Schema, Layer::Protocol, Layer::Authorization]);
        assert!(Gate::ALL.into_iter().all(|gate| policy.rule(gate).is_some()));
        for gate in [Gate::Static, Gate::Conformance, Gate::Security, Gate::Canary, Gate::Active] {
            assert!(policy.rule(gate).is_some_and(|rule| !rule.checks.is_empty()), "{gate}");
        }
    }

    /// L-07: whatever is tightened, the digest says so.
    #[test]
    fn any_change_of_a_policy_changes_its_digest() {
        let one = Policy::one();
        assert_eq!(one.digest(), Policy::one().digest());
        let mut other = one.clone();
        other.gates.get_mut(&Gate::Static).unwrap().max_age_seconds -= 1;
        assert_ne!(one.digest(), other.digest());
        let read: Policy = serde_json::from_str(&serde_json::to_string(&one).unwrap()).unwrap();
        assert_eq!(read.digest(), one.digest());
        let more = serde_json::to_string(&one).unwrap().replacen('{', "{\"surprise\":1,", 1);
        assert!(serde_json::from_str::<Policy>(&more).is_err(), "an unknown key is not ignored");
    }
}
