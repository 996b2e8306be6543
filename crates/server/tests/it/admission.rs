//! What routers are told, and how soon.
//!
//! Covers L-03, L-04, L-08, P-03 (the dispatch that sees another card).

use std::time::Duration;

use jiff::SignedDuration;
use ostiary_canon::Digest;
use ostiary_proto::admission::v1::{
    CheckAdmissionRequest, Consistency, DecisionReason, FullyConsistent, Outcome, RevisionToken,
    admission_service_client::AdmissionServiceClient, consistency::Requirement,
};
use ostiary_record::Layer;
use serde_json::json;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use crate::{
    app::{ADMIN, AGENT, AUDITOR, OPERATOR, PROFILE, PUBLISHER, ROUTER, STRANGER, TestApp, VERSION, WORKER, token},
    candidate::Says,
};

fn at_least(revision: u64) -> Option<Consistency> {
    Some(Consistency { requirement: Some(Requirement::AtLeastAsFresh(RevisionToken { revision })) })
}

#[tokio::test]
async fn active_version_is_allowed_for_exactly_what_was_verified() {
    let app = TestApp::start().await;
    app.activate().await;
    let honest = app.question().await;
    let decision = app.check(honest.clone()).await;
    assert_eq!(decision.reason(), DecisionReason::Allowed);
    assert_eq!(
        decision.evidence_digest,
        app.status().await["authorization"]["evidence_digest"].as_str().expect("text")
    );
    let other = Digest::of(b"another card").to_string();
    let asked = [
        ("CARD_DIGEST_MISMATCH", {
            let mut q = honest.clone();
            q.card_digest.clone_from(&other);
            q
        }),
        ("CARD_DIGEST_MISMATCH", {
            let mut q = honest.clone();
            q.card_digest = "latest".to_owned();
            q
        }),
        ("OBSERVED_DIGEST_MISSING", {
            let mut q = honest.clone();
            q.card_digest.clear();
            q
        }),
        ("CONTRACT_DIGEST_MISMATCH", {
            let mut q = honest.clone();
            q.contract_digest.clone_from(&other);
            q
        }),
        ("PRODUCER_DIGEST_MISMATCH", {
            let mut q = honest.clone();
            q.producer_digest.clone_from(&other);
            q
        }),
        ("PROFILE_MISSING", {
            let mut q = honest.clone();
            q.profile.clear();
            q
        }),
        ("PROFILE_NOT_VERIFIED", {
            let mut q = honest.clone();
            q.profile = "a2a-jsonrpc-1.0/agent/standard".to_owned();
            q
        }),
        ("PROFILE_NOT_VERIFIED", {
            let mut q = honest.clone();
            q.profile = "a2a-jsonrpc-1.0".to_owned();
            q
        }),
        ("VERSION_UNKNOWN", {
            let mut q = honest.clone();
            q.version = "9.9.9".to_owned();
            q
        }),
    ];
    for (reason, question) in asked {
        assert_eq!(app.reason(question.clone()).await, reason, "{question:?}");
    }
}

#[tokio::test]
async fn version_before_promotion_is_not_dispatched_to() {
    let app = TestApp::start().await;
    app.admit().await;
    assert_eq!(app.reason(app.question().await).await, "NOT_ADMITTED");
}

#[tokio::test]
async fn quarantine_denies_the_very_next_check() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    assert_eq!(app.reason(question.clone()).await, "ALLOWED");
    let revision = app.act("quarantine").await["revision"].as_u64().expect("a token");
    assert_eq!(app.reason(question.clone()).await, "QUARANTINED", "without the token, on the same server");
    let mut with_token = question;
    with_token.consistency = at_least(revision);
    assert_eq!(app.reason(with_token).await, "QUARANTINED", "with the token, on any server");
}

#[tokio::test]
async fn hold_denies_and_lifting_it_allows_again() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    let hold = json!({"kind": "route_disabled", "reason": "an incident", "scope": {"scope": "profile", "of": PROFILE}});
    let (status, set) = app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/holds"), &hold).await;
    assert_eq!(status, 201, "{set}");
    assert_eq!(app.reason(question.clone()).await, "ROUTE_DISABLED");
    let id = set["holds"][0]["id"].as_str().expect("an id");
    app.act(&format!("holds/{id}/lift")).await;
    assert_eq!(app.reason(question).await, "ALLOWED");
}

#[tokio::test]
async fn expired_evidence_denies_and_leaves_the_state_alone() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    app.advance(SignedDuration::from_hours(7 * 24 + 1)).await;
    assert_eq!(app.reason(question).await, "EVIDENCE_EXPIRED");
    assert_eq!(app.state().await, "ACTIVE");
}

