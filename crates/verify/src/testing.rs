//! What checks are tested with: an honest run, driven by the real scenarios against an honest agent in memory, and ways
//! to make it a lie.
//!
//! The agent answers in the shapes that the official Python SDK has on the wire. A liar test changes one promise in the
//! recordings and expects the one check to catch it, with its layer and code; the honest run must pass.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use std::{
    pin::pin,
    task::{Context, Poll, Waker},
};

use ostiary_contract::{Bundle, Files};
use ostiary_record::{
    CredentialKind, EnvironmentFacts, Finding, MonoNanos, Monotonic, NoSink, Outcome, ReasonCode, Report, Run,
    Severity, SubjectFacts,
    ports::{BoxFuture, CouldNotRun, Detours, Faults, Fetch, Fetched, Inbox, Limits, Timer},
};
use serde_json::{Value, json};

use crate::{
    check::Check,
    drive::{Allowance, Ports, Request, drive},
    judge::{JudgeOptions, judge, judge_check},
    registry::Harness,
};

mod agent;
mod edit;
mod pairs;
mod post;

pub(crate) use agent::{Honest, Shaky};
pub(crate) use edit::{Edit, Item, edit_answers, edit_document, unstream};
pub(crate) use post::with_body;

/// The address of the honest agent's card.
const CARD_URL: &str = "https://agent.example.test/.well-known/agent-card.json";
/// A started-at that never changes.
const STARTED: &str = "2026-11-30T09:00:00Z";

/// What is driven and how it is judged.
pub(crate) struct World {
    /// The card that the agent serves.
    pub(crate) card: Value,
    /// The bundle's files beside the card.
    pub(crate) files: Vec<(&'static str, String)>,
    /// The environment.
    pub(crate) environment: EnvironmentFacts,
    /// How to judge.
    pub(crate) options: JudgeOptions,
    /// Whether the agent makes tasks, or answers with messages only.
    pub(crate) makes_tasks: bool,
}

/// A run that can be made a lie and judged.
pub(crate) struct Driven {
    pub(crate) run: Run,
    bundle: Bundle,
    pub(crate) options: JudgeOptions,
}

// === impl World ===

impl World {
    /// The planning agent of the documentation, small: streaming, one skill, bearer tokens, two tenants.
    pub(crate) fn honest() -> Self {
        Self {
            card: honest_card(),
            files: honest_files(),
            environment: environment(),
            options: JudgeOptions::default(),
            makes_tasks: true,
        }
    }

    /// The same agent with a change of its card, in the bundle, too.
    pub(crate) fn with_card(change: impl FnOnce(&mut Value)) -> Self {
        let mut world = Self::honest();
        change(&mut world.card);
        world
    }

    /// The same agent under a contract that has examples which ask, fail and are refused.
    pub(crate) fn asking() -> Self {
        let mut world = Self::honest();
        let more = [("ask", "input_required"), ("fail", "failed"), ("refuse", "rejected")];
        let example = |(wish, leads_to): &(&str, &str)| {
            let answer = if *wish == "ask" { "\n      answer_fixture: work-request-valid.json" } else { "" };
            format!(
                "    - name: {wish}\n      leads_to: {leads_to}\n      input_fixture: work-request-{wish}.json{answer}\n"
            )
        };
        let examples: String = more.iter().map(example).collect();
        world.put("skills.yaml", &format!("{}{examples}", include_str!("testing/skills.yaml")));
        for (path, wish) in [
            ("fixtures/work-request-ask.json", "ask"),
            ("fixtures/work-request-fail.json", "fail"),
            ("fixtures/work-request-refuse.json", "refuse"),
        ] {
            world.put(path, &json!({"title": "Move the office", wish: true}).to_string());
        }
        world
    }

    /// The same agent without streaming.
    pub(crate) fn without_streaming() -> Self {
        Self::with_card(|card| card["capabilities"]["streaming"] = json!(false))
    }

    /// The same agent over JSON-RPC and HTTP+JSON.
    pub(crate) fn with_bindings() -> Self {
        Self::with_card(|card| {
            let url = "https://agent.example.test/rest";
            let other = json!({"url": url, "protocolBinding": "HTTP+JSON", "protocolVersion": "1.0"});
            card["supportedInterfaces"].as_array_mut().expect("a list").push(other);
        })
    }

    /// The same agent without any security scheme, declared public.
    pub(crate) fn public() -> Self {
        let mut world = Self::with_card(|card| {
            let members = card.as_object_mut().expect("the card is an object");
            members.remove("securitySchemes");
            members.remove("securityRequirements");
        });
        world.environment.subjects.clear();
        world.put("authorization.yaml", "public: true\nmatrix: []\n");
        world
    }

    /// Replaces or adds a file of the bundle.
    pub(crate) fn put(&mut self, path: &'static str, text: &str) {
        self.files.retain(|(p, _)| *p != path);
        self.files.push((path, text.to_owned()));
    }

    /// Takes a file out of the bundle.
    pub(crate) fn remove(&mut self, path: &str) {
        self.files.retain(|(p, _)| *p != path);
    }

