//! What only the control plane knows of a declaration: the card of the ACTIVE version, and the operator's keys for
//! signed cards (P-02, C-07). Both reach the judge of the static gate, and what they find keeps it shut.

use std::{path::PathBuf, sync::Arc};

use ostiary_contract::Bundle;
use ostiary_domain::NoFailpoints;
use serde_json::{Value, json};

use crate::app::{AGENT, AUDITOR, OPERATOR, PUBLISHER, TestApp};

const NEXT: &str = "3.4.2";

/// A next version whose card is changed so.
async fn submit(app: &TestApp, change: impl FnOnce(&mut Value)) -> Value {
    let mut files = app.bundle.files.clone();
    let mut card: Value = serde_json::from_slice(&files["agent-card.json"]).expect("a card");
    change(&mut card);
    files.insert("agent-card.json".to_owned(), card.to_string().into());
    let bundle = Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}"));
    let answer = app.upload(PUBLISHER, bundle.to_tar()).await;
    assert_eq!(answer.0, 201, "{}", answer.1);
    let submission = json!({"bundle": bundle.digest.to_string(), "environment": "staging", "version": NEXT});
    let answer = app.post(PUBLISHER, &format!("{AGENT}/versions"), &submission).await;
    assert_eq!(answer.0, 202, "{}", answer.1);
    app.drain_jobs().await;
    app.status_of(NEXT).await
}

fn why(status: &Value) -> String {
    status["why"].to_string()
}

#[tokio::test]
async fn card_is_compared_with_that_of_the_active_version() {
    let app = TestApp::start().await;
    app.activate().await;
    let silent = submit(&app, |card| card["description"] = json!("Does something else.")).await;
    assert_eq!(silent["state"], "REJECTED", "{silent:#}");
    assert!(why(&silent).contains("CARD_VERSION_NOT_RAISED"), "{silent:#}");
    let open = submit(&app, |card| {
        let card = card.as_object_mut().expect("an object");
        card.remove("securitySchemes");
        card.remove("securityRequirements");
    });
    let open = open.await;
    assert!(open["state"] == "REJECTED" && why(&open).contains("AUTHENTICATION_REMOVED"), "{open:#}");
    // with a version of its own the change is meant, and what is only worth a look stops nothing
    let raised = submit(&app, |card| {
        card["description"] = json!("Does something else.");
        card["version"] = json!(NEXT);
    });
    let raised = raised.await;
    assert!(!why(&raised).contains("CARD_VERSION_NOT_RAISED"), "{raised:#}");
    let evidence = app.get(AUDITOR, &format!("{AGENT}/versions/{NEXT}/evidence")).await.1;
    assert_eq!(evidence[0]["outcome"], "PASS", "{evidence:#}");
}

#[tokio::test]
async fn signed_card_is_judged_with_the_operators_keys() {
    let app = TestApp::with(Arc::new(NoFailpoints), |config| {
        let keys = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../protocol/tests/signed");
        config.worker.environment_files = Some(keys);
    });
    let app = app.await;
    let environment = format!("{}  card_keys: keys.jwks.json\n", app.card.environment());
    let put = app.request("PUT", OPERATOR, "/api/v1/environments/staging").body("application/yaml", environment);
    let answer = app.send(put).await;
    assert_eq!(answer.0, 200, "{}", answer.1);
    let of_another: Value = {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/tests/signed/honest/javascript-full-ed.json");
        serde_json::from_slice(&std::fs::read(path).expect("a signed card")).expect("JSON")
    };
    let forged = submit(&app, |card| card["signatures"] = of_another["signatures"].clone()).await;
    assert_eq!(forged["state"], "REJECTED", "{forged:#}");
    assert!(why(&forged).contains("CARD_SIGNATURE_INVALID"), "{forged:#}");
}
