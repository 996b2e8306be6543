//! What can happen to a try, with the facts that each event brings.

use std::fmt;

use jiff::Timestamp;
use ostiary_canon::Revision;
use ostiary_record::{Gate, NonEmpty};
use serde::{Deserialize, Serialize};

use crate::{
    gate::GateReason,
    names::{Actor, EvidenceId, Moment},
    subject::{Authorization, GatePass, Subject},
};

/// One event. Facts that only the store knows (time, revision) come beside it, as a [`Moment`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// One of the three gates before admission opened.
    GatePassed {
        /// Which.
        gate: EarlyGate,
        /// What was measured.
        subject: Subject,
        /// The evidence of it.
        pass: NewPass,
    },
    /// A gate before admission failed.
    GateFailed {
        /// Which.
        gate: Gate,
        /// Every reason.
        reasons: NonEmpty<GateReason>,
        /// The evidence of it.
        evidence: EvidenceId,
    },
    /// A person takes the submission back.
    Withdrawn {
        /// Who.
        by: Actor,
        /// Why.
        reason: String,
    },
    /// The admission gate opened.
    Admitted {
        /// What was measured, the card just now.
        subject: Subject,
        /// The registry's word.
        authorization: Authorization,
    },
    /// Evidence was made anew: a new authorization for the same digests.
    Renewed {
        /// What was measured.
        subject: Subject,
        /// The registry's new word.
        authorization: Authorization,
    },
    /// The canary gate opened.
    CanaryStarted {
        /// What was measured.
        subject: Subject,
        /// The evidence of it.
        evidence: EvidenceId,
        /// The share of cohorts, in hundredths of a percent.
        weight: u16,
    },
    /// The canary goes back.
    CanaryAborted,
    /// The gate to ACTIVE opened.
    Promoted {
        /// What was measured.
        subject: Subject,
        /// The evidence of it.
        evidence: EvidenceId,
    },
    /// Another version took its place; it may come back in one step for a while.
    Superseded {
        /// The end of that while.
        rollback_until: Timestamp,
    },
    /// That while is over, or another version is the previous one now.
    RollbackWindowClosed,
    /// It is the previous version and takes its place again.
    RolledBackTo,
    /// The previous version took its place again.
    RolledBackFrom,
    /// Off the road at once.
    Quarantined {
        /// Why.
        reason: String,
        /// Who.
        by: Actor,
    },
    /// Back from quarantine, into a cohort only; the gate has seen the approvals.
    Released {
        /// What was measured.
        subject: Subject,
        /// The evidence of it.
        evidence: EvidenceId,
        /// The store's revision when the run started.
        run_started: Revision,
        /// The share of cohorts, in hundredths of a percent.
        weight: u16,
    },
    /// Ended by a person.
    Deprecated {
        /// Until when registered production consumers are still served.
        sunset: Option<Timestamp>,
        /// Why.
        reason: String,
        /// Who.
        by: Actor,
    },
}

/// The gates before admission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EarlyGate {
    /// The declaration.
    Static,
    /// Contract and protocol.
    Conformance,
    /// Authorization, behaviour.
    Security,
}

/// A gate that was just passed; the store adds when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPass {
    /// The evidence.
    pub evidence: EvidenceId,
    /// Until when it founds anything.
    pub expires_at: Timestamp,
}

/// An event without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventName {
    /// See [`Event::GatePassed`].
    GatePassed(EarlyGate),
    /// See [`Event::GateFailed`].
    GateFailed,
    /// See [`Event::Withdrawn`].
    Withdrawn,
    /// See [`Event::Admitted`].
    Admitted,
    /// See [`Event::Renewed`].
    Renewed,
    /// See [`Event::CanaryStarted`].
    CanaryStarted,
    /// See [`Event::CanaryAborted`].
    CanaryAborted,
    /// See [`Event::Promoted`].
    Promoted,
    /// See [`Event::Superseded`].
    Superseded,
    /// See [`Event::RollbackWindowClosed`].
    RollbackWindowClosed,
    /// See [`Event::RolledBackTo`].
    RolledBackTo,
    /// See [`Event::RolledBackFrom`].
    RolledBackFrom,
    /// See [`Event::Quarantined`].
    Quarantined,
    /// See [`Event::Released`].
    Released,
    /// See [`Event::Deprecated`].
    Deprecated,
}

// === impl Event ===

impl Event {
    /// The event without its facts.
    #[must_use]
    pub const fn name(&self) -> EventName {
        match self {
            Self::GatePassed { gate, .. } => EventName::GatePassed(*gate),
            Self::GateFailed { .. } => EventName::GateFailed,
            Self::Withdrawn { .. } => EventName::Withdrawn,
            Self::Admitted { .. } => EventName::Admitted,
            Self::Renewed { .. } => EventName::Renewed,
            Self::CanaryStarted { .. } => EventName::CanaryStarted,
            Self::CanaryAborted => EventName::CanaryAborted,
            Self::Promoted { .. } => EventName::Promoted,
            Self::Superseded { .. } => EventName::Superseded,
            Self::RollbackWindowClosed => EventName::RollbackWindowClosed,
            Self::RolledBackTo => EventName::RolledBackTo,
            Self::RolledBackFrom => EventName::RolledBackFrom,
            Self::Quarantined { .. } => EventName::Quarantined,
            Self::Released { .. } => EventName::Released,
            Self::Deprecated { .. } => EventName::Deprecated,
        }
    }
}

// === impl NewPass ===

impl NewPass {
    /// The pass, as committed at `at`.
    #[must_use]
    pub fn at(self, at: Moment) -> GatePass {
        GatePass { evidence: self.evidence, at, expires_at: self.expires_at }
    }
}

// === impl EarlyGate ===

impl EarlyGate {
    /// All, in lifecycle order.
    pub const ALL: [Self; 3] = [Self::Static, Self::Conformance, Self::Security];

    /// The same gate among all gates.
    #[must_use]
    pub const fn gate(self) -> Gate {
        match self {
            Self::Static => Gate::Static,
            Self::Conformance => Gate::Conformance,
            Self::Security => Gate::Security,
        }
    }

    /// Whether `gate` is one of them.
    #[must_use]
    pub const fn of(gate: Gate) -> Option<Self> {
        match gate {
            Gate::Static => Some(Self::Static),
            Gate::Conformance => Some(Self::Conformance),
            Gate::Security => Some(Self::Security),
            Gate::Admission | Gate::Canary | Gate::Active => None,
        }
    }
}

// === impl EventName ===

impl EventName {
    /// The event's stable name, as it stands in the audit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GatePassed(EarlyGate::Static) => "static_passed",
            Self::GatePassed(EarlyGate::Conformance) => "conformance_passed",
            Self::GatePassed(EarlyGate::Security) => "security_passed",
            Self::GateFailed => "gate_failed",
            Self::Withdrawn => "withdrawn",
            Self::Admitted => "admitted",
            Self::Renewed => "renewed",
            Self::CanaryStarted => "canary_started",
            Self::CanaryAborted => "canary_aborted",
            Self::Promoted => "promoted",
            Self::Superseded => "superseded",
            Self::RollbackWindowClosed => "rollback_window_closed",
            Self::RolledBackTo => "rolled_back_to",
            Self::RolledBackFrom => "rolled_back_from",
            Self::Quarantined => "quarantined",
            Self::Released => "released",
            Self::Deprecated => "deprecated",
        }
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
