//! What follows from a judged gate: the event, the route's change, the holds, the next gate. Pure.

use jiff::Timestamp;
use ostiary_canon::Profile;
use ostiary_record::{Gate, NonEmpty};

use crate::{
    evidence::NewEvidence,
    gate::{GateDecision, GateOutcome, GateReason},
    hold::{HoldKind, NewHold, Scope},
    lifecycle::{EarlyGate, Event, NewPass, State},
    names::{Actor, HoldId},
    policy::Policy,
    ports::Ids,
    route::RouteChange,
    subject::Authorization,
    version::Version,
};

/// What a store is to do after a gate was judged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consequence {
    /// The lifecycle's event, if the version moves.
    pub event: Option<Event>,
    /// The route's change, if the version enters or leaves it.
    pub route: Option<RouteChange>,
    /// Holds to set.
    pub holds: Vec<NewHold>,
    /// The gate to queue next.
    pub next: Option<Gate>,
}

/// A judged gate, with what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// The version, as last read.
    pub version: &'a Version,
    /// The decision.
    pub decision: &'a GateDecision,
    /// The evidence of it.
    pub evidence: &'a NewEvidence,
    /// The registry's word, when the admission gate opened.
    pub authorization: Option<&'a Authorization>,
    /// The policy it was judged by.
    pub policy: &'a Policy,
    /// Which of our machines acts.
    pub author: &'a Actor,
}

/// What follows from `judged`.
#[must_use]
pub fn consequence(judged: &Judged<'_>, ids: &dyn Ids, now: Timestamp) -> Consequence {
    match judged.decision.outcome {
        GateOutcome::Pass => passed(judged, now),
        GateOutcome::Fail => failed(judged, ids),
        GateOutcome::Blocked | GateOutcome::Inconclusive => Consequence::default(),
    }
}

fn passed(judged: &Judged<'_>, now: Timestamp) -> Consequence {
    let (gate, state) = (judged.evidence.gate, &judged.version.state);
    match state {
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. } => {
            // An older gate that was run again clears the way for the one that waits.
            let again = || Consequence { next: state.next_gate(), ..Consequence::default() };
            if state.next_gate() == Some(gate) { onward(judged, gate) } else { again() }
        }
        State::RegistryAdmitted { .. } if gate == Gate::Canary => enter(judged, |subject, evidence| {
            Event::CanaryStarted { subject, evidence, weight: judged.policy.canary_weight }
        }),
        State::Canary { .. } if gate == Gate::Active => promoted(judged, now),
        State::Quarantined { .. } => after_quarantine(judged, gate),
        State::RegistryAdmitted { .. } | State::Canary { .. } | State::Active { .. } => renewed(judged, gate),
        State::Rejected { .. } | State::Deprecated { .. } => Consequence::default(),
    }
}

/// One of the gates up to admission opened.
fn onward(judged: &Judged<'_>, gate: Gate) -> Consequence {
    let evidence = judged.evidence;
    let pass = NewPass { evidence: evidence.id.clone(), expires_at: evidence.expires_at };
    let event = match EarlyGate::of(gate) {
        Some(gate) => Some(Event::GatePassed { gate, subject: evidence.subject, pass }),
        None => {
            judged.authorization.map(|word| Event::Admitted { subject: evidence.subject, authorization: word.clone() })
        }
    };
    let next = match gate {
        Gate::Static => Some(Gate::Conformance),
        Gate::Conformance => Some(Gate::Security),
        Gate::Security => Some(Gate::Admission),
        Gate::Admission | Gate::Canary | Gate::Active => None,
    };
    Consequence { event, next, ..Consequence::default() }
}

fn enter(judged: &Judged<'_>, event: impl FnOnce(crate::Subject, crate::EvidenceId) -> Event) -> Consequence {
    Consequence {
        event: Some(event(judged.evidence.subject, judged.evidence.id.clone())),
        route: Some(RouteChange::StartCanary(judged.version.key.clone())),
        ..Consequence::default()
    }
}

