//! Whether a gate opens: the one decision that admits (architecture: gather, decide, act).

use jiff::Timestamp;
use ostiary_canon::{Digest, Profile, Revision};
use ostiary_record::{CheckId, Finding, Gate, Layer, ReasonCode};
use serde::{Deserialize, Serialize};

use crate::{
    approval::{Approval, Edge},
    evidence::EvidenceRecord,
    names::WaiverId,
    policy::Policy,
    subject::Subject,
    version::Version,
    waiver::{Waived, Waiver},
};

mod admission;
mod findings;
mod freshness;
#[cfg(test)]
mod tests;

/// Everything that is known when a gate is judged.
#[derive(Clone, Debug)]
pub struct GateFacts<'a> {
    /// The gate.
    pub gate: Gate,
    /// The version, as last read.
    pub version: &'a Version,
    /// What was measured for this judgement: by the run, or, at the admission gate, by the look at the card.
    pub subject: Subject,
    /// The run that was judged; the admission gate has none.
    pub run: Option<GateRun<'a>>,
    /// The evidence of the version, any gate, any standing.
    pub evidence: &'a [EvidenceRecord],
    /// The control plane's own look at the card.
    pub live_card: Option<LiveCard>,
    /// The approvals of the version.
    pub approvals: &'a [Approval],
    /// The waivers of the label, whatever their standing.
    pub waivers: &'a [Waiver],
}

/// A judged run.
#[derive(Clone, Copy, Debug)]
pub struct GateRun<'a> {
    /// What the checks say.
    pub findings: &'a [Finding],
    /// When it was driven.
    pub verified_at: Timestamp,
    /// The store's revision when its job was claimed.
    pub started: Revision,
}

/// A look at the card as it is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveCard {
    /// Its canonical digest.
    pub digest: Digest,
    /// When it was fetched.
    pub fetched_at: Timestamp,
}

/// Whether the gate opens, with every reason where it does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateDecision {
    /// The outcome.
    pub outcome: GateOutcome,
    /// Every reason why it is not PASS; empty for PASS.
    pub reasons: Vec<GateReason>,
    /// Profiles for which all that the gate requires passed.
    pub profiles_passed: Vec<Profile>,
    /// Profiles in which something failed.
    pub profiles_failed: Vec<Profile>,
    /// Findings against the version that waivers took out of the reasons; never counted as passed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<Waived>,
}

/// How a gate's judgement ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GateOutcome {
    /// The gate opens.
    Pass,
    /// Nothing is wrong with the version, and something else must happen first; ask again then.
    Blocked,
    /// Could not tell; the version stays, and the gate can be run again.
    Inconclusive,
    /// Something is wrong.
    Fail,
}

/// One reason why a gate does not open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum GateReason {
    /// A check says so.
    Finding {
        /// The check.
        check: CheckId,
        /// Its layer.
        layer: Layer,
        /// The profile, if bound to one.
        profile: Option<Profile>,
        /// Whether the check failed or could not tell.
        failed: bool,
        /// The check's reason code.
        code: ReasonCode,
        /// The check's sentence.
        message: String,
    },
    /// A required layer has no PASS for an activated profile (V-09).
    LayerWithoutPass {
        /// The layer.
        layer: Layer,
        /// The profile.
        profile: Profile,
    },
    /// A required check gave no verdict.
    CheckNotRun {
        /// The check.
        check: CheckId,
    },
    /// The policy has no rule for this gate.
    GateNotInPolicy,
    /// The version activates no profile.
    NoProfileActivated,
    /// The gate is not the one that this state waits for.
    GateOutOfOrder {
        /// What the state waits for.
        expected: Option<Gate>,
    },
    /// The run is missing.
    RunMissing,
    /// The run is too old for this gate.
    RunStale {
        /// When it was driven.
        verified_at: Timestamp,
    },
    /// The run started before what it must follow.
    RunTooEarly {
        /// The run's revision.
        started: Revision,
        /// What it must follow.
        after: Revision,
    },
    /// What was measured is not what the version's evidence names (P-04).
    SubjectChanged {
        /// The manifest that evidence names.
        expected: Digest,
        /// The manifest that was measured.
        observed: Digest,
    },
    /// An earlier gate has no PASS for these digests and this policy.
    EvidenceMissing {
        /// The earlier gate.
        gate: Gate,
    },
    /// An earlier gate's PASS has run out.
    EvidenceExpired {
        /// The earlier gate.
        gate: Gate,
        /// When it ran out.
        expired_at: Timestamp,
    },
    /// The newest result of an earlier gate is a FAIL.
    EvidenceFailed {
        /// The earlier gate.
        gate: Gate,
    },
    /// An earlier gate's PASS does not hold for an activated profile.
    ProfileNotVerified {
        /// The earlier gate.
        gate: Gate,
        /// The profile.
        profile: Profile,
    },
    /// The card was not fetched, or too long ago.
    CardNotFetched,
    /// The card that is served now is not the one that was verified.
    CardChanged {
        /// What was verified.
        expected: Digest,
        /// What is served.
        observed: Digest,
    },
    /// The registry's word for the version is not valid now.
    AuthorizationExpired {
        /// When it ran out.
        expired_at: Timestamp,
    },
    /// An earlier gate's PASS rests on a waiver that ended.
    WaiverEnded {
        /// The earlier gate.
        gate: Gate,
        /// The waiver.
        waiver: WaiverId,
    },
    /// A hold stands in the way.
    Held {
        /// The kind of hold.
        kind: crate::hold::HoldKind,
        /// Why it was set.
        because: String,
    },
    /// People must consent first.
    ApprovalMissing {
        /// The edge.
        edge: Edge,
        /// How many must consent.
        needed: usize,
        /// How many did.
        given: usize,
    },
}

