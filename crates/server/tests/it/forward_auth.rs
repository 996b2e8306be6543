//! What gateways are told over HTTP.
//!
//! Covers L-03 and L-04 at a gateway.

use serde_json::Value;

use crate::app::{FAR_ROUTER, PROFILE, ROUTER, TestApp, VERSION, WORKER};

async fn forward(app: &TestApp, caller: &str, query: &str) -> (u16, String, Value) {
    let answer = app.raw(app.request("GET", caller, &format!("/forward-auth?{query}"))).await;
    let reason = answer.header("x-ostiary-reason").unwrap_or_default().to_owned();
    (answer.status, reason, serde_json::from_slice(&answer.body).unwrap_or_default())
}

async fn whole(app: &TestApp) -> String {
    let digest = app.question().await.card_digest;
    format!("agent=acme/planner&version={VERSION}&card-digest={digest}&profile={PROFILE}")
}

#[tokio::test]
async fn a_gateway_is_told_allow_and_after_a_quarantine_deny() {
    let app = TestApp::start().await;
    app.activate().await;
    let query = whole(&app).await;
    let (status, reason, _) = forward(&app, ROUTER, &query).await;
    assert_eq!((status, reason.as_str()), (200, "ALLOWED"));
    let done = app.act("quarantine").await;
    let revision = done["revision"].as_u64().expect("a revision");
    let (status, reason, problem) = forward(&app, ROUTER, &format!("{query}&at-least-revision={revision}")).await;
    assert_eq!((status, reason.as_str()), (403, "QUARANTINED"));
    assert_eq!(problem["code"], "QUARANTINED");
}

#[tokio::test]
async fn missing_digest_or_profile_is_denied() {
    let app = TestApp::start().await;
    app.activate().await;
    for (part, reason) in [("card-digest", "OBSERVED_DIGEST_MISSING"), ("profile", "PROFILE_MISSING")] {
        let query = whole(&app).await;
        let left: Vec<&str> = query.split('&').filter(|pair| !pair.starts_with(part)).collect();
        let (status, said, _) = forward(&app, ROUTER, &left.join("&")).await;
        assert_eq!((status, said.as_str()), (403, reason));
    }
}

#[tokio::test]
async fn only_routers_may_ask() {
    let app = TestApp::start().await;
    let query = whole(&app).await;
    let (status, _, problem) = forward(&app, "nobody", &query).await;
    assert_eq!((status, &problem["code"]), (401, &"UNAUTHENTICATED".into()));
    let (status, reason, problem) = forward(&app, WORKER, &query).await;
    assert_eq!((status, reason.as_str(), &problem["code"]), (403, "", &"FORBIDDEN".into()));
    let (status, reason, _) = forward(&app, FAR_ROUTER, &query).await;
    assert_eq!((status, reason.as_str()), (403, "NAMESPACE_FORBIDDEN"));
}
