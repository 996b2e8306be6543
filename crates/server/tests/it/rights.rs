//! Who may do what: every endpoint against every role, deny by default.
//!
//! Covers L-04 (who may), the roles of the HTTP API, and approvals that are never one's own.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::app::{ADMIN, AGENT, AUDITOR, OPERATOR, PUBLISHER, ROUTER, STRANGER, TestApp, VERSION, WORKER};

/// Each endpoint of the API, and who is let past the door. What happens behind it is another matter.
const DOORS: &[(&str, &str, &[&str])] = &[
    ("GET", "/api/v1/namespaces", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("PUT", "/api/v1/namespaces/acme", &[ADMIN]),
    ("GET", "/api/v1/agents", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/agents/acme/planner", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("PUT", "/api/v1/agents/acme/planner", &[PUBLISHER, ADMIN]),
    ("GET", "/api/v1/environments", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/environments/staging", &[OPERATOR, ADMIN]),
    ("PUT", "/api/v1/environments/staging", &[OPERATOR, ADMIN]),
    ("POST", "/api/v1/bundles", &[PUBLISHER, STRANGER, ADMIN]),
    ("GET", "/api/v1/policies/current", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("PUT", "/api/v1/policies/current", &[ADMIN]),
    ("GET", "/api/v1/policies/{digest}", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "{agent}/versions", &[PUBLISHER, ADMIN]),
    ("GET", "{agent}/versions/{version}", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/explain", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/manifest", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/vsa", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/bundle", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/gates", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/gates/static", &[PUBLISHER, ADMIN]),
    ("POST", "{agent}/versions/{version}/gates/canary", &[PUBLISHER, OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/verify", &[PUBLISHER, OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/promote", &[PUBLISHER, OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/withdraw", &[PUBLISHER, ADMIN]),
    ("POST", "{agent}/versions/{version}/quarantine", &[OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/release", &[OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/deprecate", &[PUBLISHER, OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/rollback", &[OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/abort-canary", &[OPERATOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/approvals", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/approvals", &[OPERATOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/waivers", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/waivers", &[PUBLISHER, OPERATOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/waivers/none", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/waivers/none/grant", &[OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/waivers/none/revoke", &[OPERATOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/holds", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/holds", &[OPERATOR, ADMIN]),
    ("POST", "{agent}/versions/{version}/holds/none/lift", &[OPERATOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/drift-reports", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/outcomes", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "{agent}/versions/{version}/evidence", &[PUBLISHER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/evidence/none", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/evidence/none/envelope", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/evidence/none/report", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/evidence/none/run", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/events", &[PUBLISHER, STRANGER, OPERATOR, AUDITOR, ADMIN]),
    ("POST", "/api/v1/webhooks", &[OPERATOR, ADMIN]),
    ("GET", "/api/v1/webhooks", &[OPERATOR, ADMIN]),
    ("DELETE", "/api/v1/webhooks/none", &[OPERATOR, ADMIN]),
    ("GET", "/api/v1/webhooks/none/dead-letters", &[OPERATOR, ADMIN]),
    ("GET", "/api/v1/revisions/1/applied", &[OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/audit", &[OPERATOR, AUDITOR, ADMIN]),
    ("GET", "/api/v1/audit/verify", &[OPERATOR, AUDITOR, ADMIN]),
];

const EVERYBODY: [&str; 7] = [PUBLISHER, STRANGER, OPERATOR, ROUTER, WORKER, AUDITOR, ADMIN];

fn path(app: &TestApp, template: &str) -> String {
    template.replace("{agent}", AGENT).replace("{version}", VERSION).replace("{digest}", &app.bundle.digest.to_string())
}

/// A body that parses nowhere, so that whoever gets past the door is refused behind it and nothing changes.
async fn knock(app: &TestApp, method: &str, caller: &str, template: &str) -> (u16, Value) {
    let request = app.request(method, caller, &path(app, template));
    let request = if method == "GET" { request } else { request.body("application/json", "{\"no such member\": 1}") };
    app.send(request).await
}

#[tokio::test]
async fn every_endpoint_lets_in_whom_the_table_names_and_nobody_else() {
    let app = TestApp::start().await;
    app.admit().await;
    for (method, template, expected) in DOORS {
        let mut entered = BTreeSet::new();
        for caller in EVERYBODY {
            let (status, body) = knock(&app, method, caller, template).await;
            assert_ne!(status, 401, "{method} {template}: the token of {caller} is known");
            assert_ne!(status, 405, "{method} {template} exists");
            if status != 403 {
                entered.insert(caller);
            } else {
                assert_eq!(body["code"], "FORBIDDEN", "{method} {template} {caller}");
            }
        }
        let expected: BTreeSet<&str> = expected.iter().copied().collect();
        assert_eq!(entered, expected, "{method} {template}");
    }
}

#[tokio::test]
async fn table_names_every_endpoint_of_the_api() {
    let document = serde_json::to_value(ostiary_server::http::document()).expect("JSON");
    let mut documented = BTreeSet::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        if path.starts_with("/api/v1") {
            let methods = item
                .as_object()
                .expect("methods")
                .keys()
                .filter(|key| ["get", "put", "post", "delete"].contains(&key.as_str()));
            documented.extend(methods.map(|method| format!("{} {path}", method.to_uppercase())));
        }
    }
    let tabled: BTreeSet<String> =
        DOORS.iter().map(|(method, template, _)| format!("{method} {}", shape(template))).collect();
    assert_eq!(
        documented.difference(&tabled).collect::<Vec<_>>(),
        Vec::<&String>::new(),
        "documented and not in the table"
    );
}

/// The template as the document spells it.
fn shape(template: &str) -> String {
    template
        .replace("{agent}", "/api/v1/agents/{namespace}/{agent}")
        .replace("/agents/acme/planner", "/agents/{namespace}/{agent}")
        .replace("/namespaces/acme", "/namespaces/{namespace}")
        .replace("/environments/staging", "/environments/{environment}")
        .replace("/gates/static", "/gates/{gate}")
        .replace("/gates/canary", "/gates/{gate}")
        .replace("/holds/none/", "/holds/{hold}/")
        .replace("/waivers/none", "/waivers/{waiver}")
        .replace("/evidence/none", "/evidence/{evidence}")
        .replace("/webhooks/none", "/webhooks/{webhook}")
        .replace("/revisions/1/", "/revisions/{revision}/")
}

#[tokio::test]
async fn unknown_token_enters_nowhere_and_learns_nothing() {
    let app = TestApp::start().await;
    for (method, template, _) in DOORS {
        let (status, problem) = knock(&app, method, "nobody", template).await;
        assert_eq!((status, problem["code"].as_str()), (401, Some("UNAUTHENTICATED")), "{method} {template}");
    }
}

#[tokio::test]
async fn nobody_approves_their_own_submission() {
    let app = TestApp::start().await;
    let (status, _) = app.post(ADMIN, &format!("{AGENT}/versions"), &app.submission()).await;
    assert_eq!(status, 202);
    app.drain_jobs().await;
    let manifest = app.status().await["subject"]["manifest"].clone();
    let approval = json!({"edge": "canary", "manifest": manifest, "reason": "mine is fine"});
    let path = format!("{AGENT}/versions/{VERSION}/approvals");
    let (status, problem) = app.post(ADMIN, &path, &approval).await;
    assert_eq!((status, problem["code"].as_str()), (403, Some("OWN_SUBMISSION")), "{problem}");
    assert_eq!(app.post(OPERATOR, &path, &approval).await.0, 201, "somebody else may");
}

#[tokio::test]
async fn approval_of_another_manifest_is_refused() {
    let app = TestApp::start().await;
    app.admit().await;
    let manifest = ostiary_canon::Digest::of(b"another").to_string();
    let approval = json!({"edge": "canary", "manifest": manifest, "reason": "looks good"});
    let (status, problem) = app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/approvals"), &approval).await;
    assert_eq!((status, problem["code"].as_str()), (409, Some("NOT_READY")), "{problem}");
}

#[tokio::test]
async fn act_without_a_reason_is_refused() {
    let app = TestApp::start().await;
    app.admit().await;
    let (status, problem) =
        app.post(OPERATOR, &format!("{AGENT}/versions/{VERSION}/quarantine"), &json!({"reason": "  "})).await;
    assert_eq!((status, problem["code"].as_str()), (400, Some("INVALID_REQUEST")), "{problem}");
}

#[tokio::test]
async fn foreign_evidence_looks_like_evidence_that_does_not_exist() {
    let app = TestApp::start().await;
    app.admit().await;
    let (_, evidence) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/evidence")).await;
    let id = evidence[0]["id"].as_str().expect("an id");
    let foreign = app.get(STRANGER, &format!("/api/v1/evidence/{id}")).await;
    let absent = app.get(STRANGER, "/api/v1/evidence/evidence-none").await;
    assert_eq!((foreign.0, absent.0), (404, 404));
    assert_eq!(foreign.1["code"], absent.1["code"]);
}

#[tokio::test]
async fn list_of_agents_shows_only_those_in_reach() {
    let app = TestApp::start().await;
    app.admit().await;
    let mine = app.get(PUBLISHER, "/api/v1/agents").await.1;
    let theirs = app.get(STRANGER, "/api/v1/agents").await.1;
    assert_eq!(mine["agents"][0]["agent"], "acme/planner");
    assert_eq!(theirs["agents"], json!([]));
}
