//! Evidence is signed, bound to one subject, and served byte for byte; the audit chain is whole.
//!
//! Covers L-02, L-04 (audit), B-05, V-08.

use ostiary_canon::{
    Digest,
    dsse::{Envelope, Jwks, Keyring},
    intoto::{Authorization, Statement, TestResult, TestVerdict},
    manifest::VersionManifest,
};
use ostiary_proto::admission::v1::CheckAdmissionRequest;
use ostiary_record::Layer;
use serde_json::Value;
use sqlx::Connection as _;

use crate::{
    app::{AGENT, AUDITOR, PROFILE, ROUTER, TestApp, VERSION},
    candidate::Says,
};

async fn keyring(app: &TestApp) -> Keyring {
    let response = app.raw(app.request("GET", ROUTER, "/.well-known/ostiary-keys.json")).await;
    let keys: Jwks = serde_json::from_slice(&response.body).expect("a key set");
    Keyring::trusting(keys.verifying_keys().expect("good keys"))
}

async fn evidence(app: &TestApp) -> Vec<Value> {
    let (status, list) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/evidence")).await;
    assert_eq!(status, 200);
    list.as_array().expect("a list").clone()
}

async fn envelope(app: &TestApp, record: &Value) -> Vec<u8> {
    let id = record["id"].as_str().expect("an id");
    let response = app.raw(app.request("GET", AUDITOR, &format!("/api/v1/evidence/{id}/envelope"))).await;
    assert_eq!(response.header("content-type"), Some("application/vnd.dsse.envelope+json"));
    response.body.to_vec()
}

#[tokio::test]
async fn each_gate_leaves_a_signed_statement_about_the_one_manifest() {
    let app = TestApp::start().await;
    app.admit().await;
    let keys = keyring(&app).await;
    let manifest = app.raw(app.request("GET", AUDITOR, &format!("{AGENT}/versions/{VERSION}/manifest"))).await.body;
    let subject = Digest::of(&manifest);
    let mut gates = Vec::new();
    for record in evidence(&app).await {
        let bytes = envelope(&app, &record).await;
        assert_eq!(record["digest"], Digest::of(&bytes).to_string(), "served as stored");
        let verified = keys.verify(&Envelope::parse(&bytes).expect("an envelope")).expect("signed by the server");
        let gate = record["gate"].as_str().expect("a gate");
        if gate == "admission" {
            let statement = Statement::<Authorization>::from_verified(&verified).expect("an authorization");
            assert_eq!(statement.subject.digest, subject);
            let facts = statement.predicate.facts();
            assert_eq!(facts.gates.len(), 3);
            assert_eq!(facts.profiles_passed, [PROFILE.parse().expect("a profile")]);
            assert!(facts.not_before < facts.window_ends);
        } else {
            let statement = Statement::<TestResult>::from_verified(&verified).expect("a test result");
            assert_eq!(statement.subject.digest, subject);
            assert_eq!(statement.predicate.result, TestVerdict::Passed);
            let conditions = statement.predicate.conditions().expect("ours");
            assert_eq!((conditions.gate.as_str(), conditions.environment.as_str()), (gate, "staging"));
        }
        gates.push(gate.to_owned());
    }
    assert_eq!(gates, ["static", "conformance", "security", "admission"]);
    let manifest: VersionManifest = serde_json::from_slice(&manifest).expect("a manifest");
    assert_eq!(manifest.contract_digest, app.bundle.digest);
}

#[tokio::test]
async fn failure_is_stated_and_signed_as_well() {
    let app = TestApp::start().await;
    app.candidate.set(Layer::Protocol, Says::Fail);
    app.submit().await;
    app.drain_jobs().await;
    let record = evidence(&app).await.pop().expect("the failed gate's");
    let verified = keyring(&app).await.verify(&Envelope::parse(&envelope(&app, &record).await).expect("an envelope"));
    let statement = Statement::<TestResult>::from_verified(&verified.expect("signed")).expect("a test result");
    assert_eq!(statement.predicate.result, TestVerdict::Failed);
    assert_eq!(statement.predicate.failed, [format!("test.protocol@{PROFILE}")]);
}

#[tokio::test]
async fn altered_envelope_does_not_verify() {
    let app = TestApp::start().await;
    app.admit().await;
    let record = &evidence(&app).await[0];
    let mut honest = Envelope::parse(&envelope(&app, record).await).expect("an envelope");
    let last = honest.payload.len() - 2;
    honest.payload[last] ^= 1;
    assert!(keyring(&app).await.verify(&honest).is_err());
}

#[tokio::test]
async fn recordings_are_kept_under_the_digest_that_evidence_names() {
    let app = TestApp::start().await;
    app.admit().await;
    let record = &evidence(&app).await[0];
    let id = record["id"].as_str().expect("an id");
    let run = app.raw(app.request("GET", AUDITOR, &format!("/api/v1/evidence/{id}/run"))).await.body;
    assert_eq!(record["run"], Digest::of(&run).to_string());
    let run: ostiary_record::Run = serde_json::from_slice(&run).expect("a run");
    assert_eq!(run.gate, Some(ostiary_record::Gate::Static));
}

#[tokio::test]
async fn bundle_of_a_version_is_the_one_that_was_submitted() {
    let app = TestApp::start().await;
    app.admit().await;
    let archive = app.raw(app.request("GET", AUDITOR, &format!("{AGENT}/versions/{VERSION}/bundle"))).await.body;
    assert_eq!(ostiary_contract::Bundle::from_tar(&archive).expect("a bundle").digest, app.bundle.digest);
}