#[tokio::test]
async fn evidence_renewed_by_fresh_runs_allows_again() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    app.advance(SignedDuration::from_hours(7 * 24 + 1)).await;
    for gate in ["static", "conformance", "security", "admission"] {
        let path = format!("{AGENT}/versions/{VERSION}/gates/{gate}");
        let (status, answer) = app.post(ADMIN, &path, &json!({"reason": "renewal"})).await;
        assert_eq!(status, 202, "{answer}");
        app.drain_jobs().await;
    }
    assert_eq!(app.reason(question).await, "ALLOWED", "{:#}", app.status().await);
}

#[tokio::test]
async fn failure_after_admission_denies_at_once() {
    let app = TestApp::start().await;
    app.activate().await;
    app.candidate.set(Layer::Protocol, Says::Fail);
    app.verify().await;
    let reason = app.reason(app.question().await).await;
    assert!(["EVIDENCE_FAILED", "ROUTE_DISABLED"].contains(&reason.as_str()), "{reason}");
}

#[tokio::test]
async fn view_that_was_not_refreshed_within_its_lease_denies() {
    let app = TestApp::with(std::sync::Arc::new(ostiary_domain::NoFailpoints), |config| {
        config.admission.poll_millis = 5_000;
    })
    .await;
    app.activate().await;
    let question = app.question().await;
    let decision = app.check(question.clone()).await;
    let until = decision.valid_until.expect("every answer ends").seconds;
    assert!(until <= app.now().as_second() + 15, "an answer outlives the lease");
    app.clock.advance(SignedDuration::from_secs(16));
    assert_eq!(app.reason(question.clone()).await, "VIEW_STALE");
    assert_eq!(app.raw(app.request("GET", ROUTER, "/readyz")).await.status, 503);
    app.app().feed.refresh().await.expect("the database answers");
    assert_eq!(app.reason(question).await, "ALLOWED");
}

#[tokio::test]
async fn server_that_cannot_read_its_database_stops_extending_its_lease() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    app.running().cut_database().await;
    assert_eq!(app.reason(question.clone()).await, "ALLOWED", "the lease still lives");
    app.clock.advance(SignedDuration::from_secs(16));
    assert!(app.app().feed.refresh().await.is_err());
    assert_eq!(app.reason(question).await, "VIEW_STALE");
}

#[tokio::test]
async fn revision_that_is_not_reached_is_waited_for_and_then_denied() {
    let app = TestApp::start().await;
    app.activate().await;
    let mut question = app.question().await;
    question.consistency = at_least(1_000_000);
    let asked = tokio::time::timeout(Duration::from_secs(2), app.reason(question)).await;
    assert_eq!(asked.expect("the wait is bounded"), "REVISION_NOT_REACHED");
}

#[tokio::test]
async fn fully_consistent_answer_is_as_new_as_the_database() {
    let app = TestApp::start().await;
    app.activate().await;
    let mut question = app.question().await;
    question.consistency = Some(Consistency { requirement: Some(Requirement::FullyConsistent(FullyConsistent {})) });
    assert_eq!(app.reason(question.clone()).await, "ALLOWED");
    app.running().cut_database().await;
    let refused = app.check_as(ROUTER, question).await.expect_err("nobody can say");
    assert_eq!(refused.code(), tonic::Code::Unavailable);
}

#[tokio::test]
async fn only_routers_of_the_namespace_are_told_anything() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    let foreign = app.check_as(STRANGER, question.clone()).await.expect("a decision");
    assert_eq!(foreign.reason(), DecisionReason::NamespaceForbidden);
    assert_eq!((foreign.state, foreign.evidence_digest.as_str()), (0, ""), "it learns nothing of the version");
    let worker = app.check_as(WORKER, question.clone()).await.expect_err("workers do not ask");
    assert_eq!(worker.code(), tonic::Code::PermissionDenied);
    let nobody = app.check_as("nobody", question).await.expect_err("unknown token");
    assert_eq!(nobody.code(), tonic::Code::Unauthenticated);
}

#[tokio::test]
async fn lenient_namespace_allows_with_the_reason_and_never_against_a_quarantine() {
    let app = TestApp::start().await;
    app.activate().await;
    let observe = json!({"mode": "observe", "until": "2026-03-31T00:00:00Z", "reason": "first weeks"});
    assert_eq!(app.put(ADMIN, "/api/v1/namespaces/acme", &observe).await.0, 200);
    let mut question = app.question().await;
    question.profile = "a2a-jsonrpc-1.0".to_owned();
    let decision = app.check(question).await;
    assert_eq!(decision.reason(), DecisionReason::AllowedWouldDeny);
    assert_eq!(decision.would_deny(), DecisionReason::ProfileNotVerified);
    app.act("quarantine").await;
    assert_eq!(app.reason(app.question().await).await, "QUARANTINED");
}