fn promoted(judged: &Judged<'_>, now: Timestamp) -> Consequence {
    let (subject, evidence) = (judged.evidence.subject, judged.evidence.id.clone());
    let rollback_until = now.saturating_add(judged.policy.rollback_window()).unwrap_or(now);
    Consequence {
        event: Some(Event::Promoted { subject, evidence }),
        route: Some(RouteChange::Promote { version: judged.version.key.clone(), rollback_until }),
        ..Consequence::default()
    }
}

/// The way out: conformance, security, then the canary gate, which alone has looked at the approvals.
fn after_quarantine(judged: &Judged<'_>, gate: Gate) -> Consequence {
    match gate {
        Gate::Conformance => Consequence { next: Some(Gate::Security), ..Consequence::default() },
        Gate::Security => Consequence { next: Some(Gate::Canary), ..Consequence::default() },
        Gate::Canary => {
            let (run_started, weight) = (judged.evidence.run_started, judged.policy.canary_weight);
            enter(judged, |subject, evidence| Event::Released { subject, evidence, run_started, weight })
        }
        Gate::Static | Gate::Admission | Gate::Active => renewed(judged, gate),
    }
}

fn renewed(judged: &Judged<'_>, gate: Gate) -> Consequence {
    let word = judged.authorization.filter(|_| gate == Gate::Admission);
    let event = word.map(|word| Event::Renewed { subject: judged.evidence.subject, authorization: word.clone() });
    Consequence { event, ..Consequence::default() }
}

fn failed(judged: &Judged<'_>, ids: &dyn Ids) -> Consequence {
    let reasons = judged.decision.reasons.clone();
    match &judged.version.state {
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. } => Consequence {
            event: NonEmpty::from_vec(reasons).map(|reasons| Event::GateFailed {
                gate: judged.evidence.gate,
                reasons,
                evidence: judged.evidence.id.clone(),
            }),
            ..Consequence::default()
        },
        State::RegistryAdmitted { .. } => after_admission(judged, HoldKind::RouteDisabled, ids),
        State::Canary { .. } => after_admission(judged, HoldKind::CanaryStopped, ids),
        State::Active { .. } => after_admission(judged, HoldKind::RouteDisabled, ids),
        State::Quarantined { .. } | State::Rejected { .. } | State::Deprecated { .. } => Consequence::default(),
    }
}

/// The first failure after admission sets a hold; a second, on a run that began under that hold, quarantines.
fn after_admission(judged: &Judged<'_>, kind: HoldKind, ids: &dyn Ids) -> Consequence {
    let standing = || judged.version.holds.iter().filter(|h| h.follows_a_failure());
    if standing().any(|h| h.set.revision <= judged.evidence.run_started) {
        let reason = format!("the {} gate failed again: {}", judged.evidence.gate, summary(judged.decision));
        return Consequence {
            event: Some(Event::Quarantined { reason, by: judged.author.clone() }),
            route: Some(RouteChange::Remove(judged.version.key.clone())),
            ..Consequence::default()
        };
    }
    let new = scopes(judged.decision).into_iter().filter(|s| !standing().any(|h| h.kind == kind && h.scope == *s));
    let holds = new.map(|scope| NewHold {
        id: HoldId(ids.next("hold")),
        kind,
        scope,
        reason: format!("the {} gate failed: {}", judged.evidence.gate, summary(judged.decision)),
        author: judged.author.clone(),
        evidence: Some(judged.evidence.id.clone()),
    });
    Consequence { holds: holds.collect(), ..Consequence::default() }
}

/// The profiles that failed, where every failure is bound to one; else everything.
fn scopes(decision: &GateDecision) -> Vec<Scope> {
    let failures = decision.reasons.iter().filter(|r| r.outcome() == GateOutcome::Fail);
    let profiles: Option<Vec<Profile>> = failures
        .map(|r| match r {
            GateReason::Finding { profile, .. } => profile.clone(),
            _ => None,
        })
        .collect();
    let Some(mut profiles) = profiles.filter(|p| !p.is_empty()) else { return vec![Scope::Everything] };
    profiles.sort();
    profiles.dedup();
    profiles.into_iter().map(Scope::Profile).collect()
}

/// The failures' codes, each once.
fn summary(decision: &GateDecision) -> String {
    let failures = decision.reasons.iter().filter(|r| r.outcome() == GateOutcome::Fail);
    let mut codes: Vec<&str> = failures.map(GateReason::code).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.join(", ")
}
