//! Drives a plan through the ports; everything that happens lands in recordings, in the plan's order.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures::{FutureExt as _, StreamExt as _, future::Either, stream};
use ostiary_canon::Profile;
use ostiary_contract::Bundle;
use ostiary_record::{
    EnvironmentFacts, Gate, Monotonic, NotRun, ReasonCode, Recording, Run, RunEvent, RunSink, Tape,
    ports::{
        Authority, BoxFuture, CouldNotRun, Detours, Faults, Fetch, Identity, Inbox, Limits, Observer, States, Timer,
        Transport,
    },
    run::RUN_FORMAT,
};

use crate::{
    discover::{Discovered, discover},
    mcp::live::Endpoint,
    meter::Meter,
    plan::{Plan, PlanInput, Step, plan},
    registry::Harness,
    scenario::Scenario,
    slots::{Slot, Slots},
    stage::{CONTROL_FAILED, CONTROL_OK, Stage},
};

/// What a run reaches the world through.
pub struct Ports {
    /// Opens channels to the candidate.
    pub transport: Arc<dyn Transport>,
    /// Fetches its card.
    pub fetch: Arc<dyn Fetch>,
    /// Gives the subjects' credentials.
    pub identity: Arc<dyn Identity>,
    /// Sets provider states up, where the environment has an endpoint for it.
    pub states: Option<Arc<dyn States>>,
    /// Rules over those credentials, where the harness signs them.
    pub authority: Option<Arc<dyn Authority>>,
    /// Receives push notifications, where the environment has a receiver.
    pub inbox: Option<Arc<dyn Inbox>>,
    /// What can disturb, by the places it stands at.
    pub faults: Vec<Arc<dyn Faults>>,
    /// Makes ways to the candidate that can be disturbed, where the environment permits faults.
    pub detours: Option<Arc<dyn Detours>>,
    /// What watches effects.
    pub observers: Vec<Arc<dyn Observer>>,
    /// Waits.
    pub timer: Arc<dyn Timer>,
    /// The clock of all tapes of the run.
    pub clock: Arc<dyn Monotonic>,
}

/// What is to be verified, and how far.
pub struct Request<'a> {
    /// The contract.
    pub bundle: &'a Bundle,
    /// Where the candidate serves its card; `None` = the bundle's card is judged, nothing is called.
    pub card_url: Option<&'a str>,
    /// The MCP servers of the candidate.
    pub mcp: Vec<Endpoint>,
    /// The environment, as far as judging needs it.
    pub environment: EnvironmentFacts,
    /// The gate asked for; `None` = static to security.
    pub gate: Option<Gate>,
    /// Only these checks, scenarios or cases; empty = all.
    pub only: Vec<String>,
    /// Seed of generated values.
    pub seed: u64,
    /// Unique name of this run; part of every fixture value.
    pub run_id: String,
    /// When the run begins.
    pub started_at: jiff::Timestamp,
    /// How much may be asked of the candidate.
    pub allowance: Allowance,
}

/// How much may be asked of the candidate in one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Most calls.
    pub calls: u32,
    /// Most calls a second; 0 = no limit.
    pub rate_per_s: u32,
    /// Most scenarios at the same time.
    pub concurrency: usize,
    /// Longest time of all drives together.
    pub time: Duration,
    /// Longest time of one answer, a stream included.
    pub answer: Duration,
    /// Most bytes of memory that answers beyond the ordinary take, read and unread; what runs when they are spent comes
    /// on top.
    pub memory: u64,
}

/// Discovers, plans and drives. Always gives a run: what could not be done is in it, with its reason.
pub async fn drive(harness: &Harness, request: &Request<'_>, ports: &Ports, sink: &dyn RunSink) -> Run {
    let meter = Meter::new(request.allowance, ports.clock.now());
    let (recording, seen) = discover(ports, request, &meter).await;
    let discovered = Discovered::read(recording);
    let environment = EnvironmentFacts {
        endpoint: seen.endpoint.or_else(|| request.environment.endpoint.clone()),
        spki_sha256: seen.spki_sha256.or_else(|| request.environment.spki_sha256.clone()),
        ..request.environment.clone()
    };
    let input = PlanInput {
        gate: request.gate,
        only: &request.only,
        bundle: request.bundle,
        discovered: &discovered,
        environment: &environment,
        seed: request.seed,
        calls: request.allowance.calls,
    };
    let mut plan = plan(harness, &input);
    if request.card_url.is_none() {
        plan.abandon(ReasonCode::ScenarioNotRun, "the environment names no candidate to call");
    }
    let scenarios = u32::try_from(plan.steps.len()).unwrap_or(u32::MAX);
    sink.emit(&RunEvent::Planned { scenarios, checks: plan.checks });
    let driver =
        Driver { harness, request, ports, sink, discovered: &discovered, environment: &environment, meter: &meter };
    let mut run = Run {
        format: RUN_FORMAT.to_owned(),
        started_at: request.started_at.to_string(),
        harness_version: harness.version(),
        gate: request.gate,
        environment: environment.clone(),
        recordings: vec![discovered.recording.clone()],
        not_run: plan.not_run.clone(),
    };
    driver.drive_all(&plan, &mut run).await;
    run
}