/// L-10: a trial does not dispatch to what a person stopped, wherever the version stands.
#[tokio::test]
async fn persons_hold_denies_on_trial_also_off_the_road() {
    let app = TestApp::start().await;
    app.admit().await;
    let observe = json!({"mode": "observe", "until": "2026-03-10T00:00:00Z", "reason": "first weeks"});
    assert_eq!(app.put(ADMIN, "/api/v1/namespaces/acme", &observe).await.0, 200);
    assert_eq!(app.reason(app.question().await).await, "ALLOWED_WOULD_DENY", "admitted only, and on trial");
    let hold = json!({"kind": "route_disabled", "reason": "sends mail"});
    assert_eq!(app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/holds"), &hold).await.0, 201);
    let decision = app.check(app.question().await).await;
    assert_eq!(decision.outcome(), Outcome::Deny, "{decision:?}");
}

/// L-08, L-10: to retire what was taken off the road does not put it back for a namespace on trial.
#[tokio::test]
async fn what_was_quarantined_denies_on_trial_after_its_retirement() {
    let app = TestApp::start().await;
    app.activate().await;
    let observe = json!({"mode": "observe", "until": "2026-03-10T00:00:00Z", "reason": "first weeks"});
    assert_eq!(app.put(ADMIN, "/api/v1/namespaces/acme", &observe).await.0, 200);
    app.act("quarantine").await;
    let reason = json!({"reason": "it is not coming back"});
    let deprecate = format!("{AGENT}/versions/{VERSION}/deprecate");
    assert_eq!(app.post(OPERATOR, &deprecate, &reason).await.0, 200);
    let decision = app.check(app.question().await).await;
    assert_eq!(decision.outcome(), Outcome::Deny, "{decision:?}");
}

/// L-04, L-10: who may only publish ends no quarantine, and a new try shakes off no person's hold.
#[tokio::test]
async fn publisher_gets_round_neither_a_quarantine_nor_a_persons_hold() {
    let app = TestApp::start().await;
    app.activate().await;
    app.act("quarantine").await;
    let reason = json!({"reason": "make room"});
    let deprecate = format!("{AGENT}/versions/{VERSION}/deprecate");
    assert_eq!(app.post(PUBLISHER, &deprecate, &reason).await.0, 403);
    assert_eq!(app.status().await["state"], "QUARANTINED");
    let hold = json!({"kind": "route_disabled", "reason": "sends mail"});
    let (status, set) = app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/holds"), &hold).await;
    assert_eq!(status, 201, "{set}");
    assert_eq!(app.post(OPERATOR, &deprecate, &reason).await.0, 200, "an operator may");
    let (status, refused) = app.submit().await;
    assert_eq!((status, &refused["code"]), (409, &json!("NOT_READY")), "{refused}");
    app.act(&format!("holds/{}/lift", set["holds"][0]["id"].as_str().expect("an id"))).await;
    assert_eq!(app.submit().await.0, 202);
}

/// L-08: what would be denied is answered, counted and shown, and the mode ends by itself.
#[tokio::test]
async fn trial_is_counted_and_shown_and_ends_at_its_time() {
    let app = TestApp::start().await;
    app.activate().await;
    let put = |body: serde_json::Value| {
        let app = &app;
        async move { app.put(ADMIN, "/api/v1/namespaces/acme", &body).await.0 }
    };
    assert_eq!(put(json!({"mode": "observe", "until": "2026-03-02T00:00:00Z"})).await, 400, "without a reason");
    assert_eq!(put(json!({"mode": "observe", "reason": "first weeks"})).await, 400, "without an end");
    assert_eq!(put(json!({"mode": "observe", "until": "2026-03-02T00:00:00Z", "reason": "first weeks"})).await, 200);
    let question = || async { CheckAdmissionRequest { profile: "a2a-jsonrpc-1.0".to_owned(), ..app.question().await } };
    let trial = app.check(question().await).await;
    assert_eq!(
        (trial.reason(), trial.would_deny()),
        (DecisionReason::AllowedWouldDeny, DecisionReason::ProfileNotVerified)
    );
    let status = app.status().await;
    assert_eq!((&status["mode"], &status["mode_until"]), (&json!("observe"), &json!("2026-03-02T00:00:00Z")));
    let listed = app.get(AUDITOR, "/api/v1/namespaces").await.1;
    assert_eq!(listed[0]["reason"], "first weeks");
    let page = app.raw(app.request("GET", ADMIN, "/metrics")).await;
    let page = String::from_utf8_lossy(&page.body).into_owned();
    assert!(page.contains("ostiary_would_deny_total{reason=\"PROFILE_NOT_VERIFIED\"} 1"), "{page}");
    app.advance(SignedDuration::from_hours(25)).await;
    let enforced = app.check(question().await).await;
    assert_eq!(
        (enforced.reason(), enforced.would_deny()),
        (DecisionReason::ProfileNotVerified, DecisionReason::Unspecified)
    );
    let status = app.status().await;
    assert_eq!((&status["mode"], &status["mode_until"]), (&json!("enforce"), &serde_json::Value::Null));
}

#[tokio::test]
async fn check_asks_no_database() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    app.running().cut_database().await;
    for _ in 0..3 {
        assert_eq!(app.reason(question.clone()).await, "ALLOWED");
    }
}

