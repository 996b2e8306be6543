//! What routers see, and what the control plane makes of it when it has looked itself.
//!
//! Covers P-03, L-10 (machines only lower trust), L-12 (people are told).

use std::path::Path;

use jiff::SignedDuration;
use ostiary_canon::Digest;
use ostiary_contract::Bundle;
use ostiary_proto::drift::v1::{
    DriftAction, DriftFinding, DriftKind, ReportDriftRequest, ReportDriftResponse,
    drift_service_client::DriftServiceClient,
};
use serde_json::{Value, json};
use tonic::{Code, Status};

use crate::app::{
    ADMIN, AGENT, AUDITOR, FAR_ROUTER, PUBLISHER, ROUTER, SECOND_ROUTER, TestApp, VERSION, WORKER, planning_agent,
    token,
};

impl TestApp {
    /// What an honest router reports that saw `card`.
    fn sighting(&self, key: &str, card: &str) -> ReportDriftRequest {
        let now = self.now();
        let now = prost_types::Timestamp { seconds: now.as_second(), nanos: now.subsec_nanosecond() };
        ReportDriftRequest {
            idempotency_key: key.to_owned(),
            router_id: "eu-1".to_owned(),
            agent: "acme/planner".to_owned(),
            version: VERSION.to_owned(),
            kind: DriftKind::Card.into(),
            finding: DriftFinding::Mismatch.into(),
            observed_digest: card.to_owned(),
            first_seen: Some(now),
            last_seen: Some(now),
            count: 1,
            ..ReportDriftRequest::default()
        }
    }

    async fn tell(&self, caller: &str, report: ReportDriftRequest) -> Result<ReportDriftResponse, Status> {
        let mut client = DriftServiceClient::connect(self.running().grpc_url()).await.expect("listens");
        let mut request = tonic::Request::new(report);
        let field = format!("Bearer {}", token(caller)).parse().expect("ASCII");
        request.metadata_mut().insert("authorization", field);
        client.report_drift(request).await.map(tonic::Response::into_inner)
    }

    async fn told(&self, caller: &str, key: &str, card: &str) -> DriftAction {
        self.tell(caller, self.sighting(key, card)).await.expect("it is taken").action()
    }

    async fn drift(&self) -> Value {
        self.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/drift-reports")).await.1
    }

    /// Waits until no look is under way.
    async fn looked(&self) {
        self.until("the look is over", || async { self.drift().await["revalidation"].is_null() }).await;
        self.caught_up().await;
    }

    async fn caught_up(&self) {
        let newest = self.app().store.revision().await.expect("answers");
        assert!(self.app().feed.reach(newest, std::time::Duration::from_secs(10)).await);
    }

    async fn events(&self) -> Vec<String> {
        let (_, page) = self.get(AUDITOR, "/api/v1/events?limit=500").await;
        let events = page["events"].as_array().expect("a list");
        events.iter().map(|event| event["type"].as_str().expect("a type").to_owned()).collect()
    }
}

/// The card of the bundle with another description, and its digest.
fn other_card(bundle: &Bundle) -> (Vec<u8>, String) {
    let mut card: Value = serde_json::from_slice(&bundle.card.as_ref().expect("an A2A agent").bytes).expect("JSON");
    card["description"] = json!("plans what nobody admitted");
    let digest = ostiary_protocol::a2a::digest::card_digest(&card).expect("a card");
    (serde_json::to_vec(&card).expect("JSON"), digest.to_string())
}

fn made_up() -> String {
    Digest::of(b"made up").to_string()
}

