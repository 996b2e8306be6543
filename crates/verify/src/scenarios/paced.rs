//! Watches one task from its message to its end, closely enough for its times to be told.

use std::time::Duration;

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Gate,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Budget, Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.paced";

/// Between two looks, where there is no stream: what happens is known to within this.
const LOOK: Duration = Duration::from_millis(200);
/// Looks before a task counts as one that does not end here: eight seconds.
const LOOKS: u32 = 40;

/// A task with its times.
pub(super) struct Paced;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    clearance: Clearance::Write,
    // twice, so that a time that is broken by rule is told from one that is broken once
    repeats: 2,
    budget: Budget { calls: LOOKS + 10, ..Budget::USUAL },
    ..ScenarioSpec::new(ID, "A task at work is watched to its end, over a stream or by looks, for its times.")
};

impl Scenario for Paced {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    /// Only what the contract promises is measured.
    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let t = &input.bundle.temporal;
        let promised = [
            t.acknowledge_within_ms,
            t.first_progress_within_ms,
            t.progress_gap_within_ms,
            t.step_within_ms,
            t.task_within_ms,
        ];
        if promised.iter().any(Option::is_some) { input.each_profile() } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::lasting(stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let mut request = message(stage, &example.parts);
    if streams(stage) {
        let reply = client.call(stage, Operation::SendStreamingMessage(request)).await?;
        return match led_to(&reply) {
            Led::Task(mut task) => client.settle(stage, &mut task).await,
            Led::Message | Led::Nowhere(_) => Ok(()),
        };
    }
    request.return_immediately = Some(true);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    match led_to(&reply) {
        Led::Task(mut task) => watch(stage, &mut client, &mut task).await,
        Led::Message | Led::Nowhere(_) => Ok(()),
    }
}

async fn watch(stage: &mut Stage<'_>, client: &mut Client, task: &mut TaskRef) -> Result<(), CouldNotRun> {
    for _ in 0..LOOKS {
        if task.is_still() {
            break;
        }
        stage.wait(LOOK).await;
        client.look(stage, task).await?;
    }
    Ok(())
}

/// Whether the card declares streaming.
pub(super) fn streams(stage: &Stage<'_>) -> bool {
    stage.card().and_then(|card| card.pointer("/capabilities/streaming")) == Some(&true.into())
}
