//! Links that break, and clocks that are wrong.

use std::sync::atomic::Ordering;

use ostiary_admission::State;
use ostiary_router::{DecisionReason, Phase, Router};

use crate::plane::{Plane, query, until};

fn reason(router: &Router) -> DecisionReason {
    router.check(&query("acme/planner", "1.0.0")).reason
}

#[tokio::test(flavor = "multi_thread")]
async fn partitioned_router_serves_until_its_lease_and_comes_back() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    plane.cut();
    until("it notices", || router.status().scopes[0].phase == Phase::Away).await;
    let lease = router.status().scopes[0].lease_until;
    let left = lease.duration_since(plane.time.truth()).as_secs();
    plane.time.advance(left - 1);
    assert_eq!(reason(&router), DecisionReason::Allowed, "not before its lease ends");
    plane.set("acme/planner", "1.0.0", State::Quarantined);
    plane.time.advance(1);
    assert_eq!(reason(&router), DecisionReason::ViewStale);
    plane.mend();
    until("it is in step again", || reason(&router) == DecisionReason::Quarantined).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_control_plane_without_its_database_lets_leases_end() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    plane.fed.store(false, Ordering::SeqCst);
    let lease = router.status().scopes[0].lease_until;
    plane.time.advance(16);
    assert_eq!(reason(&router), DecisionReason::ViewStale);
    // Heartbeats go on and bring no later lease.
    plane.hub.beat();
    let raised = plane.set("acme/planner", "2.0.0", State::Active);
    assert!(router.reached("acme", raised, crate::plane::PATIENCE).await);
    assert_eq!(reason(&router), DecisionReason::ViewStale);
    assert_eq!(router.status().scopes[0].lease_until, lease);
    plane.fed.store(true, Ordering::SeqCst);
    until("the database is back", || reason(&router) == DecisionReason::Allowed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stepped_clock_denies_until_it_is_right() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    plane.time.step_wall(-3_600);
    until("the step is noticed", || reason(&router) == DecisionReason::ViewStale).await;
    assert_eq!(router.status().scopes[0].trouble, Some("skewed"));
    plane.time.step_wall(1);
    until("it is near enough", || reason(&router) == DecisionReason::Allowed).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn history_goes_on_after_a_break() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let before = router.metrics();
    assert!(before.contains("ostiary_router_snapshots_total 1"), "{before}");
    plane.cut();
    until("it notices", || router.status().scopes[0].phase == Phase::Away).await;
    let raised = plane.set("acme/planner", "2.0.0", State::Active);
    plane.mend();
    until("it goes on", || router.status().scopes[0].verified >= raised).await;
    assert!(router.check(&query("acme/planner", "2.0.0")).allows());
    let after = router.metrics();
    assert!(after.contains("ostiary_router_snapshots_total 1"), "no second snapshot: {after}");
    until("the resumed stream counts as applied", || plane.hub.proof(raised).applied > 0).await;
}
