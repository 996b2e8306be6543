//! The demo's stage: control plane, people with tokens, sample agents, environments, a router.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use bytes::Bytes;
use ostiary_contract::{Bundle, Files};
use ostiary_drivers::Settings;
use ostiary_protocol::a2a::digest::card_digest;
use ostiary_sample::{Authority, Config as AgentConfig, Lies, PlanningAgent, Running as Agent, Trust};
use ostiary_server::{Config, RolesOf, Running as ControlPlane, Server, TokenConfig, auth::Role};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

use super::{Narrator, clock::DemoClock};
use crate::{
    api::Api,
    commands::{declared_host, fetch},
    error::CliError,
    local,
    router::Router,
    system,
};

/// Where the demo's agents belong.
pub(super) const NAMESPACE: &str = "demo";
/// What the harness calls itself in tokens, and whom they are for.
const ISSUER: &str = "https://identity.example.test";
const AUDIENCE: &str = "https://planning.example.test/a2a";
/// The files that environments name.
const ROOTS: &str = "demo-ca.pem";
const SEED: &str = "harness-seed.hex";

/// Everything that is running.
pub(super) struct World {
    folder: TempDir,
    pub(super) clock: Arc<DemoClock>,
    pub(super) bundle: Bundle,
    control_plane: ControlPlane,
    tokens: Tokens,
    pub(super) publisher: Api,
    pub(super) operator: Api,
    router: Mutex<Router>,
    authority: Authority,
    trust: Trust,
    host: String,
    agents: Mutex<Vec<Arc<Agent>>>,
}

/// One secret a person or machine.
struct Tokens {
    admin: String,
    publisher: String,
    operator: String,
    router: String,
}

/// The planning agent's bundle, as it was when this binary was built.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/planning_agent.rs"));

// === impl World ===

impl World {
    /// Starts the control plane and registers what the story needs.
    pub(super) async fn make(narrator: &Narrator) -> Result<Self, CliError> {
        narrator.say("starting the control plane on an embedded database");
        let folder = tempfile::tempdir().map_err(|e| CliError::because("cannot make a temporary directory", &e))?;
        let bundle = bundle()?;
        let card = bundle.card.as_ref().ok_or_else(|| CliError::could_not_run("the bundle has no card"))?;
        let host = declared_host(&card.value)?;
        let authority = Authority::generate().map_err(|e| CliError::because("cannot speak TLS", &e))?;
        let trust = secrets(&folder, &authority)?;
        let (clock, tokens) = (Arc::new(DemoClock::default()), Tokens::new());
        let server = Server::new(config(&folder, &tokens)).clock(clock.clone()).run().await;
        let control_plane = server.map_err(|e| CliError::because("the control plane did not start", &e))?;
        let api = |token: &str| Api::new(&control_plane.http_url(), Some(token.to_owned()), None);
        let (publisher, operator) = (api(&tokens.publisher)?, api(&tokens.operator)?);
        api(&tokens.admin)?.put(&format!("/api/v1/namespaces/{NAMESPACE}"), &json!({"mode": "enforce"})).await?;
        let router = Router::connect(&control_plane.grpc_url(), Some(&tokens.router)).await?;
        let world = Self {
            folder,
            clock,
            bundle,
            control_plane,
            tokens,
            publisher,
            operator,
            router: Mutex::new(router),
            authority,
            trust,
            host,
            agents: Mutex::default(),
        };
        world.publisher.put(&world.agent_path(), &json!({"owner": "Example Planning Team"})).await?;
        world.publisher.upload("POST", "/api/v1/bundles", "application/x-tar", world.bundle.to_tar()).await?;
        Ok(world)
    }

    /// `namespace/agent`.
    pub(super) fn agent(&self) -> String {
        format!("{NAMESPACE}/{}", self.bundle.contract.producer.agent_id.value)
    }

    /// Where the agent is in the API.
    pub(super) fn agent_path(&self) -> String {
        format!("/api/v1/agents/{}", self.agent())
    }

