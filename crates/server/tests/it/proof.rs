//! A quarantine that is proved: nothing older is in use at any router, of any server.
//!
//! Covers L-04.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::wire::query_of;
use ostiary_canon::{Revision, dsse::Keyring};
use ostiary_domain::NoFailpoints;
use ostiary_proto::admission::v1::{
    CheckAdmissionRequest, CheckAdmissionResponse, Consistency, DecisionReason, RevisionToken,
    admission_service_client::AdmissionServiceClient, consistency::Requirement,
};
use ostiary_server::{Running, config::DatabaseConfig};
use ostiary_store_postgres::{Settings, TimeSource, cluster::Cluster};
use serde_json::Value;
use tonic::{Request, transport::Channel};

use crate::{
    app::{AUDITOR, OPERATOR, ROUTER, TestApp, token},
    router::{Followed, Router, decide},
};

const LEASE: SignedDuration = SignedDuration::from_secs(15);

fn keys(app: &TestApp) -> Keyring {
    Keyring::trusting(app.app().keys.verifying_keys().expect("keys"))
}

async fn watch(app: &TestApp, running: &Running, router_id: &str) -> Router {
    let mut router = Router::watch(running.grpc_url(), router_id, "acme", keys(app)).await;
    router.fill().await;
    router
}

async fn follow(app: &TestApp, running: &Running, router_id: &str) -> Followed {
    let router = watch(app, running, router_id).await;
    router.acknowledge(router.index.revision()).await;
    router.follow()
}

async fn applied(app: &TestApp, revision: u64, wait_seconds: u64) -> Value {
    let path = format!("/api/v1/revisions/{revision}/applied?wait_seconds={wait_seconds}");
    let (status, body) = app.get(OPERATOR, &path).await;
    assert_eq!(status, 200, "{body}");
    body
}

async fn quarantine(app: &TestApp) -> u64 {
    app.act("quarantine").await["revision"].as_u64().expect("a token")
}

fn time(value: &Value) -> Timestamp {
    value.as_str().expect("a time").parse().expect("a time")
}

#[tokio::test]
async fn a_quarantine_is_proved_once_every_watcher_has_applied_it() {
    let app = TestApp::start().await;
    app.activate().await;
    let routers = [follow(&app, app.running(), "one").await, follow(&app, app.running(), "two").await];
    let revision = quarantine(&app).await;
    let proof = applied(&app, revision, 30).await;
    assert_eq!(
        (&proof["proved"], &proof["applied"], &proof["pending"]),
        (&true.into(), &2.into(), &0.into()),
        "{proof:#}"
    );
    let question = app.question().await;
    for router in &routers {
        let told = decide(&router.index, &query_of(&question), Some(revision), app.clock.as_ref());
        assert_eq!(told.reason.as_str(), "QUARANTINED");
    }
}

#[tokio::test]
async fn a_frozen_router_is_named_and_its_lease_waited_for() {
    let app = TestApp::start().await;
    app.activate().await;
    let _good = follow(&app, app.running(), "good").await;
    let frozen = watch(&app, app.running(), "frozen").await;
    frozen.acknowledge(frozen.index.revision()).await;
    let revision = quarantine(&app).await;
    let proof = applied(&app, revision, 2).await;
    assert_eq!(
        (&proof["proved"], &proof["applied"], &proof["pending"]),
        (&false.into(), &1.into(), &1.into()),
        "{proof:#}"
    );
    assert_eq!(proof["routers"][0]["router"], "frozen", "{proof:#}");
    let metrics = app.raw(app.request("GET", OPERATOR, "/metrics")).await.body;
    let metrics = String::from_utf8_lossy(&metrics);
    for line in ["ostiary_watchers 2", "ostiary_watch_lag_revisions 1", "ostiary_watchers_pending 1"] {
        assert!(metrics.lines().any(|found| found == line), "{line}: {metrics}");
    }
    let until = time(&proof["routers"][0]["until"]);
    assert!(until <= app.now() + LEASE && proof["over_at"] == proof["routers"][0]["until"], "{proof:#}");
    // It decides on what it has, as it may, and not a moment longer than it was said.
    let question = app.question().await;
    let decide = |at_least| decide(&frozen.index, &query_of(&question), at_least, app.clock.as_ref());
    assert_eq!(decide(None).reason.as_str(), "ALLOWED");
    assert_eq!(decide(Some(revision)).reason.as_str(), "REVISION_NOT_REACHED");
    app.advance(until.duration_since(app.now())).await;
    let proof = applied(&app, revision, 0).await;
    assert_eq!(
        (&proof["proved"], &proof["applied"], &proof["lapsed"]),
        (&true.into(), &1.into(), &1.into()),
        "{proof:#}"
    );
    assert_eq!(decide(None).reason.as_str(), "VIEW_STALE");
}

