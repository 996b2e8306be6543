//! Sends messages with ids that the sender made up: of a context, which it may, and of a task, which it may not; then reads
//! the task with less and less of its history.

use ostiary_protocol::a2a::Operation;
use ostiary_record::ports::{BoxFuture, CouldNotRun};

use crate::{
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, send,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.ids";
/// The mark before a message to a task that does not exist, with its id.
pub(crate) const UNKNOWN: &str = "unknown_task";

/// Ids that the sender made up.
pub(super) struct Ids;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "Messages name a context and a task that their sender made up; histories are read in part.")
};

impl Scenario for Ids {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let mut request = message(stage, &example.parts);
    request.message.context_id = Some(stage.fresh("context"));
    request.history_length = Some(0);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    if let Led::Task(task) = led_to(&reply) {
        for most in [0, 1] {
            client.call(stage, Operation::GetTask { id: task.id.clone(), history_length: Some(most) }).await?;
        }
    }
    let unknown = stage.fresh("no-such-task");
    stage.mark(UNKNOWN, Some(&unknown));
    let mut request = message(stage, &example.parts);
    request.message.task_id = Some(unknown);
    client.call(stage, Operation::SendMessage(request)).await.map(drop)
}
