//! A candidate whose verdicts are written down, with the checks that read them.
//!
//! The engine is the real one: it plans nothing here, but it judges, guards and aggregates as in production. What a
//! check says stands as a mark on the recording, so that a test names outcomes and not wire bytes.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use ostiary_contract::{Bundle, Environment};
use ostiary_domain::Clock;
use ostiary_record::{
    Axes, EnvironmentFacts, Finding, Gate, Kind, Label, Layer, MonoNanos, Monotonic, ReasonCode, Recording, Run,
    Severity, Source, Tape, ports::BoxFuture, run::RUN_FORMAT,
};
use ostiary_verify::{Check, CheckSpec, Facts, Harness, Input, Reads, discover::of_card};
use ostiary_worker::jobs::{Disposition, Job, RunFailure, Runner};
use tokio_util::sync::CancellationToken;

/// What the candidate does in one layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Keeps its promise.
    Pass,
    /// Breaks it.
    Fail,
    /// Cannot be told.
    Silent,
}

/// The candidate, and the worker that drives it.
#[derive(Clone)]
pub struct Candidate {
    says: Arc<Mutex<BTreeMap<Layer, Says>>>,
    gone: Arc<Mutex<Option<Disposition>>>,
    key: Arc<Mutex<Option<String>>>,
    clock: Arc<dyn Clock>,
    profile: String,
}

const MARK: &str = "says";

// === impl Candidate ===

impl Candidate {
    pub fn honest(clock: Arc<dyn Clock>, profile: &str) -> Self {
        Self { says: Arc::default(), gone: Arc::default(), key: Arc::default(), clock, profile: profile.to_owned() }
    }

    /// From now on.
    pub fn set(&self, layer: Layer, says: Says) {
        self.says.lock().unwrap_or_else(PoisonError::into_inner).insert(layer, says);
    }

    /// From now on runs cannot be made at all, or can again.
    pub fn cannot_run(&self, disposition: Option<Disposition>) {
        *self.gone.lock().unwrap_or_else(PoisonError::into_inner) = disposition;
    }

    /// From now on the server key that runs see.
    pub fn served_by(&self, spki_sha256: &str) {
        *self.key.lock().unwrap_or_else(PoisonError::into_inner) = Some(spki_sha256.to_owned());
    }

    pub fn run_of(&self, job: &Job) -> Run {
        let bundle = Bundle::from_tar(&job.bundle).expect("the server hands out what it took");
        let environment = Environment::well_formed("environment.yaml", &job.environment).expect("registered");
        let card = bundle.card.as_ref().map(|card| card.bytes.clone()).unwrap_or_default();
        Run {
            format: RUN_FORMAT.to_owned(),
            started_at: self.clock.now().to_string(),
            harness_version: "test".to_owned(),
            gate: Some(job.gate),
            environment: EnvironmentFacts {
                spki_sha256: self.key.lock().unwrap_or_else(PoisonError::into_inner).clone(),
                ..environment.facts()
            },
            recordings: vec![self.declarations(card), self.driven()],
            not_run: Vec::new(),
        }
    }

    fn declarations(&self, card: Bytes) -> Recording {
        let mut recording = of_card(Arc::new(Stopped), card);
        let tape = self.marked();
        let next = recording.events.len() as u64;
        recording.events.extend(tape.events().into_iter().map(|mut event| {
            event.seq.0 += next;
            event
        }));
        recording
    }

    fn driven(&self) -> Recording {
        let axes = Axes { profile: Some(self.profile.clone()), ..Axes::default() };
        Recording { scenario: "test.scenario".into(), axes, seed: 0, events: self.marked().events() }
    }

    fn marked(&self) -> Tape {
        let tape = Tape::new(Arc::new(Stopped));
        for layer in LAYERS {
            let says = self.says.lock().unwrap_or_else(PoisonError::into_inner).get(&layer).copied();
            let value = match says.unwrap_or(Says::Pass) {
                Says::Pass => "pass",
                Says::Fail => "fail",
                Says::Silent => continue,
            };
            let label = Label(format!("{MARK}.{layer}"));
            tape.push(Source::Script, Kind::Mark { label, value: Some(value.to_owned()) });
        }
        tape
    }
}

impl Runner for Candidate {
    fn run<'a>(&'a self, job: &'a Job, _: &'a CancellationToken) -> BoxFuture<'a, Result<Run, RunFailure>> {
        let gone = *self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        Box::pin(async move {
            match gone {
                Some(disposition) => Err(RunFailure { disposition, why: "the candidate is not there".to_owned() }),
                None => Ok(self.run_of(job)),
            }
        })
    }
}

struct Stopped;

impl Monotonic for Stopped {
    fn now(&self) -> MonoNanos {
        MonoNanos(0)
    }
}

const LAYERS: [Layer; 4] = [Layer::Declaration, Layer::Schema, Layer::Protocol, Layer::Authorization];

/// Checks of the product that judge by what only the control plane knows; without it they do not apply.
const REAL: [&str; 2] = ["a2a.card.unchanged", "a2a.card.signature"];

/// The checks that read what the candidate says.
pub fn harness() -> Harness {
    let read = SPECS.iter().map(|spec| Box::new(Read(spec)) as Box<dyn Check>);
    let real = ostiary_verify::registry::checks().into_iter().filter(|check| REAL.contains(&check.spec().id));
    Harness::of(Vec::new(), read.chain(real).collect())
}

struct Read(&'static CheckSpec);

impl Check for Read {
    fn spec(&self) -> &'static CheckSpec {
        self.0
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(tape) = facts.tapes().first() else {
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "recording", "nothing was driven")];
        };
        let finding = match tape.recording.mark(&format!("{MARK}.{}", self.0.layer)) {
            Some((Some("pass"), seq)) => facts.pass(vec![tape.cite(seq)]),
            Some((_, seq)) => facts.fail(self.0.reasons[0], vec![tape.cite(seq)], "kept", "broken"),
            None => facts.inconclusive(ReasonCode::ObservationIncomplete, "answer", "the candidate is silent"),
        };
        vec![finding]
    }
}

const fn spec(id: &'static str, layer: Layer, gate: Gate, reads: Reads, reason: &'static [ReasonCode]) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary: "the candidate keeps its promise",
        layer,
        gate,
        covers: &["V-01"],
        reads,
        depends: &[Input::Candidate],
        reasons: reason,
        severity: Severity::Error,
        liar: "Says::Fail",
    }
}

static SPECS: [CheckSpec; 4] = [
    spec(
        "test.declaration",
        Layer::Declaration,
        Gate::Static,
        Reads::Declarations,
        &[ReasonCode::RequiredExtensionUnsupported],
    ),
    spec("test.schema", Layer::Schema, Gate::Conformance, Reads::Everything, &[ReasonCode::ContentModeMismatch]),
    spec("test.protocol", Layer::Protocol, Gate::Conformance, Reads::Everything, &[ReasonCode::TerminalStateReopened]),
    spec(
        "test.authorization",
        Layer::Authorization,
        Gate::Security,
        Reads::Everything,
        &[ReasonCode::CrossTenantAccess],
    ),
];
