//! Windows of outcomes over the wire, and their sums for people.
//!
//! Covers R-01 (signals without payloads).

use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use ostiary_proto::drift::v1::{Latency, Outcomes, ReportOutcomesRequest, drift_service_client::DriftServiceClient};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::app::{AGENT, AUDITOR, FAR_ROUTER, PUBLISHER, ROUTER, SECOND_ROUTER, TestApp, VERSION, token};

fn stamp(time: Timestamp) -> Option<prost_types::Timestamp> {
    Some(prost_types::Timestamp { seconds: time.as_second(), nanos: time.subsec_nanosecond() })
}

fn codes(pairs: &[(&str, u64)]) -> HashMap<String, u64> {
    pairs.iter().map(|(code, count)| ((*code).to_owned(), *count)).collect()
}

/// One entry with a number for every signal.
fn everything(consumer: &str) -> Outcomes {
    let bound = |millis: i32| prost_types::Duration { seconds: 0, nanos: millis * 1_000_000 };
    Outcomes {
        agent: "acme/planner".to_owned(),
        version: VERSION.to_owned(),
        consumer: consumer.to_owned(),
        dispatches: 10,
        succeeded: 7,
        errors: codes(&[("TIMEOUT", 2)]),
        unregistered_errors: codes(&[("E_42", 1)]),
        denied: codes(&[("REVALIDATING", 3)]),
        schema_checked: 7,
        schema_failed: 1,
        impossible_transitions: codes(&[("completed>working", 1)]),
        annotation_mismatches: codes(&[("readOnlyHint", 1)]),
        decode_failures: 1,
        writes_after_cancel: 1,
        cross_tenant_denied: 4,
        cross_tenant_allowed: 1,
        digest_changes: codes(&[("card", 1), ("tools", 2)]),
        latency: Some(Latency { bounds: vec![bound(10), bound(100)], counts: vec![6, 3, 1] }),
        ..Outcomes::default()
    }
}

impl TestApp {
    fn window(&self, number: u64, outcomes: Vec<Outcomes>) -> ReportOutcomesRequest {
        ReportOutcomesRequest {
            router_id: "eu-1".to_owned(),
            instance: "boot-1".to_owned(),
            window: number,
            from: stamp(self.now() - SignedDuration::from_secs(10)),
            to: stamp(self.now()),
            outcomes,
        }
    }

    async fn count(&self, caller: &str, window: ReportOutcomesRequest) -> Result<bool, Status> {
        let mut client = DriftServiceClient::connect(self.running().grpc_url()).await.expect("listens");
        let mut request = tonic::Request::new(window);
        let field = format!("Bearer {}", token(caller)).parse().expect("ASCII");
        request.metadata_mut().insert("authorization", field);
        client.report_outcomes(request).await.map(|answer| answer.into_inner().duplicate)
    }

    async fn outcomes(&self, query: &str) -> (u16, Value) {
        self.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/outcomes{query}")).await
    }
}

#[tokio::test]
async fn windows_add_up_for_each_consumer_and_count_once() {
    let app = TestApp::start().await;
    app.admit().await;
    let first = app.window(1, vec![everything("shop"), everything("")]);
    assert!(!app.count(ROUTER, first.clone()).await.expect("it is taken"));
    assert!(app.count(ROUTER, first.clone()).await.expect("an answer"), "told before");
    assert!(!app.count(SECOND_ROUTER, first).await.expect("it is taken"), "another router's own window");
    // One entry for each interface: they add up.
    let twice = app.window(2, vec![everything("shop"), everything("shop")]);
    assert!(!app.count(ROUTER, twice).await.expect("it is taken"));

    let (status, sums) = app.outcomes("").await;
    assert_eq!(status, 200, "{sums}");
    let of = |consumer: &str| {
        let all = sums["consumers"].as_array().expect("a list");
        all.iter().find(|sum| sum["consumer"] == consumer).expect("it is summed").clone()
    };
    let shop = of("shop");
    let wanted = json!({
        "dispatches": 40, "succeeded": 28, "error": 8, "unregistered_error": 4, "denied": 12, "schema_checked": 28,
        "schema_failed": 4, "impossible_transition": 4, "annotation_mismatch": 4, "decode_failure": 4,
        "write_after_cancel": 4, "cross_tenant_denied": 16, "cross_tenant_allowed": 4, "digest_change": 12,
        "latency": 40
    });
    assert_eq!(shop["signals"], wanted, "every signal of R-01");
    assert_eq!(shop["codes"]["digest_change"], json!({"card": 4, "tools": 8}));
    assert_eq!(shop["codes"]["latency"], json!({"10000000": 24, "100000000": 12, "more": 4}));
    assert_eq!(of("")["signals"]["dispatches"], 20);
    let later = (app.now() + SignedDuration::from_mins(20)).to_string();
    assert_eq!(app.outcomes(&format!("?since={later}")).await.1["consumers"], json!([]));
}

