//! The lifecycle of one try of a version: the states, and the one function that moves between them (L-01).

use jiff::Timestamp;
use ostiary_record::{Gate, NonEmpty};
use serde::{Deserialize, Serialize};

use crate::{
    gate::GateReason,
    names::{Actor, EvidenceId, Moment},
    subject::{Authorization, GatePass, Subject},
};

pub use event::{EarlyGate, Event, EventName, NewPass};
pub use name::{StateName, UnknownState};

mod edges;
mod event;
mod name;
#[cfg(test)]
mod table;

/// Where a try stands. Each variant carries what is known only from there on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "SCREAMING_SNAKE_CASE")]
pub enum State {
    /// Submitted; nothing is known but the bundle.
    Draft,
    /// The declaration holds; from here on the manifest is fixed.
    StaticValidated {
        /// What all evidence must name.
        subject: Subject,
        /// The static gate.
        r#static: GatePass,
    },
    /// The agent speaks its contract.
    ConformanceVerified {
        /// What all evidence must name.
        subject: Subject,
        /// The static gate.
        r#static: GatePass,
        /// The conformance gate.
        conformance: GatePass,
    },
    /// It also refuses what it must refuse.
    SecurityVerified {
        /// What all evidence must name.
        subject: Subject,
        /// The static gate.
        r#static: GatePass,
        /// The conformance gate.
        conformance: GatePass,
        /// The security gate.
        security: GatePass,
    },
    /// Vouched for, and not dispatched to.
    RegistryAdmitted {
        /// What is vouched for.
        admitted: Admitted,
        /// Whether it was ACTIVE and may come back in one step.
        rollback: Option<RollbackWindow>,
    },
    /// Dispatched to for its cohort.
    Canary {
        /// What is vouched for.
        admitted: Admitted,
        /// The canary gate.
        gate: EvidenceId,
        /// The share of cohorts that it serves, in hundredths of a percent.
        weight: u16,
        /// Since when.
        since: Moment,
    },
    /// Dispatched to.
    Active {
        /// What is vouched for.
        admitted: Admitted,
        /// The gate that it was promoted by.
        gate: EvidenceId,
        /// Since when.
        since: Moment,
    },
    /// Off the road. Comes back only on an approval and on runs started after `since`.
    Quarantined {
        /// What was vouched for.
        admitted: Admitted,
        /// Where it stood.
        was: AdmittedState,
        /// Why.
        reason: String,
        /// Who.
        by: Actor,
        /// Since when; its revision is what younger runs must follow.
        since: Moment,
    },
    /// Ended before admission.
    Rejected {
        /// Why.
        cause: Rejection,
        /// When.
        since: Moment,
    },
    /// Ended after admission.
    Deprecated {
        /// What was vouched for.
        admitted: Admitted,
        /// Until when registered production consumers are still served.
        sunset: Option<Timestamp>,
        /// Whether it was QUARANTINED when it was retired: then no namespace on trial lets it through either.
        #[serde(default)]
        quarantined: bool,
        /// Why.
        reason: String,
        /// Who.
        by: Actor,
        /// When.
        since: Moment,
    },
}

/// What an admitted version carries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Admitted {
    /// What is vouched for.
    pub subject: Subject,
    /// The registry's word for it.
    pub authorization: Authorization,
    /// When it was first admitted.
    pub since: Moment,
}

/// How a version that was replaced may take its place again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RollbackWindow {
    /// The end, exclusive.
    pub until: Timestamp,
    /// The gate that it was once promoted by.
    pub gate: EvidenceId,
}

/// The states from which a version can be quarantined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AdmittedState {
    /// Vouched for only.
    RegistryAdmitted,
    /// In its cohort.
    Canary,
    /// Fully.
    Active,
}

/// How a try ended before admission.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Rejection {
    /// A gate failed.
    Gate {
        /// Which.
        gate: Gate,
        /// Every reason, not the first.
        reasons: NonEmpty<GateReason>,
        /// The evidence of it.
        evidence: EvidenceId,
    },
    /// A person took it back.
    Withdrawal {
        /// Who.
        who: Actor,
        /// Why.
        reason: String,
    },
}

/// The lifecycle has no such edge, or the event's facts do not carry it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{from} does not accept {event}: {why}")]
pub struct TransitionError {
    /// Where the version stands.
    pub from: StateName,
    /// What was asked.
    pub event: EventName,
    /// Why not.
    pub why: Refused,
}

/// Why an event is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The lifecycle has no such edge.
    #[error("there is no such edge")]
    NoEdge,
    /// Evidence for other digests.
    #[error("the evidence is for another manifest than the version's")]
    OtherSubject,
    /// The rollback window is closed, or was never open.
    #[error("the version is not within a rollback window")]
    NoRollbackWindow,
    /// What it is to be dispatched on has run out.
    #[error("its authorization is not valid at that time")]
    NotAuthorized,
    /// The run does not follow the quarantine.
    #[error("the run started before the quarantine")]
    RunBeforeQuarantine,
    /// A quarantined version serves nobody, so it has no sunset.
    #[error("a quarantined version cannot be served until a sunset")]
    SunsetInQuarantine,
    /// The sunset is past.
    #[error("the sunset is not in the future")]
    SunsetPast,
    /// An end before its beginning.
    #[error("the rollback window is not in the future")]
    WindowPast,
}