    /// Asks as the router does.
    pub(super) async fn router(&self) -> MutexGuard<'_, Router> {
        self.router.lock().await
    }

    /// Starts an agent that lies so, and registers an environment in which it is verified.
    pub(super) async fn start_agent(&self, environment: &str, lies: Lies) -> Result<Arc<Agent>, CliError> {
        let card = self.bundle.card.as_ref().map_or_else(Bytes::new, |card| card.bytes.clone());
        let mut config = AgentConfig::new(card, self.trust.clone());
        config.lies = lies;
        let identity = self.authority.issue(&[&self.host]);
        config.tls = Some(identity.map_err(|e| CliError::because("cannot speak TLS", &e))?);
        let agent = PlanningAgent::start(config).await;
        let agent = Arc::new(agent.map_err(|e| CliError::because("the sample agent did not start", &e))?);
        self.agents.lock().await.push(Arc::clone(&agent));
        let document = self.environment(environment, &agent);
        let path = format!("/api/v1/environments/{environment}");
        self.operator.upload("PUT", &path, "application/yaml", document).await?;
        Ok(agent)
    }

    /// The digest of the card that `agent` serves now, as a router sees it.
    pub(super) async fn card_digest(&self, agent: &Agent) -> Result<String, CliError> {
        let settings = Settings {
            connect_to: [(format!("{}:443", self.host), agent.addr().to_string())].into(),
            trust_roots: Some(self.authority.root_pem().into_bytes()),
            ..Settings::default()
        };
        let fetched = fetch(settings, &self.card_url()).await?;
        let card: Value =
            serde_json::from_slice(&fetched.body).map_err(|e| CliError::because("the agent's card is no JSON", &e))?;
        let digest = card_digest(&card).map_err(|e| CliError::because("the card has no canonical form", &e))?;
        Ok(digest.to_string())
    }

    /// What somebody needs who wants to look around.
    pub(super) fn addresses(&self) -> BTreeMap<&'static str, String> {
        BTreeMap::from([
            ("http", self.control_plane.http_url()),
            ("grpc", self.control_plane.grpc_url()),
            ("admin_token", self.tokens.admin.clone()),
            ("publisher_token", self.tokens.publisher.clone()),
            ("operator_token", self.tokens.operator.clone()),
            ("router_token", self.tokens.router.clone()),
            ("files", self.folder.path().display().to_string()),
        ])
    }

    /// Stops everything.
    pub(super) async fn stop(self) {
        self.control_plane.shutdown().await;
        for agent in self.agents.into_inner() {
            if let Some(agent) = Arc::into_inner(agent) {
                agent.stop().await;
            }
        }
    }

    fn card_url(&self) -> String {
        format!("https://{}/.well-known/agent-card.json", self.host)
    }

    fn environment(&self, name: &str, agent: &Agent) -> String {
        let subject = |tenant: &str| json!({"profile": "user", "tenant_class": "standard", "tenant": tenant, "scopes": ["plan.write"]});
        let with = |mut subject: Value, flag: &str| {
            subject[flag] = json!(true);
            subject
        };
        let (a, b) = (subject("tenant-fixture-a"), subject("tenant-fixture-b"));
        // JSON is YAML
        json!({"environment": {
            "name": name,
            "strictness": "production",
            "connect_to": {format!("{}:443", self.host): agent.addr().to_string()},
            "trust_roots": ROOTS,
            "a2a": {"card_url": self.card_url()},
            "identity": {"issuer": "harness", "key_file": SEED, "token_issuer": ISSUER, "audience": AUDIENCE},
            "subjects": {
                "allowed-user-a": a,
                "allowed-user-b": b,
                "expired-a": with(a.clone(), "expired"),
                "foreign-a": with(a.clone(), "foreign"),
            },
            "cleared_effects": ["read", "write"],
            "budget": {"calls": 2000, "rate_per_s": 1000},
        }})
        .to_string()
    }
}

// === impl Tokens ===

impl Tokens {
    fn new() -> Self {
        let token = || format!("{}{}", system::new_id("demo"), system::new_id(""));
        Self { admin: token(), publisher: token(), operator: token(), router: token() }
    }
}

fn bundle() -> Result<Bundle, CliError> {
    let files: Files = FILES.iter().map(|(path, bytes)| ((*path).to_owned(), Bytes::from_static(bytes))).collect();
    Bundle::load(&files)
        .map_err(|problems| CliError::could_not_run(format!("the demo's bundle is broken:\n{problems}")))
}

/// Writes the files that environments name, and says whose tokens agents take.
fn secrets(folder: &TempDir, authority: &Authority) -> Result<Trust, CliError> {
    let seed = system::random();
    local::write(&folder.path().join(ROOTS), authority.root_pem().as_bytes())?;
    local::write(&folder.path().join(SEED), hex::encode(seed).as_bytes())?;
    let signer = ostiary_lab::TokenSigner::from_seed(seed);
    Trust::from_jwks(ISSUER, AUDIENCE, &signer.jwks())
        .map_err(|e| CliError::because("cannot use the harness's key", &e))
}

fn config(folder: &TempDir, tokens: &Tokens) -> Config {
    let own = [NAMESPACE];
    let token = |name: &str, token: &str, role: Role, namespaces: &[&str], person: bool| {
        TokenConfig::of(name, token, RolesOf { roles: &[role], namespaces, person })
    };
    let mut config = Config::embedded(PathBuf::from(folder.path()).join("control-plane"));
    config.worker.environment_files = Some(folder.path().to_owned());
    config.tokens = vec![
        token("ada", &tokens.admin, Role::Admin, &["*"], true),
        token("paula", &tokens.publisher, Role::Publisher, &own, true),
        token("otto", &tokens.operator, Role::Operator, &["*"], true),
        token("router-1", &tokens.router, Role::Router, &own, false),
    ];
    config
}
