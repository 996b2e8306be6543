//! Observe, warn, enforce (L-08): who is denied in which mode.

use std::sync::Arc;

use ostiary_admission::{DecisionReason, Enforcement, HoldKind, Mode, Outcome, Scope, State};

use crate::{
    fixture::{hold, hours, now},
    table::{World, cells},
};

#[test]
fn a_lenient_mode_allows_and_says_what_would_have_denied() {
    let until = now() + hours(1);
    for (mode, enforcement) in
        [(Mode::Observe, Enforcement::Observe { until }), (Mode::Warn, Enforcement::Warn { until })]
    {
        for (state, fault, world, strict) in cells() {
            let decision = world.decide(enforcement);
            assert_eq!(decision.mode, mode);
            // A quarantine, and a view that may have missed one, deny in every mode.
            let view = if fault == "revision not reached" {
                Some(DecisionReason::RevisionNotReached)
            } else if fault == "view stale" {
                Some(DecisionReason::ViewStale)
            } else {
                None
            };
            let quarantined =
                (state == State::Quarantined && world.record.is_some()).then_some(DecisionReason::Quarantined);
            let expected = match (strict, quarantined.or(view)) {
                (DecisionReason::Allowed, _) => (Outcome::Allow, DecisionReason::Allowed, None),
                (_, Some(always)) => (Outcome::Deny, always, None),
                (reason, None) => (Outcome::Allow, DecisionReason::AllowedWouldDeny, Some(reason)),
            };
            assert_eq!((decision.outcome, decision.reason, decision.would_deny), expected, "{state}, {fault}");
        }
    }
}

#[test]
fn an_expired_mode_is_enforce() {
    for enforcement in [Enforcement::Observe { until: now() }, Enforcement::Warn { until: now() }] {
        for (state, fault, world, strict) in cells() {
            let decision = world.decide(enforcement);
            assert_eq!((decision.mode, decision.reason), (Mode::Enforce, strict), "{state}, {fault}");
        }
    }
}

#[test]
fn a_persons_hold_denies_in_every_mode_and_a_machines_does_not() {
    let until = now() + hours(1);
    for kind in [HoldKind::RouteDisabled, HoldKind::CanaryStopped, HoldKind::RevalidatingForAll] {
        for by_person in [true, false] {
            let mut world = World::new(State::Canary);
            let mut set = hold(kind, Scope::All);
            set.by_person = by_person;
            world.record.as_mut().unwrap().holds = [set].into();
            for enforcement in [Enforcement::Observe { until }, Enforcement::Warn { until }] {
                let decision = world.decide(enforcement);
                assert_eq!(decision.allows(), !by_person, "{kind:?}");
                assert_eq!(decision.would_deny.is_some(), !by_person, "{kind:?}");
            }
            assert!(!world.decide(Enforcement::Enforce).allows());
        }
    }
}

#[test]
fn an_answer_reads_as_the_published_json() {
    let mut world = World::new(State::Active);
    world.query.profile = Some("mcp-2026-07-28");
    world.record.as_mut().unwrap().waived = Some(Arc::from(["temporal.replay".into()]));
    let until = now() + hours(1);
    let answer = serde_json::to_value(world.decide(Enforcement::Warn { until })).unwrap();
    let expected = serde_json::json!({
        "outcome": "ALLOW",
        "reason": "ALLOWED_WOULD_DENY",
        "state": "ACTIVE",
        "mode": "warn",
        "would_deny": "PROFILE_NOT_VERIFIED",
        "class": "full",
        "waived": ["temporal.replay"],
        "valid_until": "2026-08-12T12:00:15Z",
        "revision": 42,
        "evidence_digest": ostiary_canon::Digest::of(b"evidence"),
    });
    assert_eq!(answer, expected);
    let denied = serde_json::to_value(World::new(State::Draft).decide(Enforcement::Enforce)).unwrap();
    assert_eq!(denied["waived"], serde_json::json!([]));
    assert_eq!(denied["would_deny"], serde_json::Value::Null);
}
