//! Brings a task to its end, then sends it another message, or cancels it.

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example, variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.terminal";
/// The axis that says what the ended task is asked for.
pub(crate) const AXIS: &str = "probe";
/// Another message.
pub(crate) const MESSAGE: &str = "message";
/// A cancel.
pub(crate) const CANCEL: &str = "cancel";
/// The mark of the ended task, with its id.
pub(crate) const ENDED: &str = "terminal_task";
/// The mark of an agent that answered without a task.
pub(crate) const NO_TASK: &str = "no_task";

/// What has ended stays ended.
pub(super) struct Terminal;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::Within,
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "An ended task is sent another message, or canceled, and read back.")
};

impl Scenario for Terminal {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input, AXIS, &[MESSAGE, CANCEL])
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let Some(task) = ended(stage, &mut client).await? else { return Ok(()) };
    stage.mark(ENDED, Some(&task.id));
    stage.control_ok();
    if stage.axes().values.get(AXIS).is_some_and(|probe| probe == CANCEL) {
        client.cancel(stage, &task.id).await?;
    } else {
        let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
        let mut request = message(stage, &example.parts);
        request.message.task_id = Some(task.id.clone());
        request.message.context_id = task.context.clone();
        client.call(stage, Operation::SendMessage(request)).await?;
    }
    client.get(stage, &task.id).await.map(drop)
}

/// A task that really has ended; the control of what follows.
async fn ended(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<TaskRef>, CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    match led_to(&reply) {
        Led::Task(mut task) => {
            client.settle(stage, &mut task).await?;
            if task.is_terminal() {
                return Ok(Some(task));
            }
            let state = task.state.map_or("none that is known", ostiary_protocol::a2a::TaskState::as_str);
            stage.control_failed(&format!("the task did not end; its state is {state}"));
        }
        Led::Message => {
            stage.mark(NO_TASK, None);
            stage.control_failed("the agent answers with a message and makes no task");
        }
        Led::Nowhere(why) => stage.control_failed(&why),
    }
    Ok(None)
}
