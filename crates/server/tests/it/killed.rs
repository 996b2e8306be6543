//! The same places as in `failpoints`, with a process that really dies there: nothing unwinds, nothing is flushed.
//!
//! The child is this test binary, started again with a task: serve on a directory, and abort at a place. Started once
//! more without a place, an hour later by its clock, it finds whatever the dead one left.
//!
//! Covers L-01 under faults.

use std::{collections::BTreeSet, path::Path, process::Stdio, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use ostiary_domain::{Clock, Crashed, Failpoint, Failpoints};
use ostiary_drivers::http_client::{HttpClient, Request};
use ostiary_server::{Config, Server};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::process::{Child, Command};

use crate::{
    app::{
        ADMIN, AGENT, AUDITOR, CardServer, OPERATOR, PROFILE, PUBLISHER, VERSION, planning_agent, policy, token, tokens,
    },
    candidate::{Candidate, harness},
};

/// What the child is told, by one variable.
#[derive(Serialize, Deserialize)]
struct Task {
    dir: String,
    /// Where to die; empty = nowhere.
    die_at: String,
    /// How far its clock is ahead, in seconds.
    ahead: i64,
}

const TASK: &str = "OSTIARY_TEST_TASK";
const ADDRESS: &str = "http-address";

// === the child ===

#[derive(Debug)]
struct Abort(Failpoint);

impl Failpoints for Abort {
    fn hit(&self, point: Failpoint) -> Result<(), Crashed> {
        if point == self.0 {
            std::process::abort();
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Ahead(SignedDuration);

impl Clock for Ahead {
    #[expect(clippy::disallowed_methods, reason = "the child lives in real time, shifted")]
    fn now(&self) -> Timestamp {
        Timestamp::now().saturating_add(self.0).expect("far from the end of time")
    }
}

/// Not a test: what a child does. Without a task it does nothing.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent tells its child by a variable")]
async fn child() {
    let Ok(task) = std::env::var(TASK) else { return };
    let task: Task = serde_json::from_str(&task).expect("the parent wrote it");
    let dir = Path::new(&task.dir);
    let clock: Arc<dyn Clock> = Arc::new(Ahead(SignedDuration::from_secs(task.ahead)));
    let config = Config { tokens: tokens(), ..Config::embedded(dir.join("data")) };
    let server = Server::new(config)
        .clock(Arc::clone(&clock))
        .harness(harness())
        .runner(Arc::new(Candidate::honest(clock, PROFILE)));
    let server = match task.die_at.parse::<Failpoint>() {
        Ok(point) => server.failpoints(Arc::new(Abort(point))),
        Err(_) => server,
    };
    let running = server.run().await.expect("starts");
    let partial = dir.join("address.partial");
    std::fs::write(&partial, running.http_url()).expect("written");
    std::fs::rename(&partial, dir.join(ADDRESS)).expect("renamed");
    // Lives until it dies at its place, or the parent has seen enough.
    std::future::pending::<()>().await;
}

// === the parent ===

struct Parent {
    dir: tempfile::TempDir,
    client: HttpClient,
    url: String,
    child: Child,
}

// === impl Parent ===

impl Parent {
    async fn start(die_at: &str) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let client = HttpClient::for_operator(None).expect("no roots");
        let child = spawn(dir.path(), die_at, 0);
        let mut this = Self { dir, client, url: String::new(), child };
        this.find().await;
        this
    }

    /// Starts the next child on what the dead one left.
    async fn start_again(&mut self) {
        std::fs::remove_file(self.dir.path().join(ADDRESS)).expect("the dead one wrote it");
        self.child = spawn(self.dir.path(), "", 3600);
        self.find().await;
    }

    async fn find(&mut self) {
        let path = self.dir.path().join(ADDRESS);
        let found = within(|| async { std::fs::read_to_string(&path).ok() }).await;
        self.url = found.expect("the child serves");
    }

    async fn died(&mut self) {
        let status = tokio::time::timeout(Duration::from_secs(30), self.child.wait()).await;
        let status = status.expect("the child passes its place").expect("it was started");
        assert!(!status.success(), "it aborts");
    }

    async fn send(
        &self,
        method: &str,
        caller: &str,
        path: &str,
        body: Option<(&str, Vec<u8>)>,
    ) -> Option<(u16, Value)> {
        let request = Request::new(method, &format!("{}{path}", self.url))
            .header("Authorization", &format!("Bearer {}", token(caller)));
        let request = match body {
            Some((media_type, bytes)) => request.body(media_type, bytes),
            None => request,
        };
        // A child that dies gives no answer.
        let response = self.client.send(&request).await.ok()?;
        Some((response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null)))
    }

    async fn json(&self, method: &str, caller: &str, path: &str, body: &Value) -> Option<(u16, Value)> {
        self.send(method, caller, path, Some(("application/json", body.to_string().into_bytes()))).await
    }

    async fn get(&self, path: &str) -> Option<Value> {
        self.send("GET", AUDITOR, path, None).await.map(|(_, body)| body)
    }

    async fn prepare(&self, card: &CardServer) {
        let taken = |answer: Option<(u16, Value)>| assert!(answer.as_ref().is_some_and(|a| a.0 < 300), "{answer:?}");
        taken(self.json("PUT", ADMIN, "/api/v1/policies/current", &policy()).await);
        taken(self.json("PUT", ADMIN, "/api/v1/namespaces/acme", &json!({"mode": "enforce"})).await);
        let environment = card.environment().into_bytes();
        let path = "/api/v1/environments/staging";
        taken(self.send("PUT", OPERATOR, path, Some(("application/yaml", environment))).await);
        let archive = planning_agent().to_tar();
        taken(self.send("POST", PUBLISHER, "/api/v1/bundles", Some(("application/x-tar", archive))).await);
    }

    async fn submit(&self) -> Option<(u16, Value)> {
        let body = json!({"bundle": planning_agent().digest.to_string(), "environment": "staging"});
        self.json("POST", PUBLISHER, &format!("{AGENT}/versions"), &body).await
    }
}

fn spawn(dir: &Path, die_at: &str, ahead: i64) -> Child {
    let dir = dir.to_str().expect("UTF-8").to_owned();
    let task = serde_json::to_string(&Task { dir, die_at: die_at.to_owned(), ahead }).expect("plain data");
    Command::new(std::env::current_exe().expect("this binary"))
        .args(["--exact", "killed::child", "--nocapture"])
        .env(TASK, task)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .expect("starts")
}

/// Asks until there is an answer, for half a minute.
async fn within<T, F: Future<Output = Option<T>>>(ask: impl Fn() -> F) -> Option<T> {
    let asking = async {
        let mut pause = tokio::time::interval(Duration::from_millis(20));
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            pause.tick().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), asking).await.ok()
}

async fn killed_at(point: Failpoint) {
    let card = CardServer::of(&planning_agent()).await;
    let mut parent = Parent::start(point.as_str()).await;
    parent.prepare_or_die(&card, point).await;
    parent.submit().await;
    parent.died().await;
    parent.start_again().await;
    if point == Failpoint::IndexNotPublished {
        // It died while it was being prepared: the first commit of all is one that routers are to be told of.
        parent.prepare(&card).await;
    }
    let status = format!("{AGENT}/versions/{VERSION}");
    if parent.get(&status).await.is_none_or(|body| body["state"].is_null()) {
        assert_eq!(
            parent.submit().await.map(|answer| answer.0),
            Some(202),
            "{point}: nothing half stored is in the way"
        );
    }
    let admitted = within(|| async {
        let body = parent.get(&status).await?;
        (body["state"] == "REGISTRY_ADMITTED").then_some(())
    });
    assert!(admitted.await.is_some(), "{point}: {:#}", parent.get(&status).await.unwrap_or_default());
    let evidence = parent.get(&format!("{status}/evidence")).await.expect("answers");
    let decided = |record: &&Value| record["standing"] == "decided" && record["outcome"] == "PASS";
    let gates: Vec<&str> =
        evidence.as_array().expect("a list").iter().filter(decided).filter_map(|r| r["gate"].as_str()).collect();
    assert_eq!(gates.len(), gates.iter().collect::<BTreeSet<_>>().len(), "{point}: committed twice: {gates:?}");
    let audit = parent.get("/api/v1/audit/verify").await.expect("answers");
    assert_eq!(audit["intact"], true, "{point}: {audit}");
}

impl Parent {
    async fn prepare_or_die(&self, card: &CardServer, point: Failpoint) {
        if point == Failpoint::IndexNotPublished {
            // Any commit will do, and the first one is made in preparing.
            self.json("PUT", ADMIN, "/api/v1/namespaces/acme", &json!({"mode": "enforce"})).await;
        } else {
            self.prepare(card).await;
        }
    }
}

macro_rules! killed {
    ($($name:ident: $point:ident,)*) => {
        $(
            #[tokio::test]
            async fn $name() {
                killed_at(Failpoint::$point).await;
            }
        )*

        const TESTED: &[Failpoint] = &[$(Failpoint::$point),*];
    };
}

killed! {
    while_a_submission_is_written: SubmitWritten,
    after_a_submission_was_committed: SubmitCommitted,
    after_a_job_was_claimed: JobClaimed,
    after_a_run_was_driven: RunDriven,
    after_a_run_was_uploaded: RunUploaded,
    after_a_gate_was_judged: GateJudged,
    after_evidence_was_signed: EvidenceSigned,
    while_a_commit_has_its_guards: CommitGuarded,
    while_a_commit_has_written_the_version: CommitVersionWritten,
    while_a_commit_has_written_the_evidence: CommitEvidenceWritten,
    while_a_commit_has_written_all: CommitWritten,
    after_a_commit: CommitDone,
    before_the_index_is_published: IndexNotPublished,
}

#[test]
fn a_process_was_killed_at_every_place() {
    assert_eq!(Failpoint::ALL, TESTED);
}
