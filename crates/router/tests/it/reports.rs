//! What routers tell.

use std::{sync::atomic::Ordering, time::Duration};

use ostiary_admission::{Observed, State};
use ostiary_proto::drift::v1::DriftFinding;
use ostiary_router::{Digest, Query, Signal, Subject};

use crate::plane::{Plane, card, query, until};

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_card_is_denied_each_time_and_told_once() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let other = Digest::of(b"another card");
    let wrong = Query { card_digest: Observed::Digest(other), ..query("acme/planner", "1.0.0") };
    assert!((0..100).all(|_| !router.check(&wrong).allows()));
    until("it is told", || !plane.told.drift.lock().unwrap().is_empty()).await;
    assert!((0..100).all(|_| !router.check(&wrong).allows()));
    router.stop().await;
    let told = plane.told.drift.lock().unwrap().clone();
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].finding(), DriftFinding::Mismatch);
    assert_eq!(told[0].expected_digest, card("1.0.0").to_string());
    assert_eq!(told[0].observed_digest, other.to_string());
    assert_eq!(told[0].router_id, "router-1");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unreadable_card_is_told_as_unreachable() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    router.report_unreachable("acme/planner", "1.0.0");
    until("it is told", || !plane.told.drift.lock().unwrap().is_empty()).await;
    assert_eq!(plane.told.drift.lock().unwrap()[0].finding(), DriftFinding::Unreachable);
}

#[tokio::test(flavor = "multi_thread")]
async fn outcomes_are_told_in_windows_and_a_refused_one_once_more() {
    let plane = Plane::start().await;
    plane.told.refuse.store(1, Ordering::SeqCst);
    let mut config = plane.config();
    config.report_every = Duration::from_millis(50);
    let router = plane.router_with(config).await;
    let subject =
        Subject { agent: "acme/planner", version: "1.0.0", consumer: "shop", canary: false, card_digest: None };
    router.report_outcome(&subject, Signal::Succeeded { took: Duration::from_millis(3) });
    until("told twice", || plane.told.outcomes.lock().unwrap().len() >= 2).await;
    router.stop().await;
    let told = plane.told.outcomes.lock().unwrap().clone();
    assert_eq!(told.len(), 2);
    assert_eq!(told[0], told[1], "the same window under the same number");
    assert_eq!(told[0].outcomes[0].succeeded, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_is_told_at_the_end_and_denials_are_counted() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Quarantined);
    let router = plane.router().await;
    assert!(router.dispatch(&query("acme/planner", "1.0.0")).is_err());
    router.stop().await;
    let told = plane.told.outcomes.lock().unwrap().clone();
    assert_eq!(told[0].outcomes[0].denied["QUARANTINED"], 1);
}