#[tokio::test]
async fn report_explains_the_evidence() {
    let app = TestApp::start().await;
    app.admit().await;
    let id = evidence(&app).await[1]["id"].as_str().expect("an id").to_owned();
    let (status, report) = app.get(AUDITOR, &format!("/api/v1/evidence/{id}/report")).await;
    assert_eq!(status, 200);
    assert_eq!(report["decision"]["outcome"], "PASS");
    assert!(report["report"]["statement"].as_str().expect("a statement").contains("Not verified"));
}

#[tokio::test]
async fn key_survives_a_restart_so_that_old_evidence_still_verifies() {
    let mut app = TestApp::start().await;
    app.admit().await;
    app.restart().await;
    let record = &evidence(&app).await[0];
    assert!(keyring(&app).await.verify(&Envelope::parse(&envelope(&app, record).await).expect("an envelope")).is_ok());
}

#[tokio::test]
async fn audit_says_who_did_what_and_its_chain_is_whole() {
    let app = TestApp::start().await;
    app.activate().await;
    app.act("quarantine").await;
    let (_, verified) = app.get(AUDITOR, "/api/v1/audit/verify").await;
    assert_eq!(verified["intact"], true, "{verified}");
    let mut after = String::new();
    let mut entries = Vec::new();
    loop {
        let (_, page) = app.get(AUDITOR, &format!("/api/v1/audit?limit=3{after}")).await;
        entries.extend(page["entries"].as_array().expect("a list").clone());
        match page["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => break,
        }
    }
    let revisions: Vec<u64> = entries.iter().map(|entry| entry["revision"].as_u64().expect("a number")).collect();
    assert_eq!(revisions, (1..=revisions.len() as u64).collect::<Vec<_>>(), "gapless over all pages");
    let last = entries.last().expect("entries");
    assert_eq!((last["action"].as_str(), last["actor"].as_str()), (Some("quarantine"), Some("oki-operator")));
    assert_eq!(last["reason"], "a test wants it");
}

#[tokio::test]
async fn evidence_names_the_server_that_answered_and_another_key_is_other_evidence() {
    let mut payloads = Vec::new();
    for key in ["aa", "bb"] {
        let app = TestApp::start().await;
        app.candidate.served_by(key);
        app.admit().await;
        let keys = keyring(&app).await;
        let record = evidence(&app).await.into_iter().next().expect("evidence");
        let verified =
            keys.verify(&Envelope::parse(&envelope(&app, &record).await).expect("an envelope")).expect("signed");
        payloads.push(serde_json::from_slice::<Value>(verified.payload()).expect("a statement"));
    }
    let run = |payload: &Value| payload["predicate"]["configuration"][0]["annotations"].clone();
    let [one, other] = payloads.as_slice() else { unreachable!("two were made") };
    assert_eq!(run(one)["spki_sha256"], "aa", "{one:#}");
    assert_eq!(run(one)["producer_digest_source"], "declared", "{one:#}");
    assert_ne!(run(one)["spki_sha256"], run(other)["spki_sha256"]);
    assert_ne!(one["predicate"]["configuration"][0]["digest"], other["predicate"]["configuration"][0]["digest"]);
}

/// Changes the stored copy of what is vouched for, as somebody with the database file could.
async fn forge(app: &TestApp, from: &str, to: &str) {
    let file = app.app().config.data_dir.join("ostiary.db");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(file);
    let mut database = sqlx::SqliteConnection::connect_with(&options).await.expect("opens");
    let forged = sqlx::query("UPDATE versions SET facts = replace(facts, ?, ?) WHERE instr(facts, ?) > 0")
        .bind(from)
        .bind(to)
        .bind(from)
        .execute(&mut database)
        .await
        .expect("writes");
    assert!(forged.rows_affected() > 0, "`{from}` stands nowhere");
    database.close().await.expect("closes");
}

#[tokio::test]
async fn router_is_told_what_is_signed_and_no_forged_copy_of_it() {
    let mut app = TestApp::start().await;
    app.activate().await;
    let honest = app.question().await;
    assert_eq!(app.reason(honest.clone()).await, "ALLOWED");

    let other = Digest::of(b"another card").to_string();
    forge(&app, &honest.card_digest, &other).await;
    let asked = CheckAdmissionRequest { card_digest: other.clone(), ..honest.clone() };
    app.restart().await;
    assert_eq!(app.reason(asked.clone()).await, "CARD_DIGEST_MISMATCH", "the snapshot is what was signed");
    app.restart_from_database().await;
    assert_eq!(app.reason(asked).await, "SIGNATURE_INVALID");
    forge(&app, &other, &honest.card_digest).await;

    let profile = "a2a-jsonrpc-1.0/admin/root";
    forge(&app, PROFILE, profile).await;
    app.restart_from_database().await;
    let asked = CheckAdmissionRequest { profile: profile.to_owned(), ..honest.clone() };
    assert_eq!(app.reason(asked).await, "SIGNATURE_INVALID");
    forge(&app, profile, PROFILE).await;

    app.restart_from_database().await;
    assert_eq!(app.reason(honest).await, "ALLOWED", "the copy that agrees is believed again");
}
