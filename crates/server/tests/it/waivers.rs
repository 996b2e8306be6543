//! Waivers and the reduced class on the whole road: two people, a signed word, and routers that see it (L-09).

use jiff::SignedDuration;
use ostiary_canon::{
    dsse::{Envelope, Jwks, Keyring},
    intoto::{Statement, Waiver},
};
use ostiary_domain::Policy;
use ostiary_proto::admission::v1::AdmissionClass;
use ostiary_record::Layer;
use serde_json::{Value, json};

use crate::{
    app::{ADMIN, AGENT, APPROVER, AUDITOR, OPERATOR, PUBLISHER, TestApp, VERSION, outcomes, policy},
    candidate::Says,
};

const CHECK: &str = "test.protocol";

fn path(what: &str) -> String {
    format!("{AGENT}/versions/{VERSION}/{what}")
}

/// A server whose policy has another layer with a PASS in the conformance gate, and a try that the check has rejected.
async fn rejected() -> TestApp {
    let app = TestApp::start().await;
    let mut policy: Policy = serde_json::from_value(policy()).expect("a policy");
    for rule in policy.gates.values_mut() {
        rule.layers.retain(|layer| *layer != Layer::Protocol);
    }
    let policy = serde_json::to_value(policy).expect("plain data");
    assert_eq!(app.put(ADMIN, "/api/v1/policies/current", &policy).await.0, 200);
    app.candidate.set(Layer::Protocol, Says::Fail);
    again(&app, "REJECTED").await;
    app
}

async fn again(app: &TestApp, state: &str) {
    assert_eq!(app.submit().await.0, 202);
    app.drain_jobs().await;
    assert_eq!(app.state().await, state, "{:#}", app.status().await);
}

/// The publisher asks; answers the waiver.
async fn ask(app: &TestApp) -> Value {
    let evidence = app.get(AUDITOR, &path("evidence")).await.1;
    let body = json!({"check": CHECK, "manifest": evidence[0]["subject"]["manifest"], "reason": "mended next week",
        "expires_at": "2026-03-03T00:00:00Z"});
    let (status, asked) = app.post(PUBLISHER, &path("waivers"), &body).await;
    assert_eq!((status, asked["standing"].as_str()), (201, Some("asked")), "{asked}");
    asked
}

fn on(waiver: &Value, what: &str) -> String {
    path(&format!("waivers/{}/{what}", waiver["id"].as_str().expect("an id")))
}

/// The same, granted by the operator.
async fn granted(app: &TestApp) -> Value {
    let asked = ask(app).await;
    let (status, waiver) = app.post(OPERATOR, &on(&asked, "grant"), &json!({"reason": "seen"})).await;
    assert_eq!((status, waiver["standing"].as_str()), (200, Some("granted")), "{waiver}");
    waiver
}

/// Each request that is repeated by its key gets the first answer, though the second would be refused.
#[tokio::test]
async fn waiver_requests_repeat_by_their_keys() {
    let app = rejected().await;
    let evidence = app.get(AUDITOR, &path("evidence")).await.1;
    let body = json!({"check": CHECK, "manifest": evidence[0]["subject"]["manifest"], "reason": "mended next week",
        "expires_at": "2026-03-03T00:00:00Z"});
    let send = |caller: &str, path: &str, key: &str, body: &Value| {
        let request = app.request("POST", caller, path).header("Idempotency-Key", key);
        app.send(request.body("application/json", body.to_string()))
    };
    let twice = |caller: &'static str, path: String, body: Value| async move {
        let (first, repeat) = (send(caller, &path, &path, &body).await, send(caller, &path, &path, &body).await);
        assert!(first.0 < 300 && first == repeat, "{first:?} {repeat:?}");
        first.1
    };
    let key = |path: &str| path.to_owned();
    let asked = twice(PUBLISHER, key(&path("waivers")), body).await;
    assert_eq!(app.get(AUDITOR, &path("waivers")).await.1.as_array().map(Vec::len), Some(1));
    let granted = twice(OPERATOR, key(&on(&asked, "grant")), json!({"reason": "seen"})).await;
    assert_eq!(granted["standing"], "granted");
    let plain = app.post(OPERATOR, &on(&asked, "grant"), &json!({"reason": "seen"})).await;
    assert_eq!(plain.0, 409, "without its key it is another request: {}", plain.1);
    let revoked = twice(OPERATOR, key(&on(&asked, "revoke")), json!({"reason": "mended"})).await;
    assert_eq!(revoked["standing"], "revoked");
}