#[tokio::test]
async fn an_answer_counts_until_it_may_not_be_used_any_more() {
    let app = TestApp::start().await;
    app.activate().await;
    let told = app.check(app.question().await).await;
    assert_eq!(told.reason(), DecisionReason::Allowed);
    let revision = quarantine(&app).await;
    let proof = applied(&app, revision, 0).await;
    assert_eq!(proof["proved"], false, "{proof:#}");
    let until = told.valid_until.expect("a time");
    let until = Timestamp::new(until.seconds, until.nanos).expect("a time");
    assert!(time(&proof["answers_until"]) >= until, "{proof:#} {until}");
    // Kept in whole milliseconds, rounded up.
    app.advance(LEASE + SignedDuration::from_millis(1)).await;
    assert_eq!(applied(&app, revision, 0).await["proved"], true);
}

#[tokio::test]
async fn whoever_asks_for_what_is_not_there_is_told() {
    let app = TestApp::start().await;
    let newest = app.app().store.revision().await.expect("answers").0;
    let app = &app;
    let get = |path: String| async move { app.get(AUDITOR, &path).await };
    assert_eq!(get(format!("/api/v1/revisions/{}/applied", newest + 1)).await.0, 404);
    assert_eq!(get(format!("/api/v1/revisions/{newest}/applied")).await.1["proved"], true, "nobody watches");
    for wrong in ["1/applied?wait_seconds=61", "x/applied", "1/applied?wait=1", "-1/applied"] {
        let (status, body) = get(format!("/api/v1/revisions/{wrong}")).await;
        assert_eq!((status, &body["code"]), (400, &"INVALID_REQUEST".into()), "{wrong}: {body}");
    }
}

/// Two servers on one database.
async fn pair() -> (TestApp, Running, tempfile::TempDir) {
    let url = Cluster::shared().database().await;
    let settings = Settings::from_url(&url).expect("a URL").connections(4).time(TimeSource::Ports);
    let database = DatabaseConfig::Postgres(Box::new(settings));
    let app = TestApp::with(Arc::new(NoFailpoints), move |config| config.database = database.clone()).await;
    app.activate().await;
    let (second, dir) = app.replica().await;
    (app, second, dir)
}

#[tokio::test]
async fn a_watcher_of_another_server_is_waited_for() {
    let (app, second, _dir) = pair().await;
    let frozen = watch(&app, &second, "far").await;
    frozen.acknowledge(frozen.index.revision()).await;
    let revision = quarantine(&app).await;
    let proof = applied(&app, revision, 2).await;
    assert_eq!((&proof["proved"], &proof["pending"]), (&false.into(), &1.into()), "{proof:#}");
    let other = |proof: &Value| {
        let replicas = proof["replicas"].as_array().expect("a list").clone();
        replicas.into_iter().find(|replica| replica["answering"] == false).expect("the other one")
    };
    assert_eq!(other(&proof)["stands"], "pending", "{proof:#}");
    let mut frozen = frozen;
    while frozen.step().await != Some(Revision(revision)) {}
    frozen.acknowledge(Revision(revision)).await;
    let proof = applied(&app, revision, 30).await;
    // What it acknowledged is over at once; clocks of two servers may differ, so two seconds pass first.
    assert_eq!(other(&proof)["watchers"], 1, "{proof:#}");
    app.advance(SignedDuration::from_secs(3)).await;
    let proof = applied(&app, revision, 30).await;
    assert_eq!((&proof["proved"], &other(&proof)["stands"]), (&true.into(), &"over".into()), "{proof:#}");
    second.shutdown().await;
}

#[tokio::test]
async fn a_dead_server_is_waited_for_by_time_alone() {
    let (app, second, _dir) = pair().await;
    let frozen = watch(&app, &second, "far").await;
    frozen.acknowledge(frozen.index.revision()).await;
    second.cut_database().await;
    let revision = quarantine(&app).await;
    assert_eq!(applied(&app, revision, 1).await["proved"], false);
    app.advance(LEASE).await;
    assert_eq!(applied(&app, revision, 0).await["proved"], false, "clocks may differ");
    app.advance(SignedDuration::from_secs(2)).await;
    assert_eq!(applied(&app, revision, 0).await["proved"], true);
    let question = app.question().await;
    let told = decide(&frozen.index, &query_of(&question), None, app.clock.as_ref());
    assert_eq!(told.reason.as_str(), "VIEW_STALE", "what the dead server gave out has ended");
    second.shutdown().await;
}

