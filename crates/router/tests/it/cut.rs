//! Dispatches under way.

use std::time::Duration;

use futures::FutureExt as _;
use ostiary_admission::{Change, Hold, HoldKind, Scope, State};
use ostiary_router::{DecisionReason, InFlight};

use crate::plane::{PATIENCE, Plane, query, record, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_quarantine_revokes_what_is_under_way_and_denies_what_is_new() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    plane.set("acme/writer", "1.0.0", State::Active);
    let router = plane.router().await;
    let planner = router.dispatch(&query("acme/planner", "1.0.0")).unwrap();
    let writer = router.dispatch(&query("acme/writer", "1.0.0")).unwrap();
    assert_eq!(planner.version(), "1.0.0");
    assert!(planner.revoked().now_or_never().is_none());
    let lowered = plane.set("acme/planner", "1.0.0", State::Quarantined);
    let revoked = tokio::time::timeout(PATIENCE, planner.revoked()).await.unwrap();
    assert_eq!(revoked.decision.reason, DecisionReason::Quarantined);
    until("the quarantine is proved", || plane.has_applied(lowered)).await;
    let denied = router.dispatch(&query("acme/planner", "1.0.0")).unwrap_err();
    assert_eq!(denied.reason, DecisionReason::Quarantined);
    assert!(writer.revoked().now_or_never().is_none(), "the honest twin runs on");
    assert!(planner.cut().now_or_never().is_none(), "drained: it may end by itself");
    let cut = planner.cut_by(InFlight::CutAfter(Duration::ZERO));
    assert!(tokio::time::timeout(PATIENCE, cut).await.is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_hold_revokes_and_ended_evidence_does_not() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let dispatch = router.dispatch(&query("acme/planner", "1.0.0")).unwrap();
    let mut expired = record("acme/planner", "1.0.0", State::Active);
    expired.evidence.as_mut().unwrap().expires_at = plane.time.truth();
    let later = plane.publish([Change::Upsert(expired.clone())]);
    assert!(router.reached("acme", later, PATIENCE).await);
    assert!(!router.check(&query("acme/planner", "1.0.0")).allows());
    assert!(dispatch.revoked().now_or_never().is_none());
    expired.evidence = record("acme/planner", "1.0.0", State::Active).evidence;
    expired.holds = [Hold { kind: HoldKind::RouteDisabled, scope: Scope::All, by_person: true }].into();
    plane.publish([Change::Upsert(expired)]);
    let revoked = tokio::time::timeout(PATIENCE, dispatch.revoked()).await.unwrap();
    assert_eq!(revoked.decision.reason, DecisionReason::RouteDisabled);
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_dispatches_are_forgotten() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    for _ in 0..1_000 {
        drop(router.dispatch(&query("acme/planner", "1.0.0")).unwrap());
    }
    assert_eq!(router.status().under_way, 0);
}
