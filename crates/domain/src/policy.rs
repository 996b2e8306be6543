//! What each gate requires: data, versioned, named by its digest (L-07).

use std::collections::BTreeMap;

use jiff::SignedDuration;
use ostiary_canon::Digest;
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
        use Layer::{Authorization, Declaration, Protocol, Schema};
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

    /// How many people must consent to `edge`.
    #[must_use]
    pub fn approvals_for(&self, edge: Edge) -> usize {
        self.approvals.get(&edge).map_or(0, |n| usize::try_from(*n).unwrap_or(usize::MAX))
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

const STATIC_CHECKS: &[&str] = &[];
const CONFORMANCE_CHECKS: &[&str] = &[];
const SECURITY_CHECKS: &[&str] = &[];
