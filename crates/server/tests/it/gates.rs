//! From DRAFT to ACTIVE on evidence, and off the road without it.
//!
//! Covers L-01, L-02, L-10, L-11, P-04, V-09.

use jiff::SignedDuration;
use ostiary_record::Layer;
use serde_json::json;

use crate::{
    app::{AGENT, AUDITOR, OPERATOR, PUBLISHER, TestApp, VERSION, outcomes},
    candidate::Says,
};

#[tokio::test]
async fn honest_version_is_admitted_and_promoted_step_by_step() {
    let app = TestApp::start().await;
    app.activate().await;
    let passed = outcomes(&app).await;
    assert_eq!(passed.len(), 6, "one result a gate: {passed:?}");
    assert!(passed.values().all(|outcome| outcome == "PASS"), "{passed:?}");
    assert_eq!(app.status().await["route"], "active");
}

#[tokio::test]
async fn failed_gate_before_admission_rejects_with_every_reason() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Schema, Says::Fail);
    app.candidate.set(Layer::Protocol, Says::Fail);
    assert_eq!(app.submit().await.0, 202);
    app.drain_jobs().await;
    let status = app.status().await;
    assert_eq!(status["state"], "REJECTED");
    let why = status["why"].to_string();
    assert!(why.contains("CONTENT_MODE_MISMATCH") && why.contains("TERMINAL_STATE_REOPENED"), "{why}");
    let (_, explained) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/explain")).await;
    assert_eq!(explained["gates"][1]["outcome"], "FAIL", "{explained:#}");
}

#[tokio::test]
async fn gate_that_could_not_tell_stays_shut_and_can_be_asked_again() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Authorization, Says::Silent);
    app.submit().await;
    app.drain_jobs().await;
    assert_eq!(app.state().await, "CONFORMANCE_VERIFIED");
    assert_eq!(outcomes(&app).await["security"], "INCONCLUSIVE");
    app.candidate.set(Layer::Authorization, Says::Pass);
    let path = format!("{AGENT}/versions/{VERSION}/gates/security");
    assert_eq!(app.post(PUBLISHER, &path, &json!({"reason": "it answers now"})).await.0, 202);
    app.drain_jobs().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED");
}

#[tokio::test]
async fn admission_looks_at_the_card_itself() {
    let app = TestApp::start().await;
    app.card.serve(br#"{"name": "somebody else"}"#.as_slice());
    app.submit().await;
    app.drain_jobs().await;
    let status = app.status().await;
    assert_eq!(status["state"], "REJECTED", "{status:#}");
    assert!(status["why"].to_string().contains("CARD_DIGEST_MISMATCH"), "{status:#}");
}

#[tokio::test]
async fn card_that_cannot_be_fetched_leaves_the_admission_gate_shut_and_rejects_nobody() {
    let app = TestApp::start().await;
    app.card.serve("<html>not a card</html>");
    app.submit().await;
    app.drain_jobs().await;
    assert_eq!(app.state().await, "SECURITY_VERIFIED");
    assert_eq!(outcomes(&app).await["admission"], "INCONCLUSIVE");
}

#[tokio::test]
async fn promotion_is_refused_without_a_pass_of_that_gate() {
    let app = TestApp::start().await;
    app.admit().await;
    app.candidate.set(Layer::Protocol, Says::Silent);
    app.act("promote").await;
    app.drain_jobs().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED", "nothing is promoted by asking");
    assert_eq!(outcomes(&app).await["canary"], "INCONCLUSIVE");
}

#[tokio::test]
async fn version_before_admission_cannot_be_promoted() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Declaration, Says::Silent);
    app.submit().await;
    app.drain_jobs().await;
    let path = format!("{AGENT}/versions/{VERSION}/promote");
    let (status, problem) = app.post(OPERATOR, &path, &json!({"reason": "hurry"})).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("ILLEGAL_TRANSITION")));
}

#[tokio::test]
async fn canary_that_starts_to_lie_is_stopped_and_then_quarantined() {
    let app = TestApp::start().await;
    app.admit().await;
    app.act("promote").await;
    app.drain_jobs().await;
    app.candidate.set(Layer::Protocol, Says::Fail);
    app.verify().await;
    let status = app.status().await;
    assert_eq!(status["state"], "CANARY");
    assert_eq!(status["holds"][0]["kind"], "canary_stopped", "{status:#}");
    app.verify().await;
    let status = app.status().await;
    assert_eq!(status["state"], "QUARANTINED", "{status:#}");
    assert!(status["why"].to_string().contains("TERMINAL_STATE_REOPENED"), "{status:#}");
    assert_eq!(status["route"], serde_json::Value::Null);
}