// === impl State ===

impl State {
    /// Moves on `event`, committed at `at`. Every edge of the lifecycle is here, and nowhere else.
    ///
    /// # Errors
    /// When the lifecycle has no such edge, or when the event's facts do not carry it.
    pub fn apply(self, event: Event, at: Moment) -> Result<Self, TransitionError> {
        let (from, name) = (self.name(), event.name());
        let moved = match self {
            Self::Draft => edges::draft(event, at),
            Self::StaticValidated { subject, r#static } => edges::static_validated(subject, r#static, event, at),
            Self::ConformanceVerified { subject, r#static, conformance } => {
                edges::conformance_verified(subject, [r#static, conformance], event, at)
            }
            Self::SecurityVerified { subject, .. } => edges::security_verified(subject, event, at),
            Self::RegistryAdmitted { admitted, rollback } => edges::registry_admitted(admitted, rollback, event, at),
            Self::Canary { admitted, gate, weight, since } => edges::canary(admitted, (gate, weight, since), event, at),
            Self::Active { admitted, gate, since } => edges::active(admitted, gate, since, event, at),
            Self::Quarantined { admitted, was, reason, by, since } => {
                edges::quarantined(edges::InQuarantine { admitted, was, reason, by, since }, event, at)
            }
            Self::Rejected { .. } | Self::Deprecated { .. } => Err(Refused::NoEdge),
        };
        moved.map_err(|why| TransitionError { from, event: name, why })
    }

    /// The state without its facts.
    #[must_use]
    pub const fn name(&self) -> StateName {
        match self {
            Self::Draft => StateName::Draft,
            Self::StaticValidated { .. } => StateName::StaticValidated,
            Self::ConformanceVerified { .. } => StateName::ConformanceVerified,
            Self::SecurityVerified { .. } => StateName::SecurityVerified,
            Self::RegistryAdmitted { .. } => StateName::RegistryAdmitted,
            Self::Canary { .. } => StateName::Canary,
            Self::Active { .. } => StateName::Active,
            Self::Quarantined { .. } => StateName::Quarantined,
            Self::Rejected { .. } => StateName::Rejected,
            Self::Deprecated { .. } => StateName::Deprecated,
        }
    }

    /// What all evidence must name, once the static gate has fixed it.
    #[must_use]
    pub const fn subject(&self) -> Option<&Subject> {
        match self {
            Self::Draft | Self::Rejected { .. } => None,
            Self::StaticValidated { subject, .. }
            | Self::ConformanceVerified { subject, .. }
            | Self::SecurityVerified { subject, .. } => Some(subject),
            Self::RegistryAdmitted { admitted, .. }
            | Self::Canary { admitted, .. }
            | Self::Active { admitted, .. }
            | Self::Quarantined { admitted, .. }
            | Self::Deprecated { admitted, .. } => Some(&admitted.subject),
        }
    }

    /// What is vouched for, from admission on.
    #[must_use]
    pub const fn admitted(&self) -> Option<&Admitted> {
        match self {
            Self::Draft
            | Self::Rejected { .. }
            | Self::StaticValidated { .. }
            | Self::ConformanceVerified { .. }
            | Self::SecurityVerified { .. } => None,
            Self::RegistryAdmitted { admitted, .. }
            | Self::Canary { admitted, .. }
            | Self::Active { admitted, .. }
            | Self::Quarantined { admitted, .. }
            | Self::Deprecated { admitted, .. } => Some(admitted),
        }
    }

    /// The registry's word, to be called in. No edge: the state stays what it is.
    pub(crate) const fn word_mut(&mut self) -> Option<&mut Authorization> {
        match self {
            Self::Draft
            | Self::Rejected { .. }
            | Self::StaticValidated { .. }
            | Self::ConformanceVerified { .. }
            | Self::SecurityVerified { .. } => None,
            Self::RegistryAdmitted { admitted, .. }
            | Self::Canary { admitted, .. }
            | Self::Active { admitted, .. }
            | Self::Quarantined { admitted, .. }
            | Self::Deprecated { admitted, .. } => Some(&mut admitted.authorization),
        }
    }

    /// The gate that would move the version on, if there is one.
    #[must_use]
    pub const fn next_gate(&self) -> Option<Gate> {
        match self {
            Self::Draft => Some(Gate::Static),
            Self::StaticValidated { .. } => Some(Gate::Conformance),
            Self::ConformanceVerified { .. } => Some(Gate::Security),
            Self::SecurityVerified { .. } => Some(Gate::Admission),
            Self::RegistryAdmitted { .. } => Some(Gate::Canary),
            Self::Canary { .. } => Some(Gate::Active),
            Self::Active { .. } | Self::Quarantined { .. } | Self::Rejected { .. } | Self::Deprecated { .. } => None,
        }
    }
}