/// The reason that stands in the report for what the harness could not do.
#[must_use]
pub const fn reason_of(problem: &CouldNotRun) -> ReasonCode {
    match problem {
        CouldNotRun::Unreachable { .. } | CouldNotRun::AddressRefused { .. } => ReasonCode::TargetUnreachable,
        CouldNotRun::Setup { .. } => ReasonCode::ProviderStateFailed,
        CouldNotRun::Budget { .. } | CouldNotRun::Bound { .. } => ReasonCode::BudgetExceeded,
        CouldNotRun::Unresponsive { .. } => ReasonCode::TargetUnresponsive,
        CouldNotRun::RateLimited { .. } => ReasonCode::TargetRateLimited,
        CouldNotRun::Internal(_) => ReasonCode::HarnessFault,
    }
}

/// Scenarios that are begun for each that may call: most wait for something sooner or later.
const WAITING: usize = 8;

struct Driver<'a> {
    harness: &'a Harness,
    request: &'a Request<'a>,
    ports: &'a Ports,
    sink: &'a dyn RunSink,
    discovered: &'a Discovered,
    environment: &'a EnvironmentFacts,
    meter: &'a Meter,
}

/// Why a drive gave no recording.
struct Obstacle {
    reason: ReasonCode,
    why: String,
}

// === impl Driver ===