#[tokio::test]
async fn waived_failure_is_admitted_by_two_people_and_shown_to_routers() {
    let app = rejected().await;
    let waiver = granted(&app).await;
    again(&app, "REGISTRY_ADMITTED").await;
    for _ in 0..2 {
        app.act("promote").await;
        app.drain_jobs().await;
    }
    assert_eq!(app.state().await, "ACTIVE", "{:#}", app.status().await);
    let decision = app.check(app.question().await).await;
    assert_eq!(
        (decision.reason().as_str_name(), &decision.waived[..]),
        ("DECISION_REASON_ALLOWED", &[CHECK.to_owned()][..])
    );
    let status = app.status().await;
    assert_eq!(status["authorization"]["expires_at"], "2026-03-03T00:00:00Z", "no longer than the waiver");
    let waived = &status["authorization"]["waived"][0];
    assert_eq!(
        (&waived["verdict"], &waived["found"], &waived["waiver"]),
        (&json!("WAIVED"), &json!("FAIL"), &waiver["id"])
    );
    app.advance(SignedDuration::from_hours(49)).await;
    assert_eq!(app.reason(app.question().await).await, "EVIDENCE_EXPIRED");
}

/// The signed fact of a gate that opened by a waiver names the check among what did not pass, and is no `PASSED`.
#[tokio::test]
async fn signed_fact_says_waived_and_never_passed() {
    let app = rejected().await;
    let waiver = granted(&app).await;
    again(&app, "REGISTRY_ADMITTED").await;
    let evidence = app.get(AUDITOR, &path("evidence")).await.1;
    let of = |gate: &str| evidence.as_array().and_then(|all| all.iter().rev().find(|e| e["gate"] == gate)).cloned();
    let conformance = of("conformance").expect("evidence");
    let id = conformance["id"].as_str().expect("an id");
    let envelope = app.raw(app.request("GET", AUDITOR, &format!("/api/v1/evidence/{id}/envelope"))).await;
    let fact: Value = serde_json::from_slice(&Envelope::parse(&envelope.body).expect("DSSE").payload).expect("JSON");
    let fact = &fact["predicate"];
    let name = format!("{CHECK}@{}", crate::app::PROFILE);
    assert_eq!((&fact["result"], &fact["warnedTests"][0]), (&json!("WARNED"), &json!(name)), "{fact:#}");
    assert!(fact["failedTests"].is_null() && !fact["passedTests"].to_string().contains(CHECK), "{fact:#}");
    let conditions = fact["configuration"].as_array().expect("a list");
    assert!(conditions.iter().any(|c| c["uri"] == format!("ostiary:waiver/{}", waiver["id"].as_str().unwrap())));
    let word = of("admission").expect("evidence")["waived"].clone();
    assert_eq!(word[0]["check"], CHECK);
}