#[tokio::test]
async fn a_first_mismatch_denies_and_another_card_quarantines() {
    let app = TestApp::start().await;
    app.activate().await;
    let (bytes, digest) = other_card(&app.bundle);
    app.card.serve(bytes.clone());
    let mut question = app.question().await;
    let honest = question.clone();
    question.card_digest.clone_from(&digest);
    assert_eq!(app.reason(question.clone()).await, "CARD_DIGEST_MISMATCH", "that dispatch is denied at once");
    // Nobody reported: the question itself made the control plane look.
    app.until("it is quarantined", || async { app.state().await == "QUARANTINED" }).await;
    app.caught_up().await;
    assert_eq!(app.reason(honest).await, "QUARANTINED");

    let (_, evidence) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/evidence")).await;
    let found = evidence.as_array().expect("a list").iter().find(|e| e["outcome"] == "FAIL").expect("it is evidence");
    assert_eq!((&found["gate"], &found["subject"]["card_digest"]), (&json!("admission"), &json!(digest)), "{found:#}");
    let id = found["id"].as_str().expect("an id");
    let (_, report) = app.get(AUDITOR, &format!("/api/v1/evidence/{id}/report")).await;
    assert!(report.to_string().contains(&digest), "people can read why: {report:#}");
    let kept = app.app().store.object(&Digest::of(&bytes)).await.expect("answers").expect("the bytes are kept");
    assert_eq!(kept, bytes);
    let (_, envelope) = app.get(AUDITOR, &format!("/api/v1/evidence/{id}/envelope")).await;
    let statement = statement(&envelope);
    let named = statement["predicate"]["configuration"].as_array().expect("a list");
    let card = named.iter().find(|descriptor| descriptor["name"] == "served-card").expect("it names the bytes");
    assert_eq!(card["digest"]["sha256"], Digest::of(&bytes).hex());

    app.drain_jobs().await;
    let jobs = app.app().store.versions(&"acme/planner".parse().expect("a name")).await.expect("answers");
    let jobs = app.app().store.jobs_of(&jobs[0].key).await.expect("answers");
    assert_eq!(jobs.last().expect("a job").gate.as_str(), "security", "verified anew, from conformance on");
    let events = app.events().await;
    assert!(events.iter().any(|kind| kind == "drift.revalidating"), "{events:?}");
    assert!(events.iter().any(|kind| kind == "version.quarantined"), "{events:?}");
    let drift = app.drift().await;
    assert_eq!(drift["reports"][0]["conclusion"], "quarantined", "{drift:#}");
}

fn statement(envelope: &Value) -> Value {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    let payload = STANDARD.decode(envelope["payload"].as_str().expect("base64")).expect("base64");
    serde_json::from_slice(&payload).expect("JSON")
}

#[tokio::test]
async fn a_rogue_report_is_cleared_and_hurts_nobody() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    assert_eq!(app.told(ROUTER, "k1", &made_up()).await, DriftAction::Revalidating);
    assert_eq!(app.reason(question.clone()).await, "ALLOWED", "who sees the admitted card is dispatched");
    app.looked().await;
    let again = app.tell(ROUTER, app.sighting("k1", &made_up())).await.expect("the answer of then");
    assert!(again.duplicate);
    for n in 0..20 {
        let (key, card) = (format!("again-{n}"), Digest::of(format!("card {n}").as_bytes()).to_string());
        let report = ReportDriftRequest { router_id: format!("eu-{n}"), ..app.sighting(&key, &card) };
        let told = app.tell(ROUTER, report).await.expect("it is taken");
        assert_eq!(told.action(), DriftAction::Recorded, "it was wrong a moment ago");
    }
    assert_eq!((app.state().await.as_str(), app.reason(question).await.as_str()), ("ACTIVE", "ALLOWED"));
    assert_eq!(app.status().await["holds"], json!([]));
    let drift = app.drift().await;
    let first = drift["reports"].as_array().expect("a list").last().expect("the first").clone();
    assert_eq!((&first["reporter"], &first["conclusion"]), (&json!(ROUTER), &json!("unfounded")), "{first:#}");
    assert!(app.events().await.iter().any(|kind| kind == "drift.cleared"));
}

