//! Starts a task without waiting for it, cancels it at once, and watches where it goes.

use ostiary_protocol::a2a::Operation;
use ostiary_record::ports::{BoxFuture, CouldNotRun};

use crate::{
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.cancel";

/// A canceled task stays canceled.
pub(super) struct Cancel;

static SPEC: ScenarioSpec = ScenarioSpec {
    version: 2,
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A task is started, canceled at once, and read back until it stands still.")
};

impl Scenario for Cancel {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let ordinary = || example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let example = example::long_running(stage.bundle(), stage.card()).unwrap_or_else(ordinary);
            let mut client = Client::open(stage, Role::Primary).await?;
            let mut request = message(stage, &example.parts);
            request.return_immediately = Some(true);
            let reply = client.call(stage, Operation::SendMessage(request)).await?;
            let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
            client.cancel(stage, &task.id).await?;
            client.settle(stage, &mut task).await
        })
    }
}
