//! The verification summary says no more than the registry's own word, and only while that holds.

use jiff::SignedDuration;
use ostiary_canon::{
    dsse::{Envelope, Jwks, Keyring},
    intoto::Statement,
    vsa::{Vsa, VsaResult},
};
use ostiary_record::Layer;
use serde_json::json;

use crate::{
    app::{AGENT, AUDITOR, OPERATOR, ROUTER, TestApp, VERSION},
    candidate::Says,
};

/// The status, and the summary where there is one.
async fn summary(app: &TestApp) -> (u16, Option<Statement<Vsa>>) {
    let keys = app.raw(app.request("GET", ROUTER, "/.well-known/ostiary-keys.json")).await;
    let keys: Jwks = serde_json::from_slice(&keys.body).expect("a key set");
    let keys = Keyring::trusting(keys.verifying_keys().expect("good keys"));
    let answer = app.raw(app.request("GET", AUDITOR, &format!("{AGENT}/versions/{VERSION}/vsa"))).await;
    if answer.status != 200 {
        return (answer.status, None);
    }
    let verified = keys.verify(&Envelope::parse(&answer.body).expect("an envelope")).expect("signed by the server");
    (200, Some(Statement::from_verified(&verified).expect("a summary")))
}

#[tokio::test]
async fn an_admission_is_summed_up_until_it_ends_or_the_version_is_off_the_road() {
    let app = TestApp::start().await;
    assert_eq!(summary(&app).await.0, 404, "nothing was submitted yet");
    app.admit().await;
    let (_, found) = summary(&app).await;
    let vsa = found.expect("a summary").predicate;
    assert_eq!(vsa.verification_result, VsaResult::Passed);
    let gates = ["OSTIARY_GATE_STATIC", "OSTIARY_GATE_CONFORMANCE", "OSTIARY_GATE_SECURITY"];
    assert!(gates.iter().all(|gate| vsa.verified_levels.iter().any(|level| level == gate)), "{vsa:?}");
    assert!(vsa.verified_levels.iter().any(|level| level == "OSTIARY_CLASS_FULL"), "{vsa:?}");
    assert_eq!(vsa.input_attestations.len(), 4, "three gates and the authorization");
    app.advance(SignedDuration::from_hours(24 * 365)).await;
    assert_eq!(summary(&app).await.0, 409, "the authorization has ended");
}

#[tokio::test]
async fn a_quarantined_version_is_not_summed_up_as_passed() {
    let app = TestApp::start().await;
    app.activate().await;
    assert_eq!(summary(&app).await.0, 200);
    app.act("quarantine").await;
    assert_eq!(summary(&app).await.0, 409);
}

/// A hold for everybody denies every dispatch; one for a single consumer leaves the others their summary.
#[tokio::test]
async fn a_version_that_is_held_for_everybody_is_not_summed_up_as_passed() {
    let app = TestApp::start().await;
    app.activate().await;
    let path = format!("{AGENT}/versions/{VERSION}/holds");
    let hold = |scope: serde_json::Value| json!({"kind": "route_disabled", "scope": scope, "reason": "a report"});
    let one = hold(json!({"scope": "consumer", "of": "billing"}));
    assert_eq!(app.post(OPERATOR, &path, &one).await.0, 201);
    assert_eq!(summary(&app).await.0, 200, "others may call it");
    assert_eq!(app.post(OPERATOR, &path, &hold(json!({"scope": "everything"}))).await.0, 201);
    assert_eq!(summary(&app).await.0, 409);
}

#[tokio::test]
async fn a_rejection_is_summed_up_as_failed() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Protocol, Says::Fail);
    app.submit().await;
    app.drain_jobs().await;
    let vsa = summary(&app).await.1.expect("a summary").predicate;
    assert_eq!((vsa.verification_result, vsa.verified_levels), (VsaResult::Failed, vec!["FAILED".to_owned()]));
}
