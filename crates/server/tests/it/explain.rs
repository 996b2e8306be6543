//! `explain` says in words why a version is not admitted, what to do, and what to type: one test a kind of cause.

use jiff::SignedDuration;
use ostiary_record::Layer;
use ostiary_worker::jobs::Disposition;
use serde_json::{Value, json};

use crate::{
    app::{ADMIN, AGENT, AUDITOR, OPERATOR, TestApp, VERSION, policy},
    candidate::Says,
};

/// What `explain` says.
async fn explained(app: &TestApp) -> Value {
    let (status, explained) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/explain")).await;
    assert_eq!(status, 200, "{explained}");
    explained
}

/// The cause with this code.
fn cause<'e>(explained: &'e Value, code: &str) -> &'e Value {
    let causes = explained["causes"].as_array().expect("a list");
    causes.iter().find(|cause| cause["code"] == code).unwrap_or_else(|| panic!("no {code}: {explained:#}"))
}

/// Asserts that a cause stands there with a remedy, and that its command is among those to type.
fn told(explained: &Value, code: &str, kind: &str, command: &str) {
    let cause = cause(explained, code);
    assert_eq!(cause["kind"], kind, "{cause:#}");
    assert!(cause["what"].as_str().is_some_and(|what| what.len() > 10), "{cause:#}");
    assert!(cause["remedy"].as_str().is_some_and(|remedy| remedy.len() > 5), "{cause:#}");
    let commands = explained["commands"].as_array().expect("a list");
    let typed = |c: &Value| c.as_str().is_some_and(|text| text.starts_with("ostiary ") && text.contains(command));
    assert!(commands.iter().any(typed), "`{command}` is not among {commands:#?}");
}

#[tokio::test]
async fn a_broken_promise_is_named_with_the_remedy_of_its_code() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Schema, Says::Fail);
    app.submit().await;
    app.drain_jobs().await;
    let explained = explained(&app).await;
    told(&explained, "CONTENT_MODE_MISMATCH", "finding", "version submit --namespace");
    let remedy = ostiary_record::ReasonCode::ContentModeMismatch.row().remedy;
    assert_eq!(cause(&explained, "CONTENT_MODE_MISMATCH")["remedy"], remedy);
    let summary = explained["summary"].as_str().expect("a sentence");
    assert!(summary.contains("REJECTED") && summary.contains("this try is over"), "{summary}");
}

#[tokio::test]
async fn a_check_that_could_not_tell_says_what_is_missing_and_how_to_ask_again() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Authorization, Says::Silent);
    app.submit().await;
    app.drain_jobs().await;
    let explained = explained(&app).await;
    let causes = explained["causes"].as_array().expect("a list");
    let silent = causes.iter().find(|c| c["what"].as_str().is_some_and(|what| what.contains("could not tell")));
    let silent = silent.unwrap_or_else(|| panic!("nothing could not tell: {explained:#}"));
    assert_eq!((&silent["kind"], &silent["gate"]), (&json!("finding"), &json!("security")));
    assert!(silent["command"].as_str().is_some_and(|c| c.contains("version verify") && c.contains("--gate security")));
    assert!(explained["summary"].as_str().expect("a sentence").contains("not admitted yet"));
    // running it again helps nobody whose interface cannot be driven
    let remedy = cause(&explained, "LAYER_WITHOUT_PASS")["remedy"].as_str().expect("a remedy");
    assert!(remedy.contains("`activate` in coverage.yaml"), "{remedy}");
}

#[tokio::test]
async fn a_missing_approval_names_the_edge_and_who_may_give_it() {
    let app = TestApp::start().await;
    let mut policy = policy();
    policy["approvals"]["admission"] = json!(1);
    assert_eq!(app.put(ADMIN, "/api/v1/policies/current", &policy).await.0, 200);
    app.submit().await;
    app.drain_jobs().await;
    let explained = explained(&app).await;
    told(&explained, "APPROVAL_MISSING", "approval", "approve --agent");
    let approval = cause(&explained, "APPROVAL_MISSING");
    assert!(approval["what"].as_str().is_some_and(|what| what.contains("0 of 1")), "{approval:#}");
    assert!(approval["remedy"].as_str().is_some_and(|remedy| remedy.contains("did not submit")), "{approval:#}");
}

/// Consents to a step, as somebody who did not submit the version.
async fn consent(app: &TestApp, edge: &str) {
    let manifest = app.status().await["subject"]["manifest"].clone();
    let approval = json!({"edge": edge, "manifest": manifest, "reason": "looked at it"});
    let (status, answer) = app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/approvals"), &approval).await;
    assert_eq!(status, 201, "{answer}");
}

