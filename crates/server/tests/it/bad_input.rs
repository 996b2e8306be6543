//! What callers may send, and what comes of it: coded problems, and nothing half stored.
//!
//! Covers B-04, B-07 and P-01 at the door of the API.

use ostiary_contract::Bundle;
use serde_json::{Value, json};

use crate::app::{ADMIN, AGENT, AUDITOR, OPERATOR, PUBLISHER, TestApp, VERSION};

fn is_problem(answer: &(u16, Value), status: u16, code: &str) {
    assert_eq!((answer.0, answer.1["code"].as_str()), (status, Some(code)), "{:#}", answer.1);
    for member in ["type", "title", "status", "detail", "retryable"] {
        assert!(!answer.1[member].is_null(), "`{member}` is missing: {:#}", answer.1);
    }
}

#[tokio::test]
async fn bundle_with_several_problems_is_refused_with_all_of_them() {
    let app = TestApp::start().await;
    let mut files = app.bundle.files.clone();
    files.insert("skills.yaml".to_owned(), "skills: [".into());
    files.insert("errors.yaml".to_owned(), "errors: [".into());
    let broken = pack(&files);
    let answer = app.upload(PUBLISHER, broken).await;
    is_problem(&answer, 422, "INVALID_BUNDLE");
    let files: Vec<&str> =
        answer.1["problems"].as_array().expect("a list").iter().filter_map(|p| p["file"].as_str()).collect();
    assert!(files.contains(&"skills.yaml") && files.contains(&"errors.yaml"), "{files:?}");
}

#[tokio::test]
async fn archives_that_are_none_are_refused() {
    let app = TestApp::start().await;
    let whole = app.bundle.to_tar();
    for (case, archive) in
        [("empty", Vec::new()), ("garbage", vec![0x42; 4096]), ("truncated", whole[..whole.len() / 2].to_vec())]
    {
        let answer = app.upload(PUBLISHER, archive).await;
        assert_eq!(answer.1["code"], "INVALID_BUNDLE", "{case}: {:#}", answer.1);
    }
}

#[tokio::test]
async fn body_beyond_the_bound_is_refused() {
    let app = TestApp::with(std::sync::Arc::new(ostiary_domain::NoFailpoints), |config| {
        config.http.body_bytes = 4 << 10;
    })
    .await;
    let long = json!({"reason": "x".repeat(8 << 10)});
    let answer = app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/quarantine"), &long).await;
    is_problem(&answer, 413, "TOO_LARGE");
}

#[tokio::test]
async fn json_that_two_readers_could_read_differently_is_refused() {
    let app = TestApp::start().await;
    app.admit().await;
    let path = format!("{AGENT}/versions/{VERSION}/quarantine");
    let bodies = [
        r#"{"reason": "a", "reason": "b"}"#,
        r#"{"reason": "a"} trailing"#,
        r#"{"reason": "a", "because": "b"}"#,
        "not json",
        "",
    ];
    for body in bodies {
        let answer = app.send(app.request("POST", OPERATOR, &path).body("application/json", body)).await;
        is_problem(&answer, 400, "INVALID_REQUEST");
    }
    let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
    is_problem(
        &app.send(app.request("POST", OPERATOR, &path).body("application/json", deep)).await,
        400,
        "INVALID_REQUEST",
    );
    is_problem(&app.send(app.request("POST", OPERATOR, &path).body("text/plain", "{}")).await, 400, "INVALID_REQUEST");
    assert_eq!(app.state().await, "REGISTRY_ADMITTED", "nothing of it took effect");
}

#[tokio::test]
async fn unknown_paths_methods_and_names_are_problems_too() {
    let app = TestApp::start().await;
    is_problem(&app.get(AUDITOR, "/api/v1/nothing").await, 404, "NOT_FOUND");
    is_problem(&app.send(app.request("DELETE", ADMIN, "/api/v1/agents")).await, 405, "METHOD_NOT_ALLOWED");
    is_problem(&app.get(AUDITOR, "/api/v1/agents/acme/nobody/versions/1.0.0").await, 404, "NOT_FOUND");
    is_problem(&app.get(AUDITOR, "/api/v1/agents/acme/planner/versions/latest").await, 400, "INVALID_REQUEST");
    is_problem(&app.get(AUDITOR, "/api/v1/agents?limit=0").await, 400, "INVALID_REQUEST");
    is_problem(&app.get(AUDITOR, "/api/v1/agents?page=2").await, 400, "INVALID_REQUEST");
}

