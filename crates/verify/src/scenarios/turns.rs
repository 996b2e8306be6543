//! Brings a task to where it asks, and answers: with the task's id alone, or with its context, too.

use ostiary_contract::file::skill::LeadsTo;
use ostiary_protocol::a2a::{Operation, TaskState, operation::SendMessage};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example::{self, Example},
        variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.turns";
/// The axis that says how the task is named in the answer to it.
pub(crate) const AXIS: &str = "names";
/// By its id; before that, by its id and a context that is not its own.
pub(crate) const TASK: &str = "task";
/// By its id and its context.
pub(crate) const BOTH: &str = "task_and_context";
/// The mark before a message whose context is not that of its task.
pub(crate) const MISMATCH: &str = "mismatch";
/// The mark before the answer, with the task's id.
pub(crate) const ANSWER: &str = "answer";

/// A conversation of several turns.
pub(super) struct Turns;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A task that asks is answered, and read back until it stands still.")
};

impl Scenario for Turns {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let asks = example::leading_to(input.bundle, input.discovered.card.as_ref(), LeadsTo::InputRequired);
        if asks.is_some() { variants(input, AXIS, &[TASK, BOTH]) } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::leading_to(stage.bundle(), stage.card(), LeadsTo::InputRequired);
    let example = example.ok_or_else(|| CouldNotRun::Internal("the contract has no example that asks".to_owned()))?;
    let mut client = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
    client.settle(stage, &mut task).await?;
    if task.state != Some(TaskState::InputRequired) {
        return Ok(());
    }
    let both = stage.axes().values.get(AXIS).is_some_and(|names| names == BOTH);
    if !both {
        let strange = stage.fresh("context");
        stage.mark(MISMATCH, Some(&task.id));
        let request = answer(stage, &example, &task, Some(strange));
        client.call(stage, Operation::SendMessage(request)).await?;
    }
    stage.mark(ANSWER, Some(&task.id));
    let context = task.context.clone().filter(|_| both);
    let request = answer(stage, &example, &task, context);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    if let Led::Task(led) = led_to(&reply) {
        task.state = led.state;
    }
    client.settle(stage, &mut task).await?;
    client.call(stage, Operation::GetTask { id: task.id, history_length: Some(1) }).await.map(drop)
}

fn answer(stage: &mut Stage<'_>, example: &Example, task: &TaskRef, context: Option<String>) -> SendMessage {
    let parts = example.answer.as_ref().unwrap_or(&example.parts).clone();
    let mut request = message(stage, &parts);
    request.message.task_id = Some(task.id.clone());
    request.message.context_id = context;
    request
}