#[tokio::test]
async fn health_says_when_the_view_is_stale_and_when_it_is_fresh_again() {
    let app = TestApp::start().await;
    let channel = tonic::transport::Endpoint::from_shared(app.running().grpc_url()).expect("an address");
    let mut client = HealthClient::new(channel.connect().await.expect("listens"));
    let request = HealthCheckRequest { service: "ostiary.admission.v1.AdmissionService".to_owned() };
    let mut news = client.watch(request).await.expect("answers").into_inner();
    let mut next = async |wanted: tonic_health::ServingStatus| {
        let news = async { while news.message().await.expect("goes on").expect("open").status != wanted as i32 {} };
        assert!(tokio::time::timeout(Duration::from_secs(10), news).await.is_ok(), "{wanted} is never said");
    };
    let ready = async || app.raw(app.request("GET", ROUTER, "/readyz")).await.status;
    next(tonic_health::ServingStatus::Serving).await;
    assert_eq!(ready().await, 200);
    app.running().cut_database().await;
    app.clock.advance(SignedDuration::from_secs(15));
    next(tonic_health::ServingStatus::NotServing).await;
    assert_eq!(ready().await, 503);
    // As if the database had been read again.
    app.app().index.extend_lease(app.now() + SignedDuration::from_secs(15));
    next(tonic_health::ServingStatus::Serving).await;
    assert_eq!(ready().await, 200);
}

#[tokio::test]
async fn deadline_of_the_caller_is_honoured() {
    let app = TestApp::with(std::sync::Arc::new(ostiary_domain::NoFailpoints), |config| {
        config.admission.wait_millis = 1_000;
    })
    .await;
    let question = CheckAdmissionRequest { consistency: at_least(1_000_000), ..app.question().await };
    let mut client = AdmissionServiceClient::connect(app.running().grpc_url()).await.expect("listens");
    let mut request = tonic::Request::new(question);
    let field = format!("Bearer {}", token(ROUTER)).parse().expect("ASCII");
    request.metadata_mut().insert("authorization", field);
    request.metadata_mut().insert("grpc-timeout", "20m".parse().expect("20 ms"));
    let answer = tokio::time::timeout(Duration::from_millis(900), client.check_admission(request)).await;
    let refused = answer.expect("before the wait is over").expect_err("no decision in time");
    assert!([tonic::Code::DeadlineExceeded, tonic::Code::Cancelled].contains(&refused.code()), "{refused}");
}

#[tokio::test]
async fn services_describe_themselves_to_tools() {
    use tonic_reflection::pb::v1::{
        ServerReflectionRequest, server_reflection_client::ServerReflectionClient,
        server_reflection_request::MessageRequest, server_reflection_response::MessageResponse,
    };
    let app = TestApp::start().await;
    let channel = tonic::transport::Endpoint::from_shared(app.running().grpc_url()).expect("an address");
    let mut client = ServerReflectionClient::new(channel.connect().await.expect("listens"));
    let list = MessageRequest::ListServices(String::new());
    let request = ServerReflectionRequest { host: String::new(), message_request: Some(list) };
    let mut answers = client.server_reflection_info(tokio_stream::once(request)).await.expect("answers").into_inner();
    let answer = answers.message().await.expect("answers").expect("one").message_response;
    let Some(MessageResponse::ListServicesResponse(list)) = answer else { panic!("{answer:?}") };
    let names: Vec<&str> = list.service.iter().map(|service| service.name.as_str()).collect();
    for name in ["ostiary.admission.v1.AdmissionService", "ostiary.jobs.v1.JobsService", "grpc.health.v1.Health"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
}

#[tokio::test]
async fn decisions_are_counted_by_reason() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    app.check(question.clone()).await;
    app.act("quarantine").await;
    app.check(question).await;
    let page = app.raw(app.request("GET", ROUTER, "/metrics")).await;
    let text = String::from_utf8(page.body.to_vec()).expect("text");
    for line in [
        r#"ostiary_decisions_total{outcome="ALLOW",reason="ALLOWED"} 1"#,
        r#"ostiary_decisions_total{outcome="DENY",reason="QUARANTINED"} 1"#,
    ] {
        assert!(text.contains(line), "{line} in\n{text}");
    }
}
