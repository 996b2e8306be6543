//! The life of push configurations: registered, read, listed, deleted, and asked for where there are none.

use ostiary_protocol::a2a::{Operation, operation::PushConfig};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use super::{Callback, NEEDS, Show, lasting, starting, variants};
use crate::{
    plan::PlanInput,
    scenario::{Budget, Clearance, Role, Scenario, ScenarioSpec},
    scenarios::client::{Client, Led, TaskRef, led_to, message},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.push.configuration";
/// The mark behind which a task is asked for that does not exist.
pub(crate) const UNKNOWN: &str = "push.unknown_task";

/// What is registered is kept as it was, until it is deleted.
pub(crate) struct Configuration;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    needs: NEEDS,
    budget: Budget { calls: 24, ..Budget::USUAL },
    ..ScenarioSpec::new(ID, "Two callbacks of a task are registered, read and listed, one is deleted twice.")
};

impl Scenario for Configuration {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let mut first = Callback::open(stage, "first", Show::Nothing, Vec::new())?;
    // its name is the agent's
    first.config.id = None;
    let second = Callback::open(stage, "second", Show::Nothing, Vec::new())?;
    let parts = lasting(stage).parts;
    let request = starting(message(stage, &parts));
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
    if let Some(id) = first.create(&mut client, stage, &task).await? {
        let (task_id, config) = (task.id.clone(), id.clone());
        client.call(stage, Operation::GetTaskPushNotificationConfig { task_id, id: config }).await?;
        let other = second.create(&mut client, stage, &task).await?;
        list(&mut client, stage, &task).await?;
        delete(&mut client, stage, &task, &id).await?;
        let task_id = task.id.clone();
        client
            .call(stage, Operation::GetTaskPushNotificationConfig { task_id: task_id.clone(), id: id.clone() })
            .await?;
        list(&mut client, stage, &task).await?;
        delete(&mut client, stage, &task, &id).await?;
        // whether its task was open all the time: what an agent forgets at its end is no fault
        client.look(stage, &mut task).await?;
        if let Some(other) = other {
            delete(&mut client, stage, &task, &other).await?;
        }
    }
    unknown(&mut client, stage, &first.config).await
}

async fn list(client: &mut Client, stage: &mut Stage<'_>, task: &TaskRef) -> Result<(), CouldNotRun> {
    client.call(stage, Operation::ListTaskPushNotificationConfigs { task_id: task.id.clone() }).await.map(drop)
}

async fn delete(client: &mut Client, stage: &mut Stage<'_>, task: &TaskRef, id: &str) -> Result<(), CouldNotRun> {
    let (task_id, id) = (task.id.clone(), id.to_owned());
    client.call(stage, Operation::DeleteTaskPushNotificationConfig { task_id, id }).await.map(drop)
}

/// All four operations for a task that does not exist.
async fn unknown(client: &mut Client, stage: &mut Stage<'_>, config: &PushConfig) -> Result<(), CouldNotRun> {
    stage.mark(UNKNOWN, None);
    let (task_id, id) = (stage.fresh("no-such-task"), "no-such-callback".to_owned());
    let push = PushConfig { task_id: task_id.clone(), ..config.clone() };
    for operation in [
        Operation::CreateTaskPushNotificationConfig(push),
        Operation::GetTaskPushNotificationConfig { task_id: task_id.clone(), id: id.clone() },
        Operation::ListTaskPushNotificationConfigs { task_id: task_id.clone() },
        Operation::DeleteTaskPushNotificationConfig { task_id, id },
    ] {
        client.call(stage, operation).await?;
    }
    Ok(())
}
