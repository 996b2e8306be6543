//! What the copy cannot answer.

use std::time::Duration;

use ostiary_admission::{Change, State};
use ostiary_canon::{
    Revision,
    dsse::{Keyring, SigningKey},
};
use ostiary_router::{DecisionReason, Endpoint, Phase, Router, RouterConfig};

use crate::plane::{Plane, query, record, until};

#[tokio::test(flavor = "multi_thread")]
async fn equal_questions_are_one_call_and_a_denial_is_kept_for_a_second() {
    let plane = Plane::start().await;
    let router = plane.router().await;
    let asked = query("acme/planner", "9.9.9");
    let answers = futures::future::join_all((0..50).map(|_| router.check_or_ask(&asked, None))).await;
    assert!(answers.iter().all(|answer| answer.as_ref().is_ok_and(|d| d.reason == DecisionReason::VersionUnknown)));
    assert!(router.metrics().contains("ostiary_router_asked_total 1"), "{}", router.metrics());
    plane.time.advance(1);
    router.check_or_ask(&asked, None).await.unwrap();
    assert!(router.metrics().contains("ostiary_router_asked_total 2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_nobody_reached_is_denied_and_one_that_was_is_answered() {
    let plane = Plane::start().await;
    let revision = plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    let asked = query("acme/planner", "1.0.0");
    assert!(router.check_or_ask(&asked, Some(revision)).await.unwrap().allows());
    let ahead = router.check_or_ask(&asked, Some(Revision(revision.0 + 1))).await;
    assert!(!ahead.is_ok_and(|decision| decision.allows()));
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_are_never_kept() {
    let plane = Plane::start().await;
    plane.cut();
    let mut config = plane.config();
    config.ask_within = Duration::from_millis(200);
    let router = Router::connect_with(config, plane.ports()).await.unwrap();
    plane.set("acme/planner", "1.0.0", State::Active);
    let asked = query("acme/planner", "1.0.0");
    let error = router.check_or_ask(&asked, None).await.unwrap_err();
    assert_eq!(error.local.reason, DecisionReason::ViewStale);
    plane.mend();
    until("the copy is there", || router.check(&asked).allows()).await;
    assert!(router.check_or_ask(&asked, None).await.unwrap().allows());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_copy_asks_and_nobody_answers_in_time() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let mut config = plane.config();
    config.ask_within = Duration::from_millis(50);
    let router = plane.router_with(config).await;
    plane.cut();
    until("it notices", || router.status().scopes[0].phase == Phase::Away).await;
    plane.time.advance(60);
    assert!(router.check_or_ask(&query("acme/planner", "1.0.0"), None).await.is_err());
    assert!(router.dispatch_or_ask(&query("acme/planner", "1.0.0"), None).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_before_does_not_follow_a_quarantine_that_was_applied_meanwhile() {
    let plane = Plane::start().await;
    let revision = plane.set("acme/planner", "1.0.0", State::Active);
    let router = plane.router().await;
    assert!(router.check(&query("acme/planner", "1.0.0")).allows(), "the honest twin");
    let publish = |state| {
        let (hub, next) = (plane.hub.clone(), Revision(plane.hub.index().revision().0 + 1));
        let next = if state == State::Quarantined { Revision(next.0 + 1) } else { next };
        let change = Change::Upsert(record("acme/planner", "1.0.0", state));
        move || drop(hub.publish([change], next))
    };
    *plane.hooks.reaching.lock().unwrap() = Some(Box::new(publish(State::Active)));
    let (quarantine, applied) = (publish(State::Quarantined), router.clone());
    *plane.hooks.answering.lock().unwrap() = Some(Box::new(move || {
        quarantine();
        while applied.check(&query("acme/planner", "1.0.0")).allows() {
            std::thread::yield_now();
        }
    }));
    let answer = router.check_or_ask(&query("acme/planner", "1.0.0"), Some(Revision(revision.0 + 1))).await;
    assert!(plane.hooks.answering.lock().unwrap().is_none(), "it was asked");
    assert!(!answer.is_ok_and(|decision| decision.allows()), "what was applied here counts");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_allow_that_nobody_signed_is_believed_only_where_it_is_known_who_said_it() {
    let plane = Plane::start().await;
    plane.set("acme/planner", "1.0.0", State::Active);
    let stranger = Keyring::trusting([SigningKey::from_seed([9; 32]).verifying_key()]);
    for believe_answers in [true, false] {
        // No copy ever verifies, so that every question is asked.
        let config = RouterConfig { believe_answers, trust: stranger.clone(), ..plane.config() };
        let router = Router::connect_with(config, plane.ports()).await.unwrap();
        until("the time is known", || router.control_time().is_some()).await;
        let answer = router.check_or_ask(&query("acme/planner", "1.0.0"), None).await;
        assert_eq!(answer.is_ok_and(|decision| decision.allows()), believe_answers);
        let denial = router.check_or_ask(&query("acme/planner", "9.9.9"), None).await;
        assert_eq!(denial.unwrap().reason, DecisionReason::VersionUnknown, "a denial may come from anybody");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_made_up_versions_opens_a_bounded_number_of_questions() {
    let plane = Plane::start().await;
    // It takes connections and never says anything.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint::from_shared(format!("http://{}", silent.local_addr().unwrap())).unwrap();
    let config = RouterConfig { endpoint, ask_within: Duration::from_millis(500), ..plane.config() };
    let router = Router::connect_with(config, plane.ports()).await.unwrap();
    let names: Vec<String> = (0..2_000).map(|n| format!("{n}.0.0")).collect();
    let questions =
        names.iter().map(|version| async { router.check_or_ask(&query("acme/planner", version), None).await });
    let answers = futures::future::join_all(questions).await;
    assert!(answers.iter().all(|answer| !answer.as_ref().is_ok_and(ostiary_admission::Decision::allows)));
    let metrics = router.metrics();
    let asked = metrics.lines().find_map(|line| line.strip_prefix("ostiary_router_asked_total ")).unwrap();
    assert!(asked.parse::<u64>().unwrap() <= 256, "{asked}");
}
