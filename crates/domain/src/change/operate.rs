//! The writes of an act outside the gates.

use ostiary_record::Gate;
use serde_json::json;

use super::{Changes, Draft, Loaded, Undone, entry, looked_at};
use crate::{
    audit::AuditAction,
    hold::{Hold, HoldKind, Lifted, NewHold, Scope},
    job::NewJob,
    lifecycle::{Event, State},
    names::{HoldId, JobId, Moment},
    ports::{Action, HoldRequest, Operate, Refusal},
    route::RouteChange,
};

/// The writes of `operate`.
///
/// # Errors
/// When the caller's view is old, when a machine would raise trust, or when lifecycle or route refuse.
pub fn operate(loaded: Loaded, operate: &Operate, at: Moment) -> Result<Changes, Undone> {
    looked_at(&loaded.version, operate.row)?;
    permitted(operate)?;
    let from = loaded.version.state.name();
    let mut draft = Draft::of(loaded);
    let mut jobs = Vec::new();
    let action = match &operate.action {
        Action::Quarantine => quarantine(&mut draft, operate, at)?,
        Action::Deprecate { sunset } => {
            leave_route(&mut draft, operate, at)?;
            let (reason, by) = (operate.reason.clone(), operate.actor.clone());
            draft.apply(&operate.version, Event::Deprecated { sunset: *sunset, reason, by }, at)?;
            AuditAction::Deprecate
        }
        Action::Withdraw => {
            let (reason, by) = (operate.reason.clone(), operate.actor.clone());
            draft.apply(&operate.version, Event::Withdrawn { by, reason }, at)?;
            AuditAction::Withdraw
        }
        Action::AbortCanary => {
            draft.reroute(RouteChange::AbortCanary(operate.version.clone()), at).map_err(Undone::Refused)?;
            draft.apply(&operate.version, Event::CanaryAborted, at)?;
            AuditAction::AbortCanary
        }
        Action::Rollback { hold } => rollback(&mut draft, operate, hold, at)?,
        Action::SetHold(request) => set_hold(&mut draft, operate, request, at),
        Action::LiftHold(id) => lift_hold(&mut draft, operate, id, at)?,
        Action::RequestGate { gate, job } => request_gate(&mut draft, operate, (*gate, job), &mut jobs)?,
    };
    let to = draft.about(&operate.version).state.name();
    let detail =
        json!({"from": from, "to": to, "action": detail(&operate.action), "also": draft.also(&operate.version)});
    let audit = entry(action, &operate.actor, &operate.version, Some(operate.reason.clone()), detail);
    Ok(draft.finish(jobs, audit))
}

/// Machines only lower trust (L-10), and every act has a reason (L-04).
fn permitted(operate: &Operate) -> Result<(), Refusal> {
    if operate.reason.trim().is_empty() {
        return Err(Refusal::ReasonMissing);
    }
    let person_only = match &operate.action {
        Action::Quarantine | Action::SetHold(_) | Action::LiftHold(_) | Action::AbortCanary => return Ok(()),
        Action::RequestGate { gate: Gate::Canary | Gate::Active, .. } => "ask for a promotion or release",
        Action::RequestGate { .. } => return Ok(()),
        Action::Deprecate { .. } => "deprecate",
        Action::Withdraw => "withdraw a submission",
        Action::Rollback { .. } => "roll back",
    };
    if operate.actor.is_person() { Ok(()) } else { Err(Refusal::PersonOnly(person_only)) }
}

fn quarantine(draft: &mut Draft, operate: &Operate, at: Moment) -> Result<AuditAction, Refusal> {
    leave_route(draft, operate, at)?;
    let (reason, by) = (operate.reason.clone(), operate.actor.clone());
    draft.apply(&operate.version, Event::Quarantined { reason, by }, at)?;
    Ok(AuditAction::Quarantine)
}

fn leave_route(draft: &mut Draft, operate: &Operate, at: Moment) -> Result<(), Refusal> {
    draft.reroute(RouteChange::Remove(operate.version.clone()), at)
}

/// One guarded step: the previous version is ACTIVE again, this one is off the road until a person lifts its hold.
fn rollback(draft: &mut Draft, operate: &Operate, hold: &HoldId, at: Moment) -> Result<AuditAction, Refusal> {
    let previous = draft.route.previous.clone();
    draft.reroute(RouteChange::Rollback { from: operate.version.clone() }, at)?;
    let previous = previous.map(|p| p.version).ok_or(crate::route::RouteError::NoPrevious)?;
    if draft.about(&previous).holds.iter().any(|h| h.kind == HoldKind::RouteDisabled && h.scope == Scope::Everything) {
        return Err(Refusal::PreviousHeld(previous));
    }
    draft.apply(&operate.version, Event::RolledBackFrom, at)?;
    draft.apply(&previous, Event::RolledBackTo, at)?;
    let hold = NewHold {
        id: hold.clone(),
        kind: HoldKind::RouteDisabled,
        scope: Scope::Everything,
        reason: format!("rolled back: {}", operate.reason),
        author: operate.actor.clone(),
        evidence: None,
    };
    draft.set_hold(&operate.version, hold.set(at), at);
    Ok(AuditAction::Rollback)
}

fn set_hold(draft: &mut Draft, operate: &Operate, request: &HoldRequest, at: Moment) -> AuditAction {
    let HoldRequest { id, kind, scope } = request.clone();
    let (reason, author) = (operate.reason.clone(), operate.actor.clone());
    let hold: Hold = NewHold { id, kind, scope, reason, author, evidence: None }.set(at);
    draft.set_hold(&operate.version, hold, at);
    AuditAction::SetHold
}

fn lift_hold(draft: &mut Draft, operate: &Operate, id: &HoldId, at: Moment) -> Result<AuditAction, Refusal> {
    let holds = &draft.about(&operate.version).holds;
    let liftable = holds.iter().any(|h| h.id == *id && h.may_be_lifted_by(&operate.actor));
    if !liftable {
        return Err(Refusal::Hold(id.clone()));
    }
    let lifted = Lifted { by: operate.actor.clone(), reason: operate.reason.clone(), at: at.time };
    draft.lift_hold(&operate.version, id, lifted, at);
    Ok(AuditAction::LiftHold)
}

/// The next gate, one that was passed before, or, out of quarantine, the canary gate by way of the two before it.
fn request_gate(
    draft: &mut Draft,
    operate: &Operate,
    (gate, job): (Gate, &JobId),
    jobs: &mut Vec<NewJob>,
) -> Result<AuditAction, Refusal> {
    let state = &draft.about(&operate.version).state;
    let follows = match state {
        State::Rejected { .. } | State::Deprecated { .. } => false,
        State::Quarantined { .. } => gate <= Gate::Canary,
        State::Active { .. } => true,
        _ => state.next_gate().is_some_and(|next| gate <= next),
    };
    if !follows {
        return Err(Refusal::NotNext { gate, state: state.name() });
    }
    jobs.push(NewJob { id: job.clone(), version: operate.version.clone(), gate });
    Ok(AuditAction::RequestGate)
}

fn detail(action: &Action) -> serde_json::Value {
    match action {
        Action::Quarantine | Action::Withdraw | Action::AbortCanary => serde_json::Value::Null,
        Action::Deprecate { sunset } => json!({"sunset": sunset}),
        Action::Rollback { hold } => json!({"hold": hold}),
        Action::SetHold(request) => json!({"hold": request.id, "kind": request.kind, "scope": request.scope}),
        Action::LiftHold(id) => json!({"hold": id}),
        Action::RequestGate { gate, job } => json!({"gate": gate, "job": job}),
    }
}
