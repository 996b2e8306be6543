//! A candidate, an environment and a small harness, all in memory.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use ostiary_contract::Bundle;
use ostiary_record::{
    Blob, CredentialKind, End, EnvironmentFacts, Event, ExchangeId, Finding, Gate, Kind, Layer, MonoNanos, Monotonic,
    NoSink, ReasonCode, Route, Run, Severity, Source, SubjectFacts, Tape,
    ports::{
        Abort, Actor, BoxFuture, Channel, CouldNotRun, Deadline, Fetch, Fetched, Identity, Limits, Next, Outbound,
        Target, Timer, Transport,
    },
};
use ostiary_verify::{
    Allowance, Check, CheckSpec, Facts, Harness, Ports, Reads, Request, Role, Scenario, ScenarioSpec, Stage,
};

/// The card of the candidate.
pub const CARD: &str = r#"{
  "name": "Fixture", "description": "A fixture.", "version": "1.2.3",
  "supportedInterfaces": [{"url": "https://agent.example.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
  "capabilities": {"streaming": true},
  "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
  "skills": [{"id": "s", "name": "S", "description": "S.", "tags": ["t"]}]
}"#;
pub const PROFILE: &str = "a2a-jsonrpc-1.0";

/// What the candidate answers to one request.
#[derive(Clone)]
pub enum Answer {
    /// A whole answer.
    Whole(u16, Vec<(&'static str, &'static str)>, &'static str),
    /// Nothing, ever.
    Silence,
    /// No end in the time of one answer.
    Late,
    /// No connection.
    Refused,
}

pub type Behaviour = Arc<dyn Fn(&str, &Outbound) -> Answer + Send + Sync>;

/// The candidate's wire.
pub struct Wire {
    pub behaviour: Behaviour,
    pub calls: Arc<AtomicU64>,
}

struct Line {
    tape: Tape,
    actor: String,
    behaviour: Behaviour,
    calls: Arc<AtomicU64>,
    queue: Vec<Event>,
}

impl Transport for Wire {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        _: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        let opened = Kind::Opened { target: target.id.clone(), actor: actor.id.clone() };
        tape.push(Source::Wire("line".into()), opened);
        let line: Box<dyn Channel> = Box::new(Line {
            tape: tape.clone(),
            actor: actor.id.0.clone(),
            behaviour: Arc::clone(&self.behaviour),
            calls: Arc::clone(&self.calls),
            queue: Vec::new(),
        });
        Box::pin(async { Ok(line) })
    }
}

impl Line {
    fn push(&mut self, kind: Kind) {
        let event = self.tape.push(Source::Wire("line".into()), kind);
        self.queue.push(event);
    }
}

impl Channel for Line {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        let x = self.tape.next_exchange();
        self.calls.fetch_add(1, Ordering::Relaxed);
        let answer = (self.behaviour)(&self.actor, &out);
        let headers = out.headers.iter().map(|(n, v)| (n.clone(), Blob::from(v.clone()))).collect();
        self.push(Kind::Sent { x, route: out.route, headers, bytes: Blob(out.body), intent: out.intent });
        match answer {
            Answer::Whole(status, headers, body) => {
                let headers = headers.iter().map(|(n, v)| ((*n).to_owned(), Blob::from(*v))).collect();
                self.push(Kind::Head { x, status, headers });
                self.push(Kind::Frame { x, n: 0, bytes: Blob::from(body) });
                self.push(Kind::Ended { x, how: End::Complete });
            }
            Answer::Silence => {}
            Answer::Late => self.push(Kind::Ended { x, how: End::Deadline }),
            Answer::Refused => self.push(Kind::Ended { x, how: End::NoConnection { why: "refused".to_owned() } }),
        }
        x
    }

    fn next(&mut self, _: Deadline) -> BoxFuture<'_, Next> {
        let next = if self.queue.is_empty() { None } else { Some(self.queue.remove(0)) };
        Box::pin(async move {
            match next {
                Some(event) => Next::Event(event),
                None => std::future::pending().await,
            }
        })
    }

    fn abort(&mut self, x: ExchangeId, _: Abort) {
        self.push(Kind::Ended { x, how: End::LocalAbort });
    }
}