#[tokio::test]
async fn a_stopped_server_is_waited_for_until_its_leases_end_and_never_again() {
    let (app, second, _dir) = pair().await;
    let frozen = watch(&app, &second, "far").await;
    frozen.acknowledge(frozen.index.revision()).await;
    second.shutdown().await;
    let revision = quarantine(&app).await;
    assert_eq!(applied(&app, revision, 0).await["proved"], false, "the router may decide until its lease ends");
    app.advance(LEASE + SignedDuration::from_secs(3)).await;
    assert_eq!(applied(&app, revision, 0).await["proved"], true);
    let later = app.act("deprecate").await["revision"].as_u64().expect("a token");
    assert_eq!(applied(&app, later, 0).await["proved"], true, "nothing of the stopped server is left");
}

#[tokio::test]
async fn a_server_without_its_database_extends_no_lease() {
    let app = TestApp::start().await;
    app.activate().await;
    let router = follow(&app, app.running(), "one").await;
    let question = app.question().await;
    app.running().cut_database().await;
    // From here on no read succeeds: heads may go on, their lease may not.
    let until = {
        use ostiary_admission::View as _;
        app.app().index.freshness().lease_until
    };
    for _ in 0..4 {
        app.clock.advance(SignedDuration::from_secs(3));
        app.app().hub.beat();
        assert!(app.app().feed.refresh().await.is_err(), "the database is gone");
    }
    assert_eq!(decide(&router.index, &query_of(&question), None, app.clock.as_ref()).reason.as_str(), "ALLOWED");
    app.clock.advance(SignedDuration::from_secs(3));
    app.app().hub.beat();
    assert!(app.now() >= until);
    assert_eq!(decide(&router.index, &query_of(&question), None, app.clock.as_ref()).reason.as_str(), "VIEW_STALE");
    assert_eq!(app.reason(question).await, "VIEW_STALE");
}

async fn check(
    client: &mut AdmissionServiceClient<Channel>,
    question: &CheckAdmissionRequest,
) -> CheckAdmissionResponse {
    let mut request = Request::new(question.clone());
    let field = format!("Bearer {}", token(ROUTER)).parse().expect("ASCII");
    request.metadata_mut().insert("authorization", field);
    client.check_admission(request).await.expect("a decision").into_inner()
}

/// The new enemy: whoever knows of the quarantine by its token is never allowed, wherever it asks.
#[tokio::test]
async fn with_the_token_no_quarantined_version_is_ever_allowed() {
    let (app, second, _dir) = pair().await;
    let followed = follow(&app, &second, "far").await;
    let mut question = app.question().await;
    let urls = [app.running().grpc_url(), second.grpc_url()];
    let mut clients = Vec::new();
    for url in urls {
        clients.push(AdmissionServiceClient::connect(url).await.expect("listens"));
    }
    for round in 0..rounds() {
        let hold = app
            .post(
                OPERATOR,
                &format!("{}/versions/{}/holds", crate::app::AGENT, crate::app::VERSION),
                &serde_json::json!({
                    "kind": "route_disabled", "scope": {"scope": "everything"}, "reason": "the new enemy",
                }),
            )
            .await
            .1;
        let revision = hold["revision"].as_u64().expect("a token");
        let requirement = Some(Requirement::AtLeastAsFresh(RevisionToken { revision }));
        question.consistency = Some(Consistency { requirement });
        let local = decide(&followed.index, &query_of(&question), Some(revision), app.clock.as_ref());
        assert!(!local.allows(), "round {round}: {local:?}");
        for client in &mut clients {
            let told = check(client, &question).await;
            let reason = told.reason().as_str_name();
            assert!(
                ["DECISION_REASON_ROUTE_DISABLED", "DECISION_REASON_REVISION_NOT_REACHED"].contains(&reason),
                "round {round}: {reason}"
            );
        }
        // Without the token: not before it is proved.
        let mut applied = followed.applied.clone();
        applied.wait_for(|applied| applied.0 >= revision).await.expect("goes on");
        assert!(!decide(&followed.index, &query_of(&question), None, app.clock.as_ref()).allows(), "round {round}");
        let id = hold["holds"][0]["id"].as_str().expect("an id");
        let lifted = app.act(&format!("holds/{id}/lift")).await["revision"].as_u64().expect("a token");
        let mut applied = followed.applied.clone();
        applied.wait_for(|applied| applied.0 >= lifted).await.expect("goes on");
        let local = decide(&followed.index, &query_of(&question), Some(lifted), app.clock.as_ref());
        assert!(local.allows(), "round {round}: the honest twin: {local:?}");
    }
    second.shutdown().await;
}

/// More in a soak: `SOAK=1`.
#[expect(clippy::disallowed_methods, reason = "how a person tells a test to go on for long")]
fn rounds() -> usize {
    if std::env::var_os("SOAK").is_some() { 20_000 } else { 200 }
}
