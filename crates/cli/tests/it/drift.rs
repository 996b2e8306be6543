//! P-03 on a real agent: admitted by real runs, it begins to serve another card, and a router notices.

use std::{future::Future, time::Duration};

use ostiary_contract::Bundle;
use ostiary_drivers::{
    HttpTransport, Settings,
    http_client::{HttpClient, Request},
};
use ostiary_proto::{
    admission::v1::{CheckAdmissionRequest, admission_service_client::AdmissionServiceClient},
    drift::v1::{DriftAction, DriftFinding, DriftKind, ReportDriftRequest, drift_service_client::DriftServiceClient},
};
use ostiary_protocol::a2a::digest::card_digest;
use ostiary_record::ports::{Fetch as _, Limits};
use ostiary_sample::{Authority, Config as AgentConfig, Lie, Lies, PlanningAgent, Running as Agent, Trust};
use ostiary_server::{Config, RolesOf, Running, Server, TokenConfig, auth::Role};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::program::run;

const AGENT: &str = "team/agent-fixture-planning";
const VERSION: &str = "3.4.1";
const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";
const HOST: &str = "planning.example.test";
const ISSUER: &str = "https://identity.example.test";
const AUDIENCE: &str = "https://planning.example.test/a2a";
/// Real runs in a debug build on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);
const ALWAYS_MADE_UP: &str = "sha256:1111111111111111111111111111111111111111111111111111111111111111";

/// A control plane, two routers, and the sample agent behind TLS.
struct Site {
    folder: TempDir,
    server: Running,
    agent: Option<Agent>,
    authority: Authority,
    http: HttpClient,
}

// === impl Site ===

