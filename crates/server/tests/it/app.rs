//! The server under test.

use std::{
    collections::BTreeMap,
    future::Future,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_contract::Bundle;
use ostiary_domain::{Failpoints, JobState, NoFailpoints, Policy, registry::Role};
use ostiary_drivers::http_client::{HttpClient, Request, Response};
use ostiary_proto::admission::v1::{
    self as wire, CheckAdmissionRequest, CheckAdmissionResponse, admission_service_client::AdmissionServiceClient,
};
use ostiary_record::Gate;
use ostiary_server::{
    Config, RolesOf, Running, Server, TokenConfig, app::App, entropy::SeededEntropy, snapshot::FILE,
    system::ManualClock,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{net::TcpListener, task::JoinSet};

use crate::candidate::{Candidate, harness};

/// The profile that the planning agent's bundle activates.
pub const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";
/// The version of its card.
pub const VERSION: &str = "3.4.1";
pub const AGENT: &str = "/api/v1/agents/acme/planner";

/// Callers, by the name of their token; the token is `token-of-<name>`.
pub const PUBLISHER: &str = "pat-publisher";
pub const OPERATOR: &str = "oki-operator";
/// A second person who operates.
pub const APPROVER: &str = "ria-risk";
pub const ROUTER: &str = "router-1";
/// A second router of the same namespace.
pub const SECOND_ROUTER: &str = "router-2";
/// A router of another namespace.
pub const FAR_ROUTER: &str = "router-far";
pub const WORKER: &str = "worker-1";
pub const AUDITOR: &str = "ada-auditor";
pub const ADMIN: &str = "root";
/// A publisher of another namespace.
pub const STRANGER: &str = "sam-stranger";

pub struct TestApp {
    dir: TempDir,
    pub clock: Arc<ManualClock>,
    pub candidate: Candidate,
    pub card: CardServer,
    pub bundle: Bundle,
    failpoints: Arc<dyn Failpoints>,
    client: HttpClient,
    running: Option<Running>,
    config: Box<dyn Fn(&mut Config) + Send + Sync>,
}

/// Serves the agent's card, and nothing else.
pub struct CardServer {
    pub addr: SocketAddr,
    bytes: Arc<Mutex<Bytes>>,
    _serving: JoinSet<()>,
}

// === impl TestApp ===

impl TestApp {
    /// A server with a namespace, an environment and an uploaded bundle.
    pub async fn start() -> Self {
        Self::with(Arc::new(NoFailpoints), |_| {}).await
    }

    pub async fn with(failpoints: Arc<dyn Failpoints>, config: impl Fn(&mut Config) + Send + Sync + 'static) -> Self {
        let bundle = planning_agent();
        let card = CardServer::of(&bundle).await;
        let clock = Arc::new(ManualClock::new("2026-03-01T00:00:00Z".parse().expect("a time")));
        let candidate = Candidate::honest(clock.clone(), PROFILE);
        let client = HttpClient::for_operator(None).expect("no roots");
        let dir = tempfile::tempdir().expect("a directory");
        let config = Box::new(config);
        let mut app = Self { dir, clock, candidate, card, bundle, failpoints, client, running: None, config };
        app.boot().await;
        app.prepare().await;
        app
    }

    async fn boot(&mut self) {
        let mut config = Config { tokens: tokens(), ..Config::embedded(self.dir.path()) };
        (self.config)(&mut config);
        let server = Server::new(config)
            .clock(self.clock.clone())
            .entropy(Arc::new(SeededEntropy::new(&format!("boot at {}", self.now()))))
            .failpoints(Arc::clone(&self.failpoints))
            .harness(harness())
            .runner(Arc::new(self.candidate.clone()));
        self.running = Some(server.run().await.expect("starts"));
    }

    async fn prepare(&self) {
        assert_eq!(self.put(ADMIN, "/api/v1/policies/current", &policy()).await.0, 200);
        assert_eq!(self.put(ADMIN, "/api/v1/namespaces/acme", &json!({"mode": "enforce"})).await.0, 200);
        let environment = self.card.environment();
        let answer = self
            .send(self.request("PUT", OPERATOR, "/api/v1/environments/staging").body("application/yaml", environment))
            .await;
        assert_eq!(answer.0, 200, "{}", answer.1);
        let answer = self.upload(PUBLISHER, self.bundle.to_tar()).await;
        assert_eq!(answer.0, 201, "{}", answer.1);
    }

    /// A second server beside this one, on the same database, with the same key and a directory of its own.
    pub async fn replica(&self) -> (Running, TempDir) {
        let dir = tempfile::tempdir().expect("a directory");
        let key = "signing-key.pem";
        std::fs::copy(self.dir.path().join(key), dir.path().join(key)).expect("the key is shared");
        let mut config = Config { tokens: tokens(), ..Config::embedded(dir.path()) };
        (self.config)(&mut config);
        let server = Server::new(config)
            .clock(self.clock.clone())
            .entropy(Arc::new(SeededEntropy::new("the second replica")))
            .harness(harness())
            .runner(Arc::new(self.candidate.clone()));
        (server.run().await.expect("starts"), dir)
    }

    /// Stops the server and starts it again on the same files.
    pub async fn restart(&mut self) {
        self.restart_after(|_| {}).await;
    }

    /// The same without the snapshot: everything is read and verified anew.
    pub async fn restart_from_database(&mut self) {
        let forget = |dir: &Path| std::fs::remove_file(dir.join(FILE)).expect("a stopped server leaves its snapshot");
        self.restart_after(forget).await;
    }

    /// The same; in between somebody touches its files.
    pub async fn restart_after(&mut self, between: impl FnOnce(&Path)) {
        self.running.take().expect("runs").shutdown().await;
        between(self.dir.path());
        self.boot().await;
    }

    /// The same with other failpoints.
    pub async fn restart_with(&mut self, failpoints: Arc<dyn Failpoints>) {
        self.failpoints = failpoints;
        self.restart().await;
    }

    pub fn running(&self) -> &Running {
        self.running.as_ref().expect("runs")
    }

    pub fn app(&self) -> &Arc<App> {
        self.running().app()
    }

    pub fn now(&self) -> Timestamp {
        use ostiary_domain::Clock as _;
        self.clock.now()
    }

    /// Moves the clock and lets the server notice.
    pub async fn advance(&self, by: SignedDuration) {
        self.clock.advance(by);
        self.app().feed.refresh().await.expect("the database answers");
        self.app().work.ring();
    }

    // --- HTTP ---

    pub fn request(&self, method: &str, caller: &str, path: &str) -> Request {
        let url = format!("{}{path}", self.running().http_url());
        Request::new(method, &url).header("Authorization", &format!("Bearer {}", token(caller)))
    }

    pub async fn raw(&self, request: Request) -> Response {
        self.client.send(&request).await.expect("an answer")
    }

    pub async fn send(&self, request: Request) -> (u16, Value) {
        let response = self.raw(request).await;
        (response.status, serde_json::from_slice(&response.body).unwrap_or(Value::Null))
    }

    pub async fn get(&self, caller: &str, path: &str) -> (u16, Value) {
        self.send(self.request("GET", caller, path)).await
    }

    pub async fn post(&self, caller: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(self.request("POST", caller, path).body("application/json", body.to_string())).await
    }

    pub async fn put(&self, caller: &str, path: &str, body: &Value) -> (u16, Value) {
        self.send(self.request("PUT", caller, path).body("application/json", body.to_string())).await
    }

    pub async fn upload(&self, caller: &str, archive: Vec<u8>) -> (u16, Value) {
        self.send(self.request("POST", caller, "/api/v1/bundles").body("application/x-tar", archive)).await
    }

    // --- the agent under test ---

    pub fn submission(&self) -> Value {
        json!({"bundle": self.bundle.digest.to_string(), "environment": "staging"})
    }

    pub async fn submit(&self) -> (u16, Value) {
        self.post(PUBLISHER, &format!("{AGENT}/versions"), &self.submission()).await
    }

    /// Does something to the version as the operator; it must be taken.
    pub async fn act(&self, what: &str) -> Value {
        self.act_on(VERSION, what).await
    }

    pub async fn act_on(&self, version: &str, what: &str) -> Value {
        let path = format!("{AGENT}/versions/{version}/{what}");
        let (status, body) = self.post(OPERATOR, &path, &json!({"reason": "a test wants it"})).await;
        assert!(status < 300, "{what}: {status} {body}");
        body
    }

    pub async fn status(&self) -> Value {
        self.status_of(VERSION).await
    }

    pub async fn status_of(&self, version: &str) -> Value {
        self.get(AUDITOR, &format!("{AGENT}/versions/{version}")).await.1
    }

    pub async fn state(&self) -> String {
        self.status().await["state"].as_str().expect("a state").to_owned()
    }

    /// Submits the version and waits until it is admitted.
    pub async fn admit(&self) {
        assert_eq!(self.submit().await.0, 202);
        self.drain_jobs().await;
        assert_eq!(self.state().await, "REGISTRY_ADMITTED", "{:#}", self.status().await);
    }

    /// Takes it to ACTIVE.
    pub async fn activate(&self) {
        self.admit().await;
        for state in ["CANARY", "ACTIVE"] {
            self.act("promote").await;
            self.drain_jobs().await;
            assert_eq!(self.state().await, state, "{:#}", self.status().await);
        }
    }

    /// Has the version verified again and waits for the result.
    pub async fn verify(&self) {
        self.act("verify").await;
        self.drain_jobs().await;
    }

    /// Waits until no run of any version waits or goes on.
    pub async fn drain_jobs(&self) {
        self.until("no job is open", || async {
            let agent = "acme/planner".parse().expect("a name");
            let versions = self.app().store.versions(&agent).await.expect("answers");
            for version in versions {
                let jobs = self.app().store.jobs_of(&version.key).await.expect("answers");
                if jobs.iter().any(|job| matches!(job.state, JobState::Queued | JobState::Leased)) {
                    return false;
                }
            }
            true
        })
        .await;
        let newest = self.app().store.revision().await.expect("answers");
        assert!(self.app().feed.reach(newest, Duration::from_secs(10)).await);
    }

    /// Waits for a condition; looks whenever something was committed.
    pub async fn until<F: Future<Output = bool>>(&self, what: &str, condition: impl Fn() -> F) {
        let waiting = async {
            let mut waiter = self.app().wake.waiter();
            while !condition().await {
                waiter.wait(Duration::from_millis(20)).await;
            }
        };
        assert!(tokio::time::timeout(Duration::from_secs(30), waiting).await.is_ok(), "timed out: {what}");
    }

    // --- routers ---

    /// The question that an honest router asks about the version.
    pub async fn question(&self) -> CheckAdmissionRequest {
        let status = self.status().await;
        CheckAdmissionRequest {
            agent: "acme/planner".to_owned(),
            version: VERSION.to_owned(),
            card_digest: status["subject"]["card_digest"].as_str().unwrap_or_default().to_owned(),
            profile: PROFILE.to_owned(),
            ..CheckAdmissionRequest::default()
        }
    }

    pub async fn check(&self, question: CheckAdmissionRequest) -> CheckAdmissionResponse {
        self.check_as(ROUTER, question).await.expect("a decision")
    }

    pub async fn check_as(
        &self,
        caller: &str,
        question: CheckAdmissionRequest,
    ) -> Result<CheckAdmissionResponse, tonic::Status> {
        let mut client = AdmissionServiceClient::connect(self.running().grpc_url()).await.expect("listens");
        let mut request = tonic::Request::new(question);
        let field = format!("Bearer {}", token(caller)).parse().expect("ASCII");
        request.metadata_mut().insert("authorization", field);
        client.check_admission(request).await.map(tonic::Response::into_inner)
    }

    pub async fn reason(&self, question: CheckAdmissionRequest) -> String {
        let decision = self.check(question).await;
        let allowed = decision.outcome() == wire::Outcome::Allow;
        let name = decision.reason().as_str_name().trim_start_matches("DECISION_REASON_").to_owned();
        assert_eq!(allowed, name.starts_with("ALLOWED"), "outcome and reason contradict each other: {name}");
        name
    }
}

// === impl CardServer ===

impl CardServer {
    async fn start(card: Bytes) -> Self {
        let bytes = Arc::new(Mutex::new(card));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = listener.local_addr().expect("bound");
        let served = Arc::clone(&bytes);
        let router = axum::Router::new().route(
            "/card",
            axum::routing::get(move || {
                let bytes = served.lock().expect("unpoisoned").clone();
                async move { ([("content-type", "application/json")], bytes) }
            }),
        );
        let mut serving = JoinSet::new();
        serving.spawn(async { axum::serve(listener, router).await.expect("serves") });
        Self { addr, bytes, _serving: serving }
    }

    /// Serves the card of a bundle.
    pub async fn of(bundle: &Bundle) -> Self {
        Self::start(bundle.card.as_ref().expect("an A2A agent").bytes.clone()).await
    }

    pub fn environment(&self) -> String {
        format!(
            "environment:\n  name: staging\n  allow_insecure_http: true\n  a2a: {{ card_url: 'http://{}/card' }}\n  \
             cleared_effects: [read, write]\n",
            self.addr
        )
    }

    /// From now on serves these bytes.
    pub fn serve(&self, bytes: impl Into<Bytes>) {
        *self.bytes.lock().expect("unpoisoned") = bytes.into();
    }
}

pub fn token(caller: &str) -> String {
    format!("token-of-{caller}")
}

pub fn planning_agent() -> Bundle {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bundles/planning-agent");
    let mut files = ostiary_worker::bundle_dir::read(&root).expect("the shipped bundle reads");
    // it is another team's agent here, under a shorter name
    let contract = String::from_utf8(files["contract.yaml"].to_vec()).expect("a text");
    let renamed = contract.replace("agent_id: agent-fixture-planning", "agent_id: planner");
    assert_ne!(renamed, contract);
    files.insert("contract.yaml".to_owned(), renamed.into());
    Bundle::load(&files).expect("the shipped bundle is well-formed")
}

/// The product's policy without the names of the product's checks: these tests bring their own.
pub fn policy() -> Value {
    let mut policy = Policy::one();
    policy.gates.values_mut().for_each(|rule| rule.checks.clear());
    serde_json::to_value(policy).expect("plain data")
}

/// Each gate's newest outcome.
pub async fn outcomes(app: &TestApp) -> BTreeMap<String, String> {
    let (_, gates) = app.get(AUDITOR, &format!("{AGENT}/versions/{VERSION}/gates")).await;
    let results = gates["results"].as_array().expect("a list");
    let text = |value: &Value, key: &str| value[key].as_str().expect("a text").to_owned();
    let all = Gate::ALL.iter().filter_map(|gate| {
        let newest = results.iter().rev().find(|result| result["gate"] == gate.as_str())?;
        Some((gate.to_string(), text(newest, "outcome")))
    });
    all.collect()
}

pub fn tokens() -> Vec<TokenConfig> {
    let of = |name: &str, role: Role, namespaces: &[&str], person: bool| {
        TokenConfig::of(name, &token(name), RolesOf { roles: &[role], namespaces, person })
    };
    vec![
        of(PUBLISHER, Role::Publisher, &["acme"], true),
        of(STRANGER, Role::Publisher, &["globex"], true),
        of(OPERATOR, Role::Operator, &["*"], true),
        of(APPROVER, Role::Operator, &["*"], true),
        of(ROUTER, Role::Router, &["acme"], false),
        of(SECOND_ROUTER, Role::Router, &["acme"], false),
        of(FAR_ROUTER, Role::Router, &["globex"], false),
        of(WORKER, Role::Verifier, &[], false),
        of(AUDITOR, Role::Auditor, &["*"], true),
        of(ADMIN, Role::Admin, &["*"], true),
    ]
}
