//! The same request twice, message id included, and the first one's task read before and after.

use ostiary_protocol::a2a::Operation;
use ostiary_record::ports::{BoxFuture, CouldNotRun};

use crate::{
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, terminal,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.message.duplicate";
/// The mark of the first request's task, with its id; what comes after it is the repetition.
pub(crate) const FIRST: &str = "first_task";

/// A request that comes twice may be told from two requests, and never changes what the first one led to.
pub(super) struct Duplicate;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::Within,
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A message is sent twice with one message id, and the first task read before and after.")
};

impl Scenario for Duplicate {
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
    let request = message(stage, &example.parts);
    let call = client.prepare(Operation::SendMessage(request));
    let reply = client.send(stage, &call).await?;
    let mut first = match led_to(&reply) {
        Led::Task(task) => task,
        Led::Message => {
            stage.mark(terminal::NO_TASK, None);
            stage.control_failed("the agent answers with a message and makes no task");
            return Ok(());
        }
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            return Ok(());
        }
    };
    client.settle(stage, &mut first).await?;
    stage.control_ok();
    stage.mark(FIRST, Some(&first.id));
    client.send(stage, &call).await?;
    client.get(stage, &first.id).await.map(drop)
}