impl Site {
    /// Starts everything and brings the version to ACTIVE.
    async fn active() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let authority = Authority::generate().unwrap();
        let seed = [7; 32];
        std::fs::write(folder.path().join("ca.pem"), authority.root_pem()).unwrap();
        std::fs::write(folder.path().join("seed.hex"), hex::encode(seed)).unwrap();
        let trust = Trust::from_jwks(ISSUER, AUDIENCE, &ostiary_lab::TokenSigner::from_seed(seed).jwks()).unwrap();
        let bundle = planning_agent();
        let mut config = AgentConfig::new(bundle.card.as_ref().unwrap().bytes.clone(), trust);
        config.tls = Some(authority.issue(&[HOST]).unwrap());
        let agent = PlanningAgent::start(config).await.unwrap();
        let server = Server::new(settings(&folder)).run().await.unwrap();
        let http = HttpClient::for_operator(None).unwrap();
        let site = Self { folder, server, agent: Some(agent), authority, http };
        site.admit(&bundle).await;
        site
    }

    async fn admit(&self, bundle: &Bundle) {
        self.call("PUT", "ada", "/api/v1/namespaces/team", json!({"mode": "enforce"})).await;
        self.call("PUT", "paula", &format!("/api/v1/agents/{AGENT}"), json!({"owner": "the team"})).await;
        let document = self.environment().to_string();
        self.send(self.request("PUT", "otto", "/api/v1/environments/staging").body("application/yaml", document)).await;
        let archive = bundle.to_tar();
        self.send(self.request("POST", "paula", "/api/v1/bundles").body("application/x-tar", archive)).await;
        let submission = json!({"bundle": bundle.digest.to_string(), "environment": "staging"});
        self.call("POST", "paula", &format!("/api/v1/agents/{AGENT}/versions"), submission).await;
        self.until_state("REGISTRY_ADMITTED").await;
        for state in ["CANARY", "ACTIVE"] {
            self.call("POST", "otto", &format!("{}/promote", version()), json!({"reason": "ready"})).await;
            self.until_state(state).await;
        }
    }

    fn environment(&self) -> Value {
        let subject = |tenant: &str| json!({"profile": "user", "tenant_class": "standard", "tenant": tenant, "scopes": ["plan.write"]});
        let (mut expired, mut foreign) = (subject("tenant-fixture-a"), subject("tenant-fixture-a"));
        expired["expired"] = json!(true);
        foreign["foreign"] = json!(true);
        let agent = self.agent.as_ref().unwrap();
        json!({"environment": {
            "name": "staging",
            "strictness": "production",
            "connect_to": {format!("{HOST}:443"): agent.addr().to_string()},
            "trust_roots": "ca.pem",
            "a2a": {"card_url": format!("https://{HOST}/.well-known/agent-card.json")},
            "identity": {"issuer": "harness", "key_file": "seed.hex", "token_issuer": ISSUER, "audience": AUDIENCE},
            "subjects": {
                "allowed-user-a": subject("tenant-fixture-a"), "allowed-user-b": subject("tenant-fixture-b"),
                "expired-a": expired, "foreign-a": foreign,
            },
            "cleared_effects": ["read", "write"],
            "budget": {"calls": 2000, "rate_per_s": 1000},
        }})
    }

    fn request(&self, method: &str, caller: &str, path: &str) -> Request {
        let url = format!("{}{path}", self.server.http_url());
        Request::new(method, &url).header("Authorization", &format!("Bearer {}", token(caller)))
    }

    async fn send(&self, request: Request) -> Value {
        let answer = self.http.send(&request).await.unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
        assert!(answer.status < 300, "{}: {} {body}", request.url, answer.status);
        body
    }

    async fn call(&self, method: &str, caller: &str, path: &str, body: Value) -> Value {
        self.send(self.request(method, caller, path).body("application/json", body.to_string())).await
    }

    async fn get(&self, path: &str) -> Value {
        self.send(self.request("GET", "otto", path)).await
    }

    async fn state(&self) -> String {
        self.get(&version()).await["state"].as_str().unwrap().to_owned()
    }

    async fn until_state(&self, wanted: &str) {
        self.until(wanted, || async { self.state().await == wanted }).await;
    }

    async fn until<F: Future<Output = bool>>(&self, what: &str, condition: impl Fn() -> F) {
        let waiting = async {
            let mut waiter = self.server.app().wake.waiter();
            while !condition().await {
                waiter.wait(Duration::from_millis(50)).await;
            }
        };
        let reached = tokio::time::timeout(PATIENCE, waiting).await.is_ok();
        assert!(reached, "timed out: {what}: {:#}", self.get(&version()).await);
        let newest = self.server.app().store.revision().await.unwrap();
        assert!(self.server.app().feed.reach(newest, PATIENCE).await);
    }

    /// The digest of the card that is served now, as a router sees it.
    async fn served(&self) -> String {
        let agent = self.agent.as_ref().unwrap();
        let transport = HttpTransport::new(Settings {
            connect_to: [(format!("{HOST}:443"), agent.addr().to_string())].into(),
            trust_roots: Some(self.authority.root_pem().into_bytes()),
            ..Settings::default()
        });
        let url = format!("https://{HOST}/.well-known/agent-card.json");
        let fetched = transport.unwrap().get(&url, &[], Limits::default()).await.unwrap();
        card_digest(&serde_json::from_slice(&fetched.body).unwrap()).unwrap().to_string()
    }

    /// What the router is told about a dispatch for which it saw `card`.
    async fn asked(&self, card: &str) -> String {
        let mut client = AdmissionServiceClient::connect(self.server.grpc_url()).await.unwrap();
        let question = CheckAdmissionRequest {
            agent: AGENT.to_owned(),
            version: VERSION.to_owned(),
            card_digest: card.to_owned(),
            profile: PROFILE.to_owned(),
            ..CheckAdmissionRequest::default()
        };
        let answer = client.check_admission(authorized("router-1", question)).await.unwrap().into_inner();
        answer.reason().as_str_name().trim_start_matches("DECISION_REASON_").to_owned()
    }

    async fn reported(&self, router: &str, card: &str) -> DriftAction {
        let mut client = DriftServiceClient::connect(self.server.grpc_url()).await.unwrap();
        let mut now = ReportDriftRequest::default().first_seen;
        now.insert(Default::default()).seconds = self.server.app().clock.now().as_second();
        let report = ReportDriftRequest {
            idempotency_key: format!("{router} {card}"),
            router_id: router.to_owned(),
            agent: AGENT.to_owned(),
            version: VERSION.to_owned(),
            kind: DriftKind::Card.into(),
            finding: DriftFinding::Mismatch.into(),
            observed_digest: card.to_owned(),
            first_seen: now,
            last_seen: now,
            count: 1,
            ..ReportDriftRequest::default()
        };
        client.report_drift(authorized(router, report)).await.unwrap().into_inner().action()
    }

    async fn drift(&self) -> Value {
        self.get(&format!("{}/drift-reports", version())).await
    }

    async fn stop(self) {
        self.server.shutdown().await;
        drop(self.folder);
    }
}

