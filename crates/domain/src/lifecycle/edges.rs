//! The edges, one function a state. A new state does not compile before it has one here.

use super::{Admitted, AdmittedState, EarlyGate, Event, Refused, Rejection, RollbackWindow, State};
use crate::{
    names::{Actor, EvidenceId, Moment},
    subject::{Authorization, GatePass, Subject},
};

pub(super) type Moved = Result<State, Refused>;

pub(super) fn draft(event: Event, at: Moment) -> Moved {
    match event {
        Event::GatePassed { gate: EarlyGate::Static, subject, pass } => {
            Ok(State::StaticValidated { subject, r#static: pass.at(at) })
        }
        other => before_admission(other, at),
    }
}

pub(super) fn static_validated(fixed: Subject, r#static: GatePass, event: Event, at: Moment) -> Moved {
    match event {
        Event::GatePassed { gate: EarlyGate::Conformance, subject, pass } => {
            same(&fixed, &subject)?;
            Ok(State::ConformanceVerified { subject, r#static, conformance: pass.at(at) })
        }
        other => before_admission(other, at),
    }
}

pub(super) fn conformance_verified(fixed: Subject, passed: [GatePass; 2], event: Event, at: Moment) -> Moved {
    match event {
        Event::GatePassed { gate: EarlyGate::Security, subject, pass } => {
            same(&fixed, &subject)?;
            let [r#static, conformance] = passed;
            Ok(State::SecurityVerified { subject, r#static, conformance, security: pass.at(at) })
        }
        other => before_admission(other, at),
    }
}

pub(super) fn security_verified(fixed: Subject, event: Event, at: Moment) -> Moved {
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

pub(super) fn registry_admitted(
    admitted: Admitted,
    rollback: Option<RollbackWindow>,
    event: Event,
    at: Moment,
) -> Moved {
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

pub(super) fn canary(
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

pub(super) fn active(admitted: Admitted, gate: EvidenceId, since: Moment, event: Event, at: Moment) -> Moved {
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
        Event::Deprecated { sunset, reason, by } => {
            Ok(State::Deprecated { admitted, sunset, quarantined: false, reason, by, since: at })
        }
        _ => Err(Refused::NoEdge),
    }
}

/// The facts of [`State::Quarantined`], as one argument.
pub(super) struct InQuarantine {
    pub(super) admitted: Admitted,
    pub(super) was: AdmittedState,
    pub(super) reason: String,
    pub(super) by: Actor,
    pub(super) since: Moment,
}

pub(super) fn quarantined(now: InQuarantine, event: Event, at: Moment) -> Moved {
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
            Ok(State::Deprecated { admitted, sunset: None, quarantined: true, reason, by, since: at })
        }
        _ => Err(Refused::NoEdge),
    }
}

// === what an event's facts must carry ===

fn same(fixed: &Subject, named: &Subject) -> Result<(), Refused> {
    if fixed == named { Ok(()) } else { Err(Refused::OtherSubject) }
}

fn valid(authorization: &Authorization, at: Moment) -> Result<(), Refused> {
    if authorization.holds_at(at.time) { Ok(()) } else { Err(Refused::NotAuthorized) }
}

fn renewed(old: Admitted, subject: &Subject, authorization: Authorization, at: Moment) -> Result<Admitted, Refused> {
    same(&old.subject, subject)?;
    valid(&authorization, at)?;
    Ok(Admitted { authorization, ..old })
}
