//! Reads and cancels a task that does not exist.

use ostiary_record::ports::{BoxFuture, CouldNotRun};

use crate::{
    scenario::{Control, Role, Scenario, ScenarioSpec},
    scenarios::{client::Client, send},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.unknown";

/// What does not exist is not found.
pub(super) struct UnknownTask;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    ..ScenarioSpec::new(ID, "A task that does not exist is read and canceled.")
};

impl Scenario for UnknownTask {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let id = stage.fresh("no-such-task");
            let mut client = Client::open(stage, Role::Primary).await?;
            client.get(stage, &id).await?;
            client.cancel(stage, &id).await.map(drop)
        })
    }
}