/// Decides one gate. Total: whatever is missing or contradictory is a reason, never an error.
#[must_use]
pub fn judge_gate(facts: &GateFacts<'_>, policy: &Policy, now: Timestamp) -> GateDecision {
    let Some(rule) = policy.rule(facts.gate) else {
        return GateDecision::of(vec![GateReason::GateNotInPolicy], Profiles::default());
    };
    let mut reasons = Vec::from_iter(freshness::order(facts));
    reasons.extend(freshness::subject(facts));
    if facts.version.activated.is_empty() {
        reasons.push(GateReason::NoProfileActivated);
    }
    let profiles = match facts.gate {
        Gate::Admission => admission::judge(facts, policy, now, &mut reasons),
        Gate::Static | Gate::Conformance | Gate::Security => findings::judge(facts, (rule, policy), now, &mut reasons),
        Gate::Canary | Gate::Active => {
            freshness::judge(facts, policy, now, &mut reasons);
            findings::judge(facts, (rule, policy), now, &mut reasons)
        }
    };
    GateDecision::of(reasons, profiles)
}

/// Who passed and who failed, and in spite of what.
#[derive(Clone, Debug, Default)]
struct Profiles {
    passed: Vec<Profile>,
    failed: Vec<Profile>,
    waived: Vec<Waived>,
}

// === impl GateDecision ===

impl GateDecision {
    fn of(reasons: Vec<GateReason>, profiles: Profiles) -> Self {
        let outcome = reasons.iter().map(GateReason::outcome).max().unwrap_or(GateOutcome::Pass);
        let Profiles { passed, failed, waived } = profiles;
        Self { outcome, reasons, profiles_passed: passed, profiles_failed: failed, waived }
    }
}

// === impl GateReason ===

impl GateReason {
    /// The reason's stable code: the check's own for a finding.
    #[must_use]
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Finding { code, .. } => code.as_str(),
            Self::LayerWithoutPass { .. } => "LAYER_WITHOUT_PASS",
            Self::CheckNotRun { .. } => "CHECK_NOT_RUN",
            Self::GateNotInPolicy => "GATE_NOT_IN_POLICY",
            Self::NoProfileActivated => "NO_PROFILE_ACTIVATED",
            Self::GateOutOfOrder { .. } => "GATE_OUT_OF_ORDER",
            Self::RunMissing => "RUN_MISSING",
            Self::RunStale { .. } => "RUN_STALE",
            Self::RunTooEarly { .. } => "RUN_TOO_EARLY",
            Self::SubjectChanged { .. } => "SUBJECT_CHANGED",
            Self::EvidenceMissing { .. } => "EVIDENCE_MISSING",
            Self::EvidenceExpired { .. } => "EVIDENCE_EXPIRED",
            Self::EvidenceFailed { .. } => "EVIDENCE_FAILED",
            Self::ProfileNotVerified { .. } => "PROFILE_NOT_VERIFIED",
            Self::CardNotFetched => "CARD_NOT_FETCHED",
            Self::CardChanged { .. } => "CARD_DIGEST_MISMATCH",
            Self::AuthorizationExpired { .. } => "AUTHORIZATION_EXPIRED",
            Self::WaiverEnded { .. } => "WAIVER_ENDED",
            Self::Held { .. } => "HELD",
            Self::ApprovalMissing { .. } => "APPROVAL_MISSING",
        }
    }

    /// What this reason alone makes of the gate.
    #[must_use]
    pub const fn outcome(&self) -> GateOutcome {
        match self {
            Self::Finding { failed: true, .. }
            | Self::SubjectChanged { .. }
            | Self::CardChanged { .. }
            | Self::EvidenceFailed { .. } => GateOutcome::Fail,
            Self::Finding { failed: false, .. }
            | Self::LayerWithoutPass { .. }
            | Self::CheckNotRun { .. }
            | Self::GateNotInPolicy
            | Self::NoProfileActivated
            | Self::RunMissing
            | Self::RunStale { .. }
            | Self::RunTooEarly { .. }
            | Self::EvidenceMissing { .. }
            | Self::EvidenceExpired { .. }
            | Self::ProfileNotVerified { .. }
            | Self::WaiverEnded { .. }
            | Self::CardNotFetched => GateOutcome::Inconclusive,
            Self::GateOutOfOrder { .. }
            | Self::AuthorizationExpired { .. }
            | Self::Held { .. }
            | Self::ApprovalMissing { .. } => GateOutcome::Blocked,
        }
    }
}

// === impl GateOutcome ===

impl GateOutcome {
    /// The outcome's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "PASS",
            Self::Blocked => "BLOCKED",
            Self::Inconclusive => "INCONCLUSIVE",
            Self::Fail => "FAIL",
        }
    }
}

impl std::fmt::Display for GateOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}