#[tokio::test]
async fn an_agent_that_changes_its_card_is_quarantined_and_a_rogue_router_is_not_believed() {
    let site = Site::active().await;
    let admitted = site.served().await;
    assert_eq!(site.asked(&admitted).await, "ALLOWED");

    // The honest twin: one router lies, and the agent is as it was.
    assert_eq!(site.reported("router-2", ALWAYS_MADE_UP).await, DriftAction::Revalidating);
    assert_eq!(site.asked(&admitted).await, "ALLOWED", "who sees the admitted card is dispatched");
    site.until("it is cleared", || async { site.drift().await["revalidation"].is_null() }).await;
    assert_eq!(site.drift().await["reports"][0]["conclusion"], "unfounded");
    assert_eq!((site.state().await.as_str(), site.asked(&admitted).await.as_str()), ("ACTIVE", "ALLOWED"));

    // The agent serves another card.
    site.agent.as_ref().unwrap().set_lies(Lies::from(Lie::RequiredExtension));
    let other = site.served().await;
    assert_ne!(other, admitted);
    assert_eq!(site.asked(&other).await, "CARD_DIGEST_MISMATCH", "the first dispatch that sees it is denied");
    site.until_state("QUARANTINED").await;
    assert_eq!(site.asked(&admitted).await, "QUARANTINED");
    let evidence = site.get(&format!("{}/evidence", version())).await;
    let failed = evidence.as_array().unwrap().iter().find(|e| e["outcome"] == "FAIL").unwrap();
    assert_eq!(failed["subject"]["card_digest"], json!(other));
    let again = async || {
        let evidence = site.get(&format!("{}/evidence", version())).await;
        let since = |e: &&Value| e["revision"].as_u64() > failed["revision"].as_u64();
        evidence.as_array().unwrap().iter().filter(since).any(|e| e["gate"] == "conformance")
    };
    site.until("it is verified anew", || async { again().await }).await;
    assert_eq!(site.state().await, "QUARANTINED", "and stays off the road until people release it");
    people_read_it(&site).await;
    site.stop().await;
}

#[tokio::test]
async fn an_agent_that_is_away_is_stopped_by_two_routers_and_not_by_one() {
    let mut site = Site::active().await;
    let admitted = site.served().await;
    site.agent.take().unwrap().stop().await;
    assert_eq!(site.reported("router-1", ALWAYS_MADE_UP).await, DriftAction::Revalidating);
    let failed = async || site.drift().await["revalidation"]["failed_looks"].as_u64().unwrap_or_default();
    site.until("a look failed", || async { failed().await > 0 }).await;
    assert_eq!(site.asked(&admitted).await, "ALLOWED", "one router stops nothing");
    assert_eq!(site.reported("router-2", ALWAYS_MADE_UP).await, DriftAction::RevalidatingForAll);
    assert_eq!(site.asked(&admitted).await, "REVALIDATING");
    assert_eq!(site.state().await, "ACTIVE", "and nothing is taken down");
    site.stop().await;
}

/// The same from the command line.
async fn people_read_it(site: &Site) {
    let file = site.folder.path().join("otto.token");
    std::fs::write(&file, token("otto")).unwrap();
    let of = ["--agent", AGENT, "--version", VERSION, "--server", &site.server.http_url(), "--token-file"]
        .map(str::to_owned);
    let of: Vec<String> = of.into_iter().chain([file.to_str().unwrap().to_owned()]).collect();
    let ended = async |command: &'static str| {
        let of = of.clone();
        let run =
            move || run(&[&["version", command][..], &of.iter().map(String::as_str).collect::<Vec<_>>()].concat());
        tokio::task::spawn_blocking(run).await.unwrap()
    };
    let drift = ended("drift").await;
    assert_eq!(drift.code, 0, "{drift:?}");
    for word in ["router-2", "unfounded", "ostiary-pdp", "quarantined"] {
        assert!(drift.stdout.contains(word), "{word}: {}", drift.stdout);
    }
    let outcomes = ended("outcomes").await;
    assert!(outcomes.code == 0 && outcomes.stdout.contains("since"), "{outcomes:?}");
}

fn version() -> String {
    format!("/api/v1/agents/{AGENT}/versions/{VERSION}")
}

fn token(caller: &str) -> String {
    format!("token-of-{caller}-0123456789abcdef")
}

fn authorized<T>(caller: &str, message: T) -> tonic::Request<T> {
    let mut request = tonic::Request::new(message);
    request.metadata_mut().insert("authorization", format!("Bearer {}", token(caller)).parse().unwrap());
    request
}

fn planning_agent() -> Bundle {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bundles/planning-agent");
    Bundle::load(&ostiary_worker::bundle_dir::read(&root).unwrap()).unwrap()
}

fn settings(folder: &TempDir) -> Config {
    let of = |name: &str, role: Role, namespaces: &[&str], person: bool| {
        TokenConfig::of(name, &token(name), RolesOf { roles: &[role], namespaces, person })
    };
    let mut config = Config::embedded(folder.path().join("control-plane"));
    config.worker.environment_files = Some(folder.path().to_owned());
    config.tokens = vec![
        of("ada", Role::Admin, &["*"], true),
        of("paula", Role::Publisher, &["team"], true),
        of("otto", Role::Operator, &["*"], true),
        of("router-1", Role::Router, &["team"], false),
        of("router-2", Role::Router, &["team"], false),
    ];
    config
}