impl Driver<'_> {
    /// Drives group after group: what may run beside each other, and whose controls have been driven before.
    async fn drive_all(&self, plan: &Plan, run: &mut Run) {
        for group in plan.groups(self.harness) {
            let calling = if group.alone { 1 } else { self.request.allowance.concurrency.max(1) };
            let (slots, done) = (Slots::new(calling), &*run);
            let begun = if group.alone { 1 } else { calling * WAITING };
            let futures: Vec<BoxFuture<'_, _>> =
                group.steps.iter().enumerate().map(|(n, step)| self.boxed((n, step), done, &slots)).collect();
            let mut outcomes: Vec<_> = stream::iter(futures).buffer_unordered(begun).collect().await;
            outcomes.sort_by_key(|(n, _)| *n);
            for (step, (_, outcome)) in group.steps.iter().zip(outcomes) {
                match outcome {
                    Ok(recording) => run.recordings.push(recording),
                    Err(Obstacle { reason, why }) => {
                        run.not_run.push(NotRun {
                            scenario: step.scenario.into(),
                            axes: step.axes.clone(),
                            reason,
                            why,
                        });
                    }
                }
            }
        }
    }

    /// One step with its place, since steps end in any order.
    fn boxed<'d>(
        &'d self,
        (n, step): (usize, &'d Step),
        done: &'d Run,
        slots: &'d Slots,
    ) -> BoxFuture<'d, (usize, Result<Recording, Obstacle>)> {
        Box::pin(async move { (n, self.step(step, done, slots).await) })
    }

    async fn step(&self, step: &Step, done: &Run, slots: &Slots) -> Result<Recording, Obstacle> {
        let slot = slots.take().await;
        let (scenario, axes) = (step.scenario.into(), step.axes.clone());
        self.sink.emit(&RunEvent::Started { scenario, axes });
        let outcome = match control_of(step, done) {
            Ok(()) => self.drive_one(step, (slots, slot)).await,
            Err(obstacle) => Err(obstacle),
        };
        self.sink.emit(&RunEvent::Driven {
            scenario: step.scenario.into(),
            axes: step.axes.clone(),
            events: outcome.as_ref().map_or(0, |r| u32::try_from(r.events.len()).unwrap_or(u32::MAX)),
            could_not_run: outcome.as_ref().err().map(|o| o.why.clone()),
        });
        outcome
    }

    async fn drive_one(&self, step: &Step, (slots, slot): (&Slots, Slot)) -> Result<Recording, Obstacle> {
        let fault = |why: &str| Obstacle { reason: ReasonCode::HarnessFault, why: why.to_owned() };
        let scenario = self.harness.scenario(step.scenario).ok_or_else(|| fault("the harness has no such scenario"))?;
        let tape = Tape::new(Arc::clone(&self.ports.clock));
        let mut stage = self.stage(step, scenario, tape.clone(), slots);
        stage.slot = Some(slot);
        for state in scenario.spec().needs.states {
            let set_up = stage.state(state, &serde_json::Value::Null).await;
            set_up.map_err(|problem| Obstacle::from(&problem, stage.blocked))?;
        }
        let left = self.meter.left(self.ports.clock.now());
        let limit = stage.budget.time.min(left);
        let driven = AssertUnwindSafe(scenario.drive(&mut stage)).catch_unwind();
        let outcome = match futures::future::select(driven, self.ports.timer.wait(limit)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), unfinished)) => {
                drop(unfinished);
                if limit == left {
                    return Err(Obstacle { reason: ReasonCode::BudgetExceeded, why: self.meter.time_over() });
                }
                let why = format!("the scenario did not end within {} s", limit.as_secs());
                return Err(Obstacle { reason: ReasonCode::TargetUnresponsive, why });
            }
        };
        match outcome {
            Ok(Ok(())) => Ok(Recording {
                scenario: step.scenario.into(),
                axes: step.axes.clone(),
                seed: step.seed,
                events: tape.take(),
            }),
            Ok(Err(problem)) => Err(Obstacle::from(&problem, stage.blocked)),
            Err(_) => Err(fault("the scenario panicked; this is a fault of the harness, not of the candidate")),
        }
    }

    fn stage<'s>(&'s self, step: &'s Step, scenario: &dyn Scenario, tape: Tape, slots: &'s Slots) -> Stage<'s> {
        let profile = step.axes.profile.as_deref().and_then(|p| p.parse::<Profile>().ok());
        Stage {
            ports: self.ports,
            meter: self.meter,
            slots,
            slot: None,
            bundle: self.request.bundle,
            discovered: self.discovered,
            environment: self.environment,
            interface: profile.as_ref().and_then(|p| self.discovered.interface(p)),
            profile,
            axes: &step.axes,
            cast: &step.cast,
            seed: step.seed,
            run_id: &self.request.run_id,
            tape,
            budget: scenario.spec().budget.for_answers_of(self.request.allowance.answer),
            calls: 0,
            fresh: 0,
            blocked: None,
            channels: Vec::new(),
        }
    }
}

// === impl Obstacle ===

impl Obstacle {
    fn from(problem: &CouldNotRun, blocked: Option<ReasonCode>) -> Self {
        Self { reason: blocked.unwrap_or_else(|| reason_of(problem)), why: problem.to_string() }
    }
}

// === impl Allowance ===

impl Default for Allowance {
    /// What an environment without `budget` allows: a few hundred calls, gently, an hour, and many times the memory that
    /// honest answers take.
    fn default() -> Self {
        let time = Duration::from_secs(3_600);
        Self {
            calls: 2_000,
            rate_per_s: 50,
            concurrency: 8,
            time,
            answer: Limits::default().exchange,
            memory: 24 << 20,
        }
    }
}

/// Whether the step's control, driven before for the same profile, worked.
fn control_of(step: &Step, done: &Run) -> Result<(), Obstacle> {
    let Some(control) = step.control else { return Ok(()) };
    let profile = &step.axes.profile;
    let of = |scenario: &str, p: &Option<String>| scenario == control && p == profile;
    let tapes: Vec<&Recording> = done.recordings.iter().filter(|r| of(&r.scenario.0, &r.axes.profile)).collect();
    if tapes.iter().any(|r| r.mark(CONTROL_OK).is_some()) {
        return Ok(());
    }
    let why =
        tapes.iter().find_map(|r| r.mark(CONTROL_FAILED)).and_then(|(why, _)| why).unwrap_or("no sign of success");
    if let Some(skipped) = done.not_run.iter().find(|n| of(&n.scenario.0, &n.axes.profile)) {
        let why = format!("its positive control `{control}` was not run: {}", skipped.why);
        return Err(Obstacle { reason: skipped.reason, why });
    }
    Err(Obstacle { reason: ReasonCode::ControlFailed, why: format!("positive control `{control}` failed: {why}") })
}