#[tokio::test]
async fn windows_are_bounded_in_every_direction() {
    let app = TestApp::start().await;
    app.admit().await;
    let plain = || everything("shop");
    let (now, day) = (app.now(), SignedDuration::from_hours(25));
    let bad = [
        ReportOutcomesRequest { router_id: String::new(), ..app.window(1, vec![plain()]) },
        ReportOutcomesRequest { instance: String::new(), ..app.window(1, vec![plain()]) },
        ReportOutcomesRequest { to: None, ..app.window(1, vec![plain()]) },
        ReportOutcomesRequest { to: stamp(now - SignedDuration::from_secs(11)), ..app.window(1, vec![plain()]) },
        ReportOutcomesRequest { from: stamp(now - SignedDuration::from_hours(2)), ..app.window(1, vec![plain()]) },
        ReportOutcomesRequest {
            from: stamp(now - day - SignedDuration::from_secs(10)),
            to: stamp(now - day),
            ..app.window(1, vec![plain()])
        },
        ReportOutcomesRequest { to: stamp(now + SignedDuration::from_mins(30)), ..app.window(1, vec![plain()]) },
        app.window(1, vec![Outcomes { agent: "none".to_owned(), ..plain() }]),
        app.window(1, vec![Outcomes { card_digest: "latest".to_owned(), ..plain() }]),
        app.window(1, vec![Outcomes { consumer: "x".repeat(129), ..plain() }]),
        app.window(1, vec![Outcomes { dispatches: u64::MAX, ..plain() }]),
        app.window(1, vec![Outcomes { errors: (0..65).map(|n| (n.to_string(), 1)).collect(), ..plain() }]),
        app.window(1, vec![Outcomes { errors: codes(&[("", 1)]), ..plain() }]),
        app.window(1, vec![Outcomes { latency: Some(Latency { bounds: vec![], counts: vec![1, 2] }), ..plain() }]),
        app.window(1, vec![Outcomes::default(); 10_001]),
    ];
    for window in bad {
        let refused = app.count(ROUTER, window.clone()).await.expect_err("it is not taken");
        assert_eq!(refused.code(), Code::InvalidArgument, "{} {:?}", refused.message(), window.outcomes.first());
    }
    let many = (0..10_000).map(|n| Outcomes { dispatches: 1, ..bare(&format!("consumer-{n}")) }).collect();
    assert!(!app.count(ROUTER, app.window(1, many)).await.expect("ten thousand are taken"));
    assert_eq!(app.outcomes("").await.1["consumers"].as_array().expect("a list").len(), 10_000);
}

fn bare(consumer: &str) -> Outcomes {
    Outcomes {
        agent: "acme/planner".to_owned(),
        version: VERSION.to_owned(),
        consumer: consumer.to_owned(),
        ..Outcomes::default()
    }
}

#[tokio::test]
async fn only_routers_count_and_only_where_they_route() {
    let app = TestApp::start().await;
    app.admit().await;
    for caller in [PUBLISHER, AUDITOR, FAR_ROUTER] {
        let refused = app.count(caller, app.window(1, vec![everything("shop")])).await.expect_err("no router of acme");
        assert_eq!(refused.code(), Code::PermissionDenied, "{caller}");
    }
    assert_eq!(app.outcomes("").await.1["consumers"], json!([]));
    assert_eq!(app.outcomes("?since=yesterday").await.0, 400);
    assert_eq!(app.get(AUDITOR, &format!("{AGENT}/versions/9.9.9/outcomes")).await.0, 404);
}