    /// Drives all scenarios against the honest agent.
    pub(crate) fn drive(self) -> Driven {
        let card = Arc::new(ServesCard(self.card.to_string()));
        self.drive_with(card)
    }

    /// Drives against an agent whose card cannot be had, for want of a connection.
    pub(crate) fn drive_unreachable(self) -> Driven {
        self.drive_with(Arc::new(Unreachable))
    }

    fn drive_with(self, fetch: Arc<dyn Fetch>) -> Driven {
        let bundle = self.bundle();
        let clock = Arc::new(Step(AtomicU64::new(0)));
        let agent = Arc::new(Honest::new(self.card.clone(), self.makes_tasks, clock.clone()));
        let dependency = |name: &String| Arc::new(Shaky::dependency(name)) as Arc<dyn Faults>;
        let disturbed = !self.environment.faults.is_empty();
        let mailbox = || Arc::new(post::Mailbox(agent.clone())) as Arc<dyn Inbox>;
        let inbox = self.environment.callbacks.is_some().then(mailbox);
        let ports = Ports {
            transport: agent.clone(),
            fetch,
            identity: agent.clone(),
            states: None,
            authority: Some(agent.clone()),
            inbox,
            faults: self.environment.dependencies.iter().map(dependency).collect(),
            detours: disturbed.then(|| agent.clone() as Arc<dyn Detours>),
            observers: Vec::new(),
            timer: clock.clone(),
            clock,
        };
        let request = Request {
            bundle: &bundle,
            card_url: Some(CARD_URL),
            mcp: Vec::new(),
            environment: self.environment.clone(),
            gate: None,
            only: Vec::new(),
            seed: 7,
            run_id: "run1".to_owned(),
            started_at: STARTED.parse().expect("a fixed time"),
            allowance: Allowance { concurrency: 1, rate_per_s: 0, ..Allowance::default() },
        };
        let harness = Harness::standard();
        let run = finish(drive(&harness, &request, &ports, &NoSink));
        Driven { run, bundle, options: self.options }
    }

    pub(crate) fn bundle(&self) -> Bundle {
        let mut files: Files =
            self.files.iter().map(|(path, text)| ((*path).to_owned(), text.clone().into_bytes().into())).collect();
        files.insert("agent-card.json".to_owned(), self.card.to_string().into_bytes().into());
        Bundle::load(&files).unwrap_or_else(|problems| panic!("the test's bundle is wrong:\n{problems}"))
    }
}

// === impl Driven ===

impl Driven {
    /// What a check says, through the engine's whole path.
    pub(crate) fn judge(&self, check: &dyn Check) -> Vec<Finding> {
        judge_check(&Harness::standard(), check, &self.run, &self.bundle, &self.options)
    }

    /// The whole report.
    pub(crate) fn report(&self) -> Report {
        judge(&Harness::standard(), &self.run, &self.bundle, &self.options)
    }

    /// The one outcome and reason that count.
    pub(crate) fn verdict(&self, check: &dyn Check) -> (Outcome, Option<ReasonCode>) {
        let findings = self.judge(check);
        let counted: Vec<&Finding> = findings.iter().filter(|f| f.severity == Severity::Error).collect();
        let worst = counted.iter().map(|f| f.verdict.outcome()).reduce(Outcome::worst);
        let worst = worst.unwrap_or_else(|| panic!("no finding counts: {findings:#?}"));
        let of_worst = counted.iter().find(|f| f.verdict.outcome() == worst);
        (worst, of_worst.and_then(|f| f.verdict.reason()))
    }

