//! The honest path: what the control plane says is what the router decides.

use ostiary_admission::State;
use ostiary_router::{DecisionReason, ViewScope};

use crate::plane::{PATIENCE, Plane, query, until};

#[tokio::test(flavor = "multi_thread")]
async fn an_admission_and_a_quarantine_arrive_and_are_acknowledged() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    assert!(router.check(&query("acme/planner", "1.0.0")).allows());
    let raised = plane.set("acme/planner", "2.0.0", State::Active);
    assert!(router.reached("acme", raised, PATIENCE).await);
    assert!(router.check(&query("acme/planner", "2.0.0")).allows());
    let lowered = plane.set("acme/planner", "1.0.0", State::Quarantined);
    until("the quarantine is proved", || plane.has_applied(lowered)).await;
    assert_eq!(router.check(&query("acme/planner", "1.0.0")).reason, DecisionReason::Quarantined);
    router.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn never_a_stale_allow_after_an_acknowledged_quarantine() {
    let plane = Plane::start().await;
    let router = plane.router().await;
    for round in 0..40 {
        let version = format!("1.0.{round}");
        let raised = plane.set("acme/planner", &version, State::Active);
        assert!(router.reached("acme", raised, PATIENCE).await);
        assert!(router.check(&query("acme/planner", &version)).allows());
        let lowered = plane.set("acme/planner", &version, State::Quarantined);
        // Without waiting for anything: the token alone forbids an old answer.
        let answer = router.check_or_ask(&query("acme/planner", &version), Some(lowered)).await;
        assert!(answer.is_ok_and(|decision| !decision.allows()), "round {round}");
        until("the quarantine is proved", || plane.has_applied(lowered)).await;
        assert!(!router.check(&query("acme/planner", &version)).allows(), "round {round}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_router_of_one_namespace_follows_it_through_changes_elsewhere() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let mut config = plane.config();
    config.scopes = vec![ViewScope::Namespace("acme".into()), ViewScope::Namespace("beta".into())];
    let router = plane.router_with(config).await;
    for round in 0..5 {
        plane.set("gamma/other", &format!("1.0.{round}"), State::Active);
        let raised = plane.set("beta/writer", &format!("1.0.{round}"), State::Active);
        assert!(router.reached("beta", raised, PATIENCE).await);
        assert!(router.reached("acme", raised, PATIENCE).await, "its head goes on too");
        assert!(router.check(&query("beta/writer", &format!("1.0.{round}"))).allows());
    }
    assert!(router.check(&query("acme/planner", "1.0.0")).allows());
    let elsewhere = router.check(&query("gamma/other", "1.0.0"));
    assert_eq!(elsewhere.reason, DecisionReason::NamespaceForbidden);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_version_is_resolved_with_its_own_card() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let asked = ostiary_router::Query { version: "", card_digest: Default::default(), ..query("acme/planner", "") };
    let choice = router.resolve(&asked).unwrap();
    assert_eq!((choice.version.as_str(), choice.canary), ("1.0.0", false));
    assert!(choice.decision.allows());
    assert!(router.resolve(&query("acme/nobody", "")).is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn status_and_metrics_say_what_is_held() {
    let plane = Plane::start().await;
    let raised = plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let _ = router.check(&query("acme/planner", "9.9.9"));
    let status = router.status();
    assert!(status.is_ready());
    assert_eq!((status.scopes[0].verified, status.scopes[0].versions), (raised, 1));
    let text = router.metrics();
    assert!(text.contains("ostiary_router_decisions_total{reason=\"VERSION_UNKNOWN\"} 1"), "{text}");
    assert!(text.contains("ostiary_router_alive{scope=\"*\"} 1"), "{text}");
}