#[tokio::test]
async fn pass_after_a_failure_lifts_no_hold_but_a_person_does() {
    let app = TestApp::start().await;
    app.activate().await;
    app.candidate.set(Layer::Authorization, Says::Fail);
    let security = json!({"reason": "a report came in", "gate": "security"});
    let verify = format!("{AGENT}/versions/{VERSION}/verify");
    app.post(OPERATOR, &verify, &security).await;
    app.drain_jobs().await;
    assert_eq!(app.status().await["holds"][0]["kind"], "route_disabled");
    app.candidate.set(Layer::Authorization, Says::Pass);
    app.post(OPERATOR, &verify, &security).await;
    app.drain_jobs().await;
    let status = app.status().await;
    assert_eq!(status["state"], "ACTIVE");
    let hold = status["holds"][0]["id"].as_str().expect("the hold stands").to_owned();
    app.act(&format!("holds/{hold}/lift")).await;
    assert_eq!(app.status().await["holds"], json!([]));
}

#[tokio::test]
async fn release_from_quarantine_needs_an_approval_and_younger_runs() {
    let app = TestApp::start().await;
    app.activate().await;
    app.act("quarantine").await;
    assert_eq!(app.state().await, "QUARANTINED");
    app.act("release").await;
    app.drain_jobs().await;
    assert_eq!(app.state().await, "QUARANTINED", "nobody approved it");
    let manifest = app.status().await["subject"]["manifest"].clone();
    let approval = json!({"edge": "release", "manifest": manifest, "reason": "cause found and fixed"});
    let path = format!("{AGENT}/versions/{VERSION}/approvals");
    let (status, answer) = app.post(OPERATOR, &path, &approval).await;
    assert_eq!(status, 201, "{answer}");
    app.act("release").await;
    app.drain_jobs().await;
    assert_eq!(
        app.state().await,
        "CANARY",
        "{:#}",
        app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/explain")).await.1
    );
}

#[tokio::test]
async fn rollback_is_one_step_and_puts_the_previous_version_back() {
    let app = TestApp::start().await;
    app.activate().await;
    let mut second = app.submission();
    second["version"] = json!("3.4.2");
    assert_eq!(app.post(PUBLISHER, &format!("{AGENT}/versions"), &second).await.0, 202);
    app.drain_jobs().await;
    for _ in 0..2 {
        app.act_on("3.4.2", "promote").await;
        app.drain_jobs().await;
    }
    assert_eq!(app.status_of("3.4.2").await["state"], "ACTIVE");
    assert_eq!(app.status().await["route"], "previous");
    app.act_on("3.4.2", "rollback").await;
    assert_eq!(app.state().await, "ACTIVE");
    assert_eq!(app.status_of("3.4.2").await["state"], "REGISTRY_ADMITTED");
}

#[tokio::test]
async fn rejected_label_can_be_submitted_again_as_another_try() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Schema, Says::Fail);
    app.submit().await;
    app.drain_jobs().await;
    app.candidate.set(Layer::Schema, Says::Pass);
    let (status, submitted) = app.submit().await;
    assert_eq!((status, submitted["attempt"].as_u64()), (202, Some(2)));
    app.drain_jobs().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED");
}

#[tokio::test]
async fn open_label_cannot_be_submitted_twice() {
    let app = TestApp::start().await;
    app.admit().await;
    let (status, problem) = app.submit().await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("ALREADY_EXISTS")), "{problem}");
}

#[tokio::test]
async fn state_survives_a_restart_and_gates_go_on() {
    let mut app = TestApp::start().await;
    app.admit().await;
    app.restart().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED");
    app.act("promote").await;
    app.drain_jobs().await;
    assert_eq!(app.state().await, "CANARY");
    let (_, verified) = app.get(AUDITOR, "/api/v1/audit/verify").await;
    assert_eq!(verified["intact"], true, "{verified}");
}

#[tokio::test]
async fn old_evidence_founds_no_admission() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Authorization, Says::Silent);
    app.submit().await;
    app.drain_jobs().await;
    app.advance(SignedDuration::from_hours(8 * 24)).await;
    app.candidate.set(Layer::Authorization, Says::Pass);
    let path = format!("{AGENT}/versions/{VERSION}/gates/security");
    app.post(PUBLISHER, &path, &json!({"reason": "a week later"})).await;
    app.drain_jobs().await;
    assert_eq!(app.state().await, "SECURITY_VERIFIED");
    let (_, explained) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/explain")).await;
    let reasons = explained["gates"][3]["reasons"].to_string();
    assert!(reasons.contains("EVIDENCE_EXPIRED"), "{explained:#}");
}