    /// The same run with its answers changed: a lie, or the habit of another SDK.
    pub(crate) fn edit(mut self, change: impl FnMut(&Item<'_>) -> Edit) -> Self {
        edit_answers(&mut self.run, change);
        self
    }
}

/// So many seconds on the clock of a tape.
pub(crate) const fn seconds(n: u64) -> u64 {
    n * 1_000_000_000
}

/// Asserts that the honest run passes.
#[track_caller]
pub(crate) fn passes(check: &dyn Check, driven: &Driven) {
    let findings = driven.judge(check);
    assert!(findings.iter().any(|f| f.verdict.outcome() == Outcome::Pass), "nothing passes: {findings:#?}");
    assert_eq!(driven.verdict(check), (Outcome::Pass, None), "{findings:#?}");
    pairs::passed(check);
}

/// Asserts that a lie is caught with this code, in the check's own layer, with events cited.
#[track_caller]
pub(crate) fn caught(check: &dyn Check, driven: &Driven, reason: ReasonCode) {
    let findings = driven.judge(check);
    assert_eq!(driven.verdict(check), (Outcome::Fail, Some(reason)), "{findings:#?}");
    assert!(findings.iter().all(|f| f.layer == check.spec().layer));
    if let Some(layer) = reason.row().layer {
        assert_eq!(layer, check.spec().layer, "{reason} belongs to another layer");
    }
    pairs::caught(check, reason);
}

/// Asserts a verdict that is neither PASS nor FAIL.
#[track_caller]
pub(crate) fn is(check: &dyn Check, driven: &Driven, outcome: Outcome) {
    assert_eq!(driven.verdict(check).0, outcome, "{:#?}", driven.judge(check));
}

/// Agents that say to stream and do not: a plain answer, a refusal, a web page, a server error, garbage in a stream.
pub(crate) fn unstreamed() -> Vec<Driven> {
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"message":{"messageId":"m","parts":[]}}}"#;
    [
        (200, "application/json", answer),
        (401, "application/json", r#"{"detail":"no"}"#),
        (200, "text/html", "<html></html>"),
        (500, "text/plain", "oops"),
        (200, "text/event-stream", "data: garbage\n\n"),
    ]
    .map(|(status, media, body)| {
        let mut driven = World::honest().drive();
        edit::replace_answers(&mut driven.run, "SendStreamingMessage", status, media, body);
        driven
    })
    .into()
}

/// The warnings among the findings, by reason.
pub(crate) fn warnings(check: &dyn Check, driven: &Driven) -> Vec<ReasonCode> {
    let findings = driven.judge(check);
    findings.iter().filter(|f| f.severity == Severity::Warning).filter_map(|f| f.verdict.reason()).collect()
}

fn honest_card() -> Value {
    json!({
        "name": "Planning agent", "description": "Drafts plans of work.", "version": "3.4.0",
        "supportedInterfaces": [
            {"url": "https://agent.example.test/rpc", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": true, "pushNotifications": false},
        "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
        "skills": [{"id": "work-planning", "name": "Plan work", "description": "Drafts a plan.", "tags": ["plan"]}],
        "securitySchemes": {"bearer": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"bearer": {"list": []}}}]
    })
}

fn honest_files() -> Vec<(&'static str, String)> {
    let text = |t: &str| t.to_owned();
    vec![
        ("contract.yaml", text(include_str!("testing/contract.yaml"))),
        ("a2a-task-machine.yaml", text(include_str!("testing/a2a-task-machine.yaml"))),
        ("skills.yaml", text(include_str!("testing/skills.yaml"))),
        ("errors.yaml", text(include_str!("testing/errors.yaml"))),
        ("fixtures/work-request-valid.json", json!({"title": "Move the office", "items": ["pack"]}).to_string()),
        ("fixtures/work-request-slow.json", json!({"title": "Move the house", "pace_ms": 300, "steps": 5}).to_string()),
        ("schemas/work-plan.schema.json", text(include_str!("testing/work-plan.schema.json"))),
    ]
}

fn environment() -> EnvironmentFacts {
    let subject =
        |tenant: &str, credential| SubjectFacts { tenant: Some(tenant.into()), credential, ..SubjectFacts::default() };
    let subjects = [
        ("allowed-user-a", subject("tenant-a", CredentialKind::Valid)),
        ("allowed-user-b", subject("tenant-b", CredentialKind::Valid)),
        ("expired-a", subject("tenant-a", CredentialKind::Expired)),
        ("foreign-a", subject("tenant-a", CredentialKind::Foreign)),
    ];
    EnvironmentFacts {
        name: "test".to_owned(),
        strictness: "production".to_owned(),
        cleared_effects: vec!["read".to_owned(), "write".to_owned()],
        subjects: subjects.into_iter().map(|(name, s)| (name.to_owned(), s)).collect(),
        ..EnvironmentFacts::default()
    }
}

/// A clock that steps one millisecond a look.
struct Step(AtomicU64);

impl Monotonic for Step {
    fn now(&self) -> MonoNanos {
        MonoNanos(self.0.fetch_add(1_000_000, Ordering::Relaxed))
    }
}

/// Waits not at all, the agent in memory is always ready; and yet so much time has passed then.
impl Timer for Step {
    fn wait(&self, duration: std::time::Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
            self.0.fetch_add(nanos, Ordering::Relaxed);
        })
    }
}

struct ServesCard(String);

impl Fetch for ServesCard {
    fn get<'a>(
        &'a self,
        url: &'a str,
        _: &'a [(String, String)],
        _: Limits,
    ) -> BoxFuture<'a, Result<Fetched, CouldNotRun>> {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let body = self.0.clone().into_bytes().into();
        Box::pin(async move { Ok(Fetched { url: url.to_owned(), status: 200, headers, body, spki_sha256: None }) })
    }
}

struct Unreachable;

impl Fetch for Unreachable {
    fn get<'a>(
        &'a self,
        url: &'a str,
        _: &'a [(String, String)],
        _: Limits,
    ) -> BoxFuture<'a, Result<Fetched, CouldNotRun>> {
        let problem = CouldNotRun::Unreachable { target: url.to_owned(), why: "connection refused".to_owned() };
        Box::pin(async move { Err(problem) })
    }
}

/// Runs a future that never really waits.
fn finish<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..1_000_000 {
        if let Poll::Ready(done) = future.as_mut().poll(&mut context) {
            return done;
        }
    }
    panic!("the run waits for something that never comes");
}