#[tokio::test]
async fn submission_names_what_is_not_there() {
    let app = TestApp::start().await;
    let mut unknown_bundle = app.submission();
    unknown_bundle["bundle"] = json!(ostiary_canon::Digest::of(b"nothing").to_string());
    is_problem(&app.post(PUBLISHER, &format!("{AGENT}/versions"), &unknown_bundle).await, 409, "NOT_READY");
    let mut unknown_environment = app.submission();
    unknown_environment["environment"] = json!("production");
    is_problem(&app.post(PUBLISHER, &format!("{AGENT}/versions"), &unknown_environment).await, 409, "NOT_READY");
    let mut unpinned = app.submission();
    unpinned["version"] = json!("latest");
    is_problem(&app.post(PUBLISHER, &format!("{AGENT}/versions"), &unpinned).await, 400, "INVALID_REQUEST");
    assert_eq!(app.get(AUDITOR, &format!("{AGENT}/versions")).await.1, json!([]), "nothing half stored");
}

#[tokio::test]
async fn bundle_of_another_agent_is_refused() {
    let app = TestApp::start().await;
    let other = "/api/v1/agents/acme/somebody-else";
    assert_eq!(app.put(PUBLISHER, other, &json!({"owner": "x"})).await.0, 200);
    is_problem(&app.post(PUBLISHER, &format!("{other}/versions"), &app.submission()).await, 422, "AGENT_MISMATCH");
    assert_eq!(app.get(AUDITOR, &format!("{other}/versions")).await.1, json!([]), "nothing half stored");
    assert_eq!(app.submit().await.0, 202, "its own agent may have it");
}

#[tokio::test]
async fn names_of_dots_alone_are_refused() {
    let app = TestApp::start().await;
    for name in [".", ".."] {
        let answer = app.put(PUBLISHER, &format!("/api/v1/agents/acme/{}", name.replace('.', "%2E")), &json!({})).await;
        assert!(matches!(answer.0, 400 | 404), "{name}: {answer:?}");
    }
}

#[tokio::test]
async fn only_what_is_quarantined_is_released() {
    let app = TestApp::start().await;
    app.admit().await;
    let path = format!("{AGENT}/versions/{VERSION}/release");
    let why = json!({"reason": "a test wants it"});
    is_problem(&app.post(OPERATOR, &path, &why).await, 409, "ILLEGAL_TRANSITION");
    app.act("quarantine").await;
    assert_eq!(app.post(OPERATOR, &path, &why).await.0, 202);
}

#[tokio::test]
async fn same_idempotency_key_gives_the_same_answer_and_never_another_act() {
    let app = TestApp::start().await;
    let submit = |body: &Value| {
        let request =
            app.request("POST", PUBLISHER, &format!("{AGENT}/versions")).header("Idempotency-Key", "ci-run-7");
        request.body("application/json", body.to_string())
    };
    let first = app.send(submit(&app.submission())).await;
    let second = app.send(submit(&app.submission())).await;
    assert_eq!((first.0, second.0), (202, 202), "{:#}", second.1);
    assert_eq!(first.1["job"], second.1["job"]);
    assert_eq!((&first.1["repeated"], &second.1["repeated"]), (&json!(false), &json!(true)));
    let mut other = app.submission();
    other["version"] = json!("3.4.2");
    is_problem(&app.send(submit(&other)).await, 422, "IDEMPOTENCY_MISMATCH");
}

#[tokio::test]
async fn environment_with_problems_is_refused_with_all_of_them() {
    let app = TestApp::start().await;
    let document = "environment:\n  name: staging\n  strictnes: production\n  a2a: { card_url: 7 }\n";
    let answer =
        app.send(app.request("PUT", OPERATOR, "/api/v1/environments/staging").body("application/yaml", document)).await;
    is_problem(&answer, 400, "INVALID_REQUEST");
    assert!(answer.1["problems"].as_array().expect("a list").len() >= 2, "{:#}", answer.1);
}

fn pack(files: &ostiary_contract::Files) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        builder.append_data(&mut header, path, bytes.as_ref()).expect("memory");
    }
    let archive = builder.into_inner().expect("memory");
    assert!(Bundle::unpack(&archive).is_ok(), "the archive itself is honest");
    archive
}
