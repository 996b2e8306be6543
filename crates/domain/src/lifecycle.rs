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

mod event;
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

/// A state without its facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum StateName {
    /// See [`State::Draft`].
    Draft,
    /// See [`State::StaticValidated`].
    StaticValidated,
    /// See [`State::ConformanceVerified`].
    ConformanceVerified,
    /// See [`State::SecurityVerified`].
    SecurityVerified,
    /// See [`State::RegistryAdmitted`].
    RegistryAdmitted,
    /// See [`State::Canary`].
    Canary,
    /// See [`State::Active`].
    Active,
    /// See [`State::Quarantined`].
    Quarantined,
    /// See [`State::Rejected`].
    Rejected,
    /// See [`State::Deprecated`].
    Deprecated,
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
            Self::Draft => draft(event, at),
            Self::StaticValidated { subject, r#static } => static_validated(subject, r#static, event, at),
            Self::ConformanceVerified { subject, r#static, conformance } => {
                conformance_verified(subject, [r#static, conformance], event, at)
            }
            Self::SecurityVerified { subject, .. } => security_verified(subject, event, at),
            Self::RegistryAdmitted { admitted, rollback } => registry_admitted(admitted, rollback, event, at),
            Self::Canary { admitted, gate, weight, since } => canary(admitted, (gate, weight, since), event, at),
            Self::Active { admitted, gate, since } => active(admitted, gate, since, event, at),
            Self::Quarantined { admitted, was, reason, by, since } => {
                quarantined(InQuarantine { admitted, was, reason, by, since }, event, at)
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

// === impl StateName ===

impl StateName {
    /// All states, in lifecycle order.
    pub const ALL: [Self; 10] = [
        Self::Draft,
        Self::StaticValidated,
        Self::ConformanceVerified,
        Self::SecurityVerified,
        Self::RegistryAdmitted,
        Self::Canary,
        Self::Active,
        Self::Quarantined,
        Self::Rejected,
        Self::Deprecated,
    ];

    /// The state's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "DRAFT",
            Self::StaticValidated => "STATIC_VALIDATED",
            Self::ConformanceVerified => "CONFORMANCE_VERIFIED",
            Self::SecurityVerified => "SECURITY_VERIFIED",
            Self::RegistryAdmitted => "REGISTRY_ADMITTED",
            Self::Canary => "CANARY",
            Self::Active => "ACTIVE",
            Self::Quarantined => "QUARANTINED",
            Self::Rejected => "REJECTED",
            Self::Deprecated => "DEPRECATED",
        }
    }

    /// Whether the try has ended, so that its label may be submitted again.
    #[must_use]
    pub const fn is_terminal(self) -> bool {
        matches!(self, Self::Rejected | Self::Deprecated)
    }

    /// Whether the registry vouches for the version, though perhaps not at this moment.
    #[must_use]
    pub const fn is_admitted(self) -> bool {
        matches!(self, Self::RegistryAdmitted | Self::Canary | Self::Active)
    }
}

impl std::fmt::Display for StateName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that names no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no lifecycle state")]
pub struct UnknownState(pub String);

impl std::str::FromStr for StateName {
    type Err = UnknownState;

    fn from_str(text: &str) -> Result<Self, UnknownState> {
        let found = Self::ALL.into_iter().find(|s| s.as_str() == text);
        found.ok_or_else(|| UnknownState(text.to_owned()))
    }
}

// === the edges, one function a state ===

type Moved = Result<State, Refused>;

fn draft(event: Event, at: Moment) -> Moved {
    match event {
        Event::GatePassed { gate: EarlyGate::Static, subject, pass } => {
            Ok(State::StaticValidated { subject, r#static: pass.at(at) })
        }
        other => before_admission(other, at),
    }
}

fn static_validated(fixed: Subject, r#static: GatePass, event: Event, at: Moment) -> Moved {
    match event {
        Event::GatePassed { gate: EarlyGate::Conformance, subject, pass } => {
            same(&fixed, &subject)?;
            Ok(State::ConformanceVerified { subject, r#static, conformance: pass.at(at) })
        }
        other => before_admission(other, at),
    }
}

fn conformance_verified(fixed: Subject, passed: [GatePass; 2], event: Event, at: Moment) -> Moved {
    match event {
        Event::GatePassed { gate: EarlyGate::Security, subject, pass } => {
            same(&fixed, &subject)?;
            let [r#static, conformance] = passed;
            Ok(State::SecurityVerified { subject, r#static, conformance, security: pass.at(at) })
        }
        other => before_admission(other, at),
    }
}

fn security_verified(fixed: Subject, event: Event, at: Moment) -> Moved {
    match event {
        Event::Admitted { subject, authorization } => {
            same(&fixed, &subject)?;
            valid(&authorization, at)?;
            let admitted = Admitted { subject, authorization, since: at };
            Ok(State::RegistryAdmitted { admitted, rollback: None })
        }
        other => before_admission(other, at),
    }
}

/// The two ends that every state before admission shares.
fn before_admission(event: Event, at: Moment) -> Moved {
    match event {
        Event::GateFailed { gate, reasons, evidence } => {
            Ok(State::Rejected { cause: Rejection::Gate { gate, reasons, evidence }, since: at })
        }
        Event::Withdrawn { by, reason } => {
            Ok(State::Rejected { cause: Rejection::Withdrawal { who: by, reason }, since: at })
        }
        _ => Err(Refused::NoEdge),
    }
}

fn registry_admitted(admitted: Admitted, rollback: Option<RollbackWindow>, event: Event, at: Moment) -> Moved {
    match event {
        Event::CanaryStarted { subject, evidence, weight } => {
            same(&admitted.subject, &subject)?;
            valid(&admitted.authorization, at)?;
            Ok(State::Canary { admitted, gate: evidence, weight, since: at })
        }
        Event::RolledBackTo => {
            let window = rollback.filter(|window| at.time < window.until).ok_or(Refused::NoRollbackWindow)?;
            valid(&admitted.authorization, at)?;
            Ok(State::Active { admitted, gate: window.gate, since: at })
        }
        Event::RollbackWindowClosed => Ok(State::RegistryAdmitted { admitted, rollback: None }),
        Event::Renewed { subject, authorization } => {
            let admitted = renewed(admitted, &subject, authorization, at)?;
            Ok(State::RegistryAdmitted { admitted, rollback })
        }
        other => leave(admitted, AdmittedState::RegistryAdmitted, other, at),
    }
}

fn canary(
    admitted: Admitted,
    (gate, weight, since): (EvidenceId, u16, Moment),
    event: Event,
    at: Moment,
) -> Moved {
    match event {
        Event::Promoted { subject, evidence } => {
            same(&admitted.subject, &subject)?;
            valid(&admitted.authorization, at)?;
            Ok(State::Active { admitted, gate: evidence, since: at })
        }
        Event::CanaryAborted => Ok(State::RegistryAdmitted { admitted, rollback: None }),
        Event::Renewed { subject, authorization } => {
            Ok(State::Canary { admitted: renewed(admitted, &subject, authorization, at)?, gate, weight, since })
        }
        other => leave(admitted, AdmittedState::Canary, other, at),
    }
}

fn active(admitted: Admitted, gate: EvidenceId, since: Moment, event: Event, at: Moment) -> Moved {
    match event {
        Event::Superseded { rollback_until } if rollback_until <= at.time => Err(Refused::WindowPast),
        Event::Superseded { rollback_until } => {
            let rollback = Some(RollbackWindow { until: rollback_until, gate });
            Ok(State::RegistryAdmitted { admitted, rollback })
        }
        Event::RolledBackFrom => Ok(State::RegistryAdmitted { admitted, rollback: None }),
        Event::Renewed { subject, authorization } => {
            Ok(State::Active { admitted: renewed(admitted, &subject, authorization, at)?, gate, since })
        }
        other => leave(admitted, AdmittedState::Active, other, at),
    }
}

/// The two ends that every admitted state shares.
fn leave(admitted: Admitted, was: AdmittedState, event: Event, at: Moment) -> Moved {
    match event {
        Event::Quarantined { reason, by } => Ok(State::Quarantined { admitted, was, reason, by, since: at }),
        Event::Deprecated { sunset, .. } if sunset.is_some_and(|end| end <= at.time) => Err(Refused::SunsetPast),
        Event::Deprecated { sunset, reason, by } => Ok(State::Deprecated { admitted, sunset, reason, by, since: at }),
        _ => Err(Refused::NoEdge),
    }
}

/// The facts of [`State::Quarantined`], as one argument.
struct InQuarantine {
    admitted: Admitted,
    was: AdmittedState,
    reason: String,
    by: Actor,
    since: Moment,
}

fn quarantined(now: InQuarantine, event: Event, at: Moment) -> Moved {
    let InQuarantine { admitted, was, reason: why, by: whose, since } = now;
    match event {
        Event::Released { subject, evidence, run_started, weight } => {
            same(&admitted.subject, &subject)?;
            if run_started < since.revision {
                return Err(Refused::RunBeforeQuarantine);
            }
            valid(&admitted.authorization, at)?;
            Ok(State::Canary { admitted, gate: evidence, weight, since: at })
        }
        Event::Renewed { subject, authorization } => {
            let admitted = renewed(admitted, &subject, authorization, at)?;
            Ok(State::Quarantined { admitted, was, reason: why, by: whose, since })
        }
        Event::Deprecated { sunset: Some(_), .. } => Err(Refused::SunsetInQuarantine),
        Event::Deprecated { sunset: None, reason, by } => {
            Ok(State::Deprecated { admitted, sunset: None, reason, by, since: at })
        }
        _ => Err(Refused::NoEdge),
    }
}

// === what an event's facts must carry ===

fn same(fixed: &Subject, named: &Subject) -> Result<(), Refused> {
    if fixed == named { Ok(()) } else { Err(Refused::OtherSubject) }
}

fn valid(authorization: &Authorization, at: Moment) -> Result<(), Refused> {
    let valid = authorization.not_before <= at.time && at.time < authorization.expires_at;
    if valid { Ok(()) } else { Err(Refused::NotAuthorized) }
}

fn renewed(old: Admitted, subject: &Subject, authorization: Authorization, at: Moment) -> Result<Admitted, Refused> {
    same(&old.subject, subject)?;
    valid(&authorization, at)?;
    Ok(Admitted { authorization, ..old })
}