#[tokio::test]
async fn the_card_of_another_admitted_version_is_a_roll_out() {
    let app = TestApp::start().await;
    app.activate().await;
    let next = next_version();
    let (status, body) = app.upload(PUBLISHER, next.to_tar()).await;
    assert_eq!(status, 201, "{body}");
    // The operator rolls it out at the same address.
    app.card.serve(next.card.as_ref().expect("an A2A agent").bytes.clone());
    let submission =
        json!({"bundle": next.digest.to_string(), "environment": "staging", "change_reason": "a roll-out"});
    let (status, body) = app.post(PUBLISHER, &format!("{AGENT}/versions"), &submission).await;
    assert_eq!(status, 202, "{body}");
    app.drain_jobs().await;
    let status = app.status_of(NEXT).await;
    assert_eq!(status["state"], "REGISTRY_ADMITTED", "{status:#}");
    let rolled_out = status["subject"]["card_digest"].as_str().expect("a digest");
    assert_eq!(app.told(ROUTER, "k1", rolled_out).await, DriftAction::RollOut);
    assert_eq!(app.status().await["holds"], json!([]));

    assert_eq!(app.told(SECOND_ROUTER, "k1", &made_up()).await, DriftAction::Revalidating);
    app.looked().await;
    assert_eq!(app.state().await, "ACTIVE", "what the control plane saw is admitted");
    assert_eq!(app.status().await["holds"], json!([]));
    assert_eq!(app.drift().await["reports"][0]["conclusion"], "roll_out");
}

/// The label of the version that is rolled out.
const NEXT: &str = "3.4.2";

/// The same agent with a card of its own.
fn next_version() -> Bundle {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bundles/planning-agent");
    let mut files = ostiary_worker::bundle_dir::read(&root).expect("the shipped bundle reads");
    for (file, from, to) in [
        ("contract.yaml", "agent_id: agent-fixture-planning", "agent_id: planner"),
        ("agent-card.json", "\"version\": \"3.4.1\"", "\"version\": \"3.4.2\""),
    ] {
        let text = String::from_utf8(files[file].to_vec()).expect("a text");
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{file}");
        files.insert(file.to_owned(), changed.into());
    }
    Bundle::load(&files).expect("it is well-formed")
}

#[tokio::test]
async fn a_second_router_stops_all_while_the_card_cannot_be_fetched() {
    let app = TestApp::start().await;
    app.activate().await;
    let question = app.question().await;
    app.card.serve("the gateway is away");
    assert_eq!(app.told(ROUTER, "k1", &made_up()).await, DriftAction::Revalidating);
    let failed = async || app.drift().await["revalidation"]["failed_looks"].as_u64().unwrap_or_default();
    app.until("a look failed", || async { failed().await > 0 }).await;
    assert_eq!(app.told(ROUTER, "k2", &made_up()).await, DriftAction::Revalidating, "the same router is one router");
    assert_eq!(app.reason(question.clone()).await, "ALLOWED");
    assert_eq!(app.told(SECOND_ROUTER, "k1", &made_up()).await, DriftAction::RevalidatingForAll);
    assert_eq!(app.reason(question.clone()).await, "REVALIDATING");
    assert_eq!(app.state().await, "ACTIVE", "routers take nothing down");
    app.card.serve(app.bundle.card.as_ref().expect("an A2A agent").bytes.clone());
    app.advance(SignedDuration::from_mins(5)).await;
    app.looked().await;
    assert_eq!(app.reason(question).await, "ALLOWED");
}

#[tokio::test]
async fn an_unreachable_agent_is_no_reason_to_lower_trust() {
    let app = TestApp::start().await;
    app.activate().await;
    for (caller, key) in [(ROUTER, "k1"), (SECOND_ROUTER, "k2")] {
        let report = ReportDriftRequest {
            finding: DriftFinding::Unreachable.into(),
            observed_digest: String::new(),
            ..app.sighting(key, "")
        };
        assert_eq!(app.tell(caller, report).await.expect("it is taken").action(), DriftAction::Recorded);
    }
    assert_eq!(app.reason(app.question().await).await, "ALLOWED");
}

#[tokio::test]
async fn a_card_that_matches_says_that_the_router_is_behind() {
    let app = TestApp::start().await;
    app.activate().await;
    let admitted = app.question().await.card_digest;
    assert_eq!(app.told(ROUTER, "k1", &admitted).await, DriftAction::Matches);
    assert_eq!(app.status().await["holds"], json!([]));
}

