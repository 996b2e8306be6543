//! Brings a task to its end and reads it again when the time is over for which the contract keeps it.

use std::time::Duration;

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Gate, Kind, MonoNanos,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, terminal,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.retained";
/// Longest promise that is waited out, beside everything else that goes on.
const WAITED_OUT: Duration = Duration::from_secs(30);
/// How long is waited where the promise is longer: enough to find who forgets at once.
const GLIMPSE: Duration = Duration::from_secs(2);
/// What the last look itself may take: it must be answered before the promise is over.
pub(crate) const LATENCY: Duration = Duration::from_millis(200);

/// An ended task stays readable.
pub(super) struct Retained;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "An ended task is read again when its declared retention is over, or after a while.")
};

impl Scenario for Retained {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if input.bundle.temporal.terminal_retention_ms.is_some() { input.each_profile() } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let begun = last_sent(stage);
    let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
    client.settle(stage, &mut task).await?;
    if !task.is_terminal() {
        return Ok(());
    }
    stage.mark(terminal::ENDED, Some(&task.id));
    let promised = Duration::from_millis(stage.bundle().temporal.terminal_retention_ms.unwrap_or(0));
    let wanted = if promised > WAITED_OUT { GLIMPSE } else { promised };
    // the task ended after its message was sent, so that a look by then is within the promise, whenever it ended
    let passed = Duration::from_nanos(stage.tape().now().0.saturating_sub(begun.0));
    stage.wait(wanted.saturating_sub(passed + LATENCY)).await;
    client.get(stage, &task.id).await.map(drop)
}

/// When the last request was sent.
fn last_sent(stage: &Stage<'_>) -> MonoNanos {
    let events = stage.tape().events();
    let sent = events.iter().rev().find(|e| matches!(e.kind, Kind::Sent { .. }));
    sent.map_or_else(|| stage.tape().now(), |e| e.at)
}