/// Whoever has approved is not told to approve: the gate is to be asked again.
#[tokio::test]
async fn an_approval_given_since_is_counted_and_the_gate_is_asked_again() {
    let app = TestApp::start().await;
    let mut policy = policy();
    policy["approvals"]["admission"] = json!(1);
    assert_eq!(app.put(ADMIN, "/api/v1/policies/current", &policy).await.0, 200);
    app.submit().await;
    app.drain_jobs().await;
    consent(&app, "admission").await;
    let explained = explained(&app).await;
    told(&explained, "APPROVAL_MISSING", "approval", "--gate admission");
    assert!(cause(&explained, "APPROVAL_MISSING")["what"].as_str().is_some_and(|what| what.contains("1 of 1")));
    let commands = explained["commands"].to_string();
    assert!(!commands.contains("ostiary approve"), "{commands}");
}

#[tokio::test]
async fn evidence_that_ran_out_is_named_with_its_gate() {
    let app = TestApp::start().await;
    app.activate().await;
    assert_eq!(explained(&app).await["causes"], json!([]), "nothing stands in the way of an active version");
    app.advance(SignedDuration::from_hours(8 * 24)).await;
    let explained = explained(&app).await;
    told(&explained, "EVIDENCE_EXPIRED", "expired", "version verify --agent");
    let summary = explained["summary"].as_str().expect("a sentence");
    assert!(summary.contains("run out"), "{summary}");
}

#[tokio::test]
async fn a_hold_names_its_author_and_how_it_is_lifted() {
    let app = TestApp::start().await;
    app.activate().await;
    let set = json!({"kind": "route_disabled", "scope": {"scope": "everything"}, "reason": "a report came in"});
    let path = format!("{AGENT}/versions/{VERSION}/holds");
    assert_eq!(app.post(OPERATOR, &path, &set).await.0, 201);
    let explained = explained(&app).await;
    told(&explained, "ROUTE_DISABLED", "hold", "version hold lift --agent");
    assert!(cause(&explained, "ROUTE_DISABLED")["what"].as_str().is_some_and(|what| what.contains("a report came in")));
}

/// Two holds that read alike are two, and each names for whom it holds and how it is lifted.
#[tokio::test]
async fn holds_that_read_alike_are_told_apart() {
    let app = TestApp::start().await;
    app.activate().await;
    let path = format!("{AGENT}/versions/{VERSION}/holds");
    for consumer in ["billing", "billing", "search"] {
        let scope = json!({"scope": "consumer", "of": consumer});
        let set = json!({"kind": "route_disabled", "scope": scope, "reason": "a report came in"});
        assert_eq!(app.post(OPERATOR, &path, &set).await.0, 201);
    }
    let explained = explained(&app).await;
    let causes = explained["causes"].as_array().expect("a list");
    let held: Vec<&str> = causes.iter().filter_map(|c| c["what"].as_str()).collect();
    assert_eq!(held.iter().filter(|what| what.contains("for consumer billing")).count(), 2, "{explained:#}");
    assert_eq!(held.iter().filter(|what| what.contains("for consumer search")).count(), 1, "{explained:#}");
    let commands = explained["commands"].as_array().expect("a list");
    assert_eq!(commands.iter().filter(|c| c.to_string().contains("hold lift")).count(), 3, "{commands:#?}");
}

#[tokio::test]
async fn a_run_that_was_given_up_says_why() {
    let app = TestApp::start().await;
    app.candidate.cannot_run(Some(Disposition::Fail));
    app.submit().await;
    app.drain_jobs().await;
    let explained = explained(&app).await;
    told(&explained, "RUN_FAILED", "run", "version verify --agent");
}

#[tokio::test]
async fn a_version_off_the_road_is_told_the_way_back() {
    let app = TestApp::start().await;
    app.activate().await;
    app.act("quarantine").await;
    let explained = explained(&app).await;
    told(&explained, "QUARANTINED", "order", "approve --agent");
    assert!(explained["summary"].as_str().expect("a sentence").contains("off the road"));
    consent(&app, "release").await;
    told(&self::explained(&app).await, "QUARANTINED", "order", "version release --agent");
}

#[tokio::test]
async fn a_card_that_changed_is_told_as_a_change() {
    let app = TestApp::start().await;
    app.card.serve(br#"{"name": "somebody else"}"#.as_slice());
    app.submit().await;
    app.drain_jobs().await;
    told(&explained(&app).await, "CARD_DIGEST_MISMATCH", "changed", "version submit");
}

#[tokio::test]
async fn when_nothing_stands_in_the_way_the_next_step_is_told() {
    let app = TestApp::start().await;
    app.admit().await;
    let explained = explained(&app).await;
    assert_eq!(explained["causes"], json!([]), "{explained:#}");
    let commands = explained["commands"].to_string();
    assert!(commands.contains("version promote") && commands.contains("--to canary"), "{commands}");
}