#[tokio::test]
async fn a_look_goes_on_after_a_restart() {
    let mut app = TestApp::start().await;
    app.activate().await;
    app.card.serve("the gateway is away");
    assert_eq!(app.told(ROUTER, "k1", &made_up()).await, DriftAction::Revalidating);
    app.until("a look failed", || async { !app.drift().await["revalidation"]["last_error"].is_null() }).await;
    let (bytes, _) = other_card(&app.bundle);
    app.card.serve(bytes);
    app.clock.advance(SignedDuration::from_mins(2));
    app.restart().await;
    app.until("it is quarantined", || async { app.state().await == "QUARANTINED" }).await;
}

#[tokio::test]
async fn only_routers_report_and_only_where_they_route() {
    let app = TestApp::start().await;
    app.activate().await;
    for caller in [PUBLISHER, AUDITOR, ADMIN, WORKER, FAR_ROUTER] {
        let refused = app.tell(caller, app.sighting("k1", &made_up())).await.expect_err("it is no router of acme");
        assert_eq!(refused.code(), Code::PermissionDenied, "{caller}");
    }
    let mut client = DriftServiceClient::connect(app.running().grpc_url()).await.expect("listens");
    let refused = client.report_drift(app.sighting("k1", &made_up())).await.expect_err("no token");
    assert_eq!(refused.code(), Code::Unauthenticated);
    assert_eq!(app.drift().await["reports"], json!([]));
}

#[tokio::test]
async fn every_field_is_looked_at() {
    let app = TestApp::start().await;
    app.activate().await;
    type Spoil = fn(&mut ReportDriftRequest);
    let spoils: [(&str, Spoil); 15] = [
        ("idempotency_key", |r| r.idempotency_key.clear()),
        ("idempotency_key", |r| r.idempotency_key = "k".repeat(129)),
        ("router_id", |r| r.router_id.clear()),
        ("router_id", |r| r.router_id = "a\nb".to_owned()),
        ("agent", |r| r.agent = "no name".to_owned()),
        ("version", |r| r.version.clear()),
        ("kind", |r| r.kind = DriftKind::Unspecified.into()),
        ("kind", |r| r.kind = 99),
        ("finding", |r| r.finding = DriftFinding::Unspecified.into()),
        ("expected_digest", |r| r.expected_digest = "latest".to_owned()),
        ("observed_digest", |r| r.observed_digest.clear()),
        ("first_seen", |r| r.first_seen = None),
        ("last_seen", |r| r.last_seen = r.last_seen.map(|at| prost_types::Timestamp { seconds: at.seconds - 9, ..at })),
        ("last_seen", |r| {
            r.last_seen = r.last_seen.map(|at| prost_types::Timestamp { seconds: at.seconds + 999, ..at })
        }),
        ("count", |r| r.count = 0),
    ];
    for (field, spoil) in spoils {
        let mut report = app.sighting("k1", &made_up());
        spoil(&mut report);
        let refused = app.tell(ROUTER, report).await.expect_err(field);
        assert_eq!(refused.code(), Code::InvalidArgument, "{field}");
        assert!(refused.message().contains(&format!("`{field}`")), "{field}: {}", refused.message());
    }
    let unknown = ReportDriftRequest { version: "9.9.9".to_owned(), ..app.sighting("k1", &made_up()) };
    assert_eq!(app.tell(ROUTER, unknown).await.expect_err("nobody submitted it").code(), Code::NotFound);
    app.tell(ROUTER, app.sighting("k1", &made_up())).await.expect("the honest twin is taken");
    let other = ReportDriftRequest { count: 7, ..app.sighting("k1", &made_up()) };
    assert_eq!(app.tell(ROUTER, other).await.expect_err("another request").code(), Code::InvalidArgument);
}

#[test]
fn the_other_card_differs_from_the_admitted_one() {
    let bundle = planning_agent();
    let (bytes, digest) = other_card(&bundle);
    assert_ne!(bundle.card.as_ref().expect("an A2A agent").bytes, bytes);
    assert!(digest.parse::<Digest>().is_ok());
}