/// Serves the card.
pub struct CardHost(pub Option<&'static str>);

impl Fetch for CardHost {
    fn get<'a>(
        &'a self,
        url: &'a str,
        _: &'a [(String, String)],
        _: Limits,
    ) -> BoxFuture<'a, Result<Fetched, CouldNotRun>> {
        let outcome = match self.0 {
            Some(card) => Ok(Fetched {
                url: url.to_owned(),
                status: 200,
                headers: vec![("Content-Type".to_owned(), "application/json".to_owned())],
                body: Bytes::from_static(card.as_bytes()),
                spki_sha256: None,
            }),
            None => Err(CouldNotRun::Unreachable { target: url.to_owned(), why: "refused".to_owned() }),
        };
        Box::pin(async { outcome })
    }
}

struct Tokens;

impl Identity for Tokens {
    fn actor<'a>(&'a self, subject: &'a ostiary_record::ActorId) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let credentials = vec![("Authorization".to_owned(), format!("Bearer secret-of-{subject}"))];
        Box::pin(async move { Ok(Some(Actor { id: subject.clone(), credentials })) })
    }
}

/// Time that only passes when somebody looks.
pub struct StepClock(AtomicU64);

impl Monotonic for StepClock {
    fn now(&self) -> MonoNanos {
        MonoNanos(self.0.fetch_add(1_000, Ordering::Relaxed))
    }
}

/// Lets a wait end after the pending work had its turn, or never.
pub struct Patience {
    pub ends: bool,
    pub waits: Mutex<Vec<Duration>>,
}

impl Timer for Patience {
    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        self.waits.lock().unwrap().push(duration);
        if self.ends { Box::pin(async {}) } else { Box::pin(std::future::pending()) }
    }
}

/// A world around a candidate.
pub struct World {
    pub ports: Ports,
    pub calls: Arc<AtomicU64>,
    pub timer: Arc<Patience>,
}

pub fn world(behaviour: impl Fn(&str, &Outbound) -> Answer + Send + Sync + 'static) -> World {
    world_with(behaviour, Some(CARD), false)
}

pub fn world_with(
    behaviour: impl Fn(&str, &Outbound) -> Answer + Send + Sync + 'static,
    card: Option<&'static str>,
    waits_end: bool,
) -> World {
    let calls = Arc::new(AtomicU64::new(0));
    let timer = Arc::new(Patience { ends: waits_end, waits: Mutex::default() });
    let ports = Ports {
        transport: Arc::new(Wire { behaviour: Arc::new(behaviour), calls: Arc::clone(&calls) }),
        fetch: Arc::new(CardHost(card)),
        identity: Arc::new(Tokens),
        states: None,
        authority: None,
        inbox: None,
        faults: Vec::new(),
        detours: None,
        observers: Vec::new(),
        timer: Arc::clone(&timer) as Arc<dyn Timer>,
        clock: Arc::new(StepClock(AtomicU64::new(0))),
    };
    World { ports, calls, timer }
}

/// A bundle with the given further files.
pub fn bundle(more: &[(&str, &str)]) -> Bundle {
    let mut files: BTreeMap<String, Bytes> = BTreeMap::new();
    let contract = "contract_bundle:
  contract_id: fixture-contract
  contract_version: 1.0.0
  protocol: { a2a: \"1.0\", json_schema: \"2020-12\" }
  producer:
    agent_id: fixture
    artifact_digest: sha256:0000000000000000000000000000000000000000000000000000000000000001
  declarations: { agent_card: agent-card.json }
";
    files.insert("contract.yaml".to_owned(), Bytes::from_static(contract.as_bytes()));
    files.insert("agent-card.json".to_owned(), Bytes::from_static(CARD.as_bytes()));
    for (path, text) in more {
        files.insert((*path).to_owned(), Bytes::from((*text).to_owned()));
    }
    Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}"))
}

/// An environment with two tenants and an expired subject, for the default profile.
pub fn environment() -> EnvironmentFacts {
    let subject = |tenant: &str, credential| SubjectFacts {
        profile: None,
        tenant_class: None,
        tenant: Some(tenant.to_owned()),
        credential,
    };
    EnvironmentFacts {
        name: "test".to_owned(),
        strictness: "production".to_owned(),
        cleared_effects: vec!["read".to_owned()],
        subjects: BTreeMap::from([
            ("user-a".to_owned(), subject("a", CredentialKind::Valid)),
            ("user-b".to_owned(), subject("b", CredentialKind::Valid)),
            ("expired-a".to_owned(), subject("a", CredentialKind::Expired)),
        ]),
        ..EnvironmentFacts::default()
    }
}