/// The verification summary claims no plain level of the gate that opened by a waiver, and names the check.
#[tokio::test]
async fn summary_says_waived_and_never_the_plain_level() {
    let app = rejected().await;
    granted(&app).await;
    again(&app, "REGISTRY_ADMITTED").await;
    let answer = app.raw(app.request("GET", AUDITOR, &path("vsa"))).await;
    let vsa: Value = serde_json::from_slice(&Envelope::parse(&answer.body).expect("DSSE").payload).expect("JSON");
    let vsa = &vsa["predicate"];
    let levels: Vec<_> = vsa["verifiedLevels"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert!(levels.contains(&"OSTIARY_GATE_CONFORMANCE_WAIVED") && levels.contains(&"OSTIARY_GATE_SECURITY"), "{vsa}");
    assert!(!levels.contains(&"OSTIARY_GATE_CONFORMANCE"), "{vsa}");
    assert!(levels.iter().all(|level| !level.contains("PROFILE") || level.ends_with("_WAIVED")), "{vsa}");
    assert_eq!(vsa["https://ostiary.dev/vsa/waived/v1"], json!([CHECK]));
}

#[tokio::test]
async fn grant_is_a_signed_statement_about_the_manifest() {
    let app = rejected().await;
    let waiver = granted(&app).await;
    let got = app.get(AUDITOR, &path(&format!("waivers/{}", waiver["id"].as_str().unwrap()))).await.1;
    let envelope = Envelope::parse(got["granted"]["envelope"].as_str().expect("text").as_bytes()).expect("DSSE");
    let keys = app.raw(app.request("GET", AUDITOR, "/.well-known/ostiary-keys.json")).await;
    let keys: Jwks = serde_json::from_slice(&keys.body).expect("a key set");
    let verified = Keyring::trusting(keys.verifying_keys().expect("good keys")).verify(&envelope).expect("ours");
    let said: Statement<Waiver> = Statement::from_verified(&verified).expect("a waiver");
    assert_eq!(said.subject.digest.to_string(), got["manifest"]);
    let two = (said.predicate.requested_by.actor.as_str(), said.predicate.granted_by.actor.as_str());
    assert_eq!((said.predicate.check.as_str(), two), (CHECK, (PUBLISHER, OPERATOR)));
}

#[tokio::test]
async fn waiver_that_nobody_else_granted_opens_nothing() {
    let app = rejected().await;
    let asked = ask(&app).await;
    let why = json!({"reason": "mine is fine"});
    assert_eq!(app.post(PUBLISHER, &on(&asked, "grant"), &why).await.0, 403, "publishers grant nothing");
    let operators = app.get(AUDITOR, &path("evidence")).await.1[0]["subject"]["manifest"].clone();
    let body = json!({"check": CHECK, "manifest": operators, "reason": "hurry", "expires_at": "2026-03-03T00:00:00Z"});
    let (_, own) = app.post(OPERATOR, &path("waivers"), &body).await;
    let (status, problem) = app.post(OPERATOR, &on(&own, "grant"), &why).await;
    assert_eq!((status, problem["code"].as_str()), (403, Some("FORBIDDEN")), "not by who asked: {problem}");
    again(&app, "REJECTED").await;
    assert_eq!(app.post(APPROVER, &on(&own, "grant"), &why).await.0, 200, "somebody else may");
}

#[tokio::test]
async fn submitter_grants_nothing_for_the_submission() {
    let app = rejected().await;
    let asked = ask(&app).await;
    assert_eq!(app.post(ADMIN, &format!("{AGENT}/versions"), &app.submission()).await.0, 202);
    app.drain_jobs().await;
    let (status, problem) = app.post(ADMIN, &on(&asked, "grant"), &json!({"reason": "mine"})).await;
    assert_eq!((status, problem["code"].as_str()), (403, Some("OWN_SUBMISSION")), "{problem}");
}

#[tokio::test]
async fn revoked_waiver_takes_the_version_off_the_road() {
    let app = rejected().await;
    let waiver = granted(&app).await;
    again(&app, "REGISTRY_ADMITTED").await;
    for _ in 0..2 {
        app.act("promote").await;
        app.drain_jobs().await;
    }
    assert_eq!(app.reason(app.question().await).await, "ALLOWED");
    let (status, revoked) = app.post(APPROVER, &on(&waiver, "revoke"), &json!({"reason": "it hurts"})).await;
    assert_eq!((status, revoked["standing"].as_str()), (200, Some("revoked")), "{revoked}");
    assert_eq!(app.reason(app.question().await).await, "EVIDENCE_STALE");
    assert!(app.status().await["authorization"]["called_in_at"].is_string());
    let explained = app.get(AUDITOR, &path("explain")).await.1;
    assert_eq!((&explained["mode"], &explained["causes"][0]["code"]), (&json!("enforce"), &json!("EVIDENCE_STALE")));
    let conformance = explained["gates"].as_array().expect("gates").iter().find(|gate| gate["gate"] == "conformance");
    assert_eq!(conformance.expect("was run")["waived"][0]["check"], CHECK);
}

#[tokio::test]
async fn check_that_does_not_exist_cannot_be_waived() {
    let app = rejected().await;
    let manifest = app.get(AUDITOR, &path("evidence")).await.1[0]["subject"]["manifest"].clone();
    let body =
        |check: &str, until: &str| json!({"check": check, "manifest": manifest, "reason": "x", "expires_at": until});
    let unknown = app.post(PUBLISHER, &path("waivers"), &body("test.*", "2026-03-03T00:00:00Z")).await;
    let endless = app.post(PUBLISHER, &path("waivers"), &body(CHECK, "2027-03-03T00:00:00Z")).await;
    assert_eq!((unknown.0, endless.0), (400, 400), "{} {}", unknown.1, endless.1);
}

/// A reduced admission waits for a person, and says what it is to every router.
#[tokio::test]
async fn reduced_class_needs_a_person_and_is_shown_to_routers() {
    let app = TestApp::start().await;
    let mut submission = app.submission();
    submission["class"] = json!("reduced");
    assert_eq!(app.post(PUBLISHER, &format!("{AGENT}/versions"), &submission).await.0, 202);
    app.drain_jobs().await;
    assert_eq!(app.state().await, "SECURITY_VERIFIED");
    assert_eq!(outcomes(&app).await["admission"], "INCONCLUSIVE", "it is blocked until somebody answers for it");
    let manifest = app.status().await["subject"]["manifest"].clone();
    let consent = json!({"edge": "admission", "manifest": manifest, "reason": "nobody can look into it"});
    assert_eq!(app.post(OPERATOR, &path("approvals"), &consent).await.0, 201);
    assert_eq!(app.post(PUBLISHER, &path("gates/admission"), &json!({"reason": "approved"})).await.0, 202);
    app.drain_jobs().await;
    assert_eq!(app.state().await, "REGISTRY_ADMITTED", "{:#}", app.status().await);
    for _ in 0..2 {
        app.act("promote").await;
        app.drain_jobs().await;
    }
    let decision = app.check(app.question().await).await;
    assert_eq!(decision.class(), AdmissionClass::Reduced);
    assert_eq!(app.status().await["class"], "reduced");
    let answer = app.raw(app.request("GET", AUDITOR, &path("vsa"))).await;
    let vsa: Value = serde_json::from_slice(&Envelope::parse(&answer.body).expect("DSSE").payload).expect("JSON");
    let levels = vsa["predicate"]["verifiedLevels"].as_array().expect("a list");
    assert!(levels.contains(&json!("OSTIARY_CLASS_REDUCED")) && !levels.contains(&json!("OSTIARY_CLASS_FULL")));
}