pub fn request(bundle: &Bundle) -> Request<'_> {
    Request {
        mcp: Vec::new(),
        bundle,
        card_url: Some("https://agent.example.test/.well-known/agent-card.json"),
        environment: environment(),
        gate: None,
        only: Vec::new(),
        seed: 7,
        run_id: "run".to_owned(),
        started_at: "2026-01-02T03:04:05Z".parse().unwrap(),
        allowance: Allowance { calls: 100, rate_per_s: 0, concurrency: 4, ..Allowance::default() },
    }
}

pub fn run(harness: &Harness, request: &Request<'_>, ports: &Ports) -> Run {
    futures::executor::block_on(ostiary_verify::drive(harness, request, ports, &NoSink))
}

/// A scenario that asks once as a role, and says `control_ok` on status 200.
pub struct Ask {
    pub spec: &'static ScenarioSpec,
    pub role: Role,
}

pub fn ask(id: &'static str, change: impl FnOnce(&mut ScenarioSpec)) -> Box<dyn Scenario> {
    ask_as(id, Role::Primary, change)
}

pub fn ask_as(id: &'static str, role: Role, change: impl FnOnce(&mut ScenarioSpec)) -> Box<dyn Scenario> {
    let mut spec = ScenarioSpec::new(id, "asks once");
    change(&mut spec);
    Box::new(Ask { spec: Box::leak(Box::new(spec)), role })
}

pub fn outbound(intent: &str, body: impl Into<Bytes>) -> Outbound {
    Outbound {
        route: Route::Http { method: "POST".to_owned(), path: String::new() },
        headers: Vec::new(),
        body: body.into(),
        intent: Some(intent.into()),
    }
}

impl Scenario for Ask {
    fn spec(&self) -> &'static ScenarioSpec {
        self.spec
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let channel = stage.open(self.role).await?;
            let body = stage.fresh("ask");
            let answer = stage.exchange(channel, outbound(self.spec.id, body)).await?;
            match answer.status {
                Some(200) => stage.control_ok(),
                other => stage.control_failed(&format!("status {other:?}")),
            }
            Ok(())
        })
    }
}

type JudgeFn = Box<dyn Fn(&Facts<'_>) -> Vec<Finding> + Send + Sync>;

/// A check that is a closure.
pub struct Says {
    spec: &'static CheckSpec,
    judge: JudgeFn,
}

impl Check for Says {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        (self.judge)(facts)
    }
}

pub fn spec(id: &'static str, layer: Layer, reads: Reads) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary: "a promise",
        layer,
        gate: layer.blocks(),
        covers: &["V-02"],
        reads,
        depends: &[],
        reasons: &[ReasonCode::ErrorNotRefused],
        severity: Severity::Error,
        liar: "none",
    }
}

pub fn says(spec: CheckSpec, judge: impl Fn(&Facts<'_>) -> Vec<Finding> + Send + Sync + 'static) -> Box<dyn Check> {
    Box::new(Says { spec: Box::leak(Box::new(spec)), judge: Box::new(judge) })
}

/// A check that wants status 200 everywhere.
pub fn wants_200(id: &'static str, layer: Layer, reads: Reads) -> Box<dyn Check> {
    says(spec(id, layer, reads), |facts| {
        let all = facts.exchanges();
        let bad = all.iter().find(|(_, x)| x.status() != Some(200));
        match bad {
            Some((tape, x)) => {
                let observed = format!("{:?}", x.status());
                vec![facts.fail(ReasonCode::ErrorNotRefused, tape.cite_exchange(x), "200", observed)]
            }
            None => vec![facts.pass(all.iter().flat_map(|(tape, x)| tape.cite_exchange(x)).collect())],
        }
    })
}

/// A static check that holds.
pub fn declared() -> Box<dyn Check> {
    says(CheckSpec { gate: Gate::Static, ..spec("t.declared", Layer::Declaration, Reads::Declarations) }, |facts| {
        vec![facts.pass(facts.card_document().map(|(_, at)| at).into_iter().collect())]
    })
}

pub const OK: Answer = Answer::Whole(200, Vec::new(), "{}");
