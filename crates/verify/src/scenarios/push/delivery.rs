//! A task with three callbacks: one in the message, one registered beside it, one that is deleted while the task goes on.

use std::time::Duration;

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use super::{Callback, FIRST, NEEDS, Show, Watch, inbox, lasting, note_strays, starting, variants};
use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::client::{Client, Led, TaskRef, led_to, message},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.push.delivery";
/// The callback in the message; with `Bearer`.
pub(crate) const INLINE: &str = "inline";
/// The callback registered beside it; with `Basic`. It sees what goes on after the third is deleted.
pub(crate) const SECOND: &str = "second";
/// The callback that is deleted after its first delivery; with a token, or signed.
pub(crate) const DELETED: &str = "deleted";
/// The mark behind which nothing may come to the deleted callback.
pub(crate) const GONE: &str = "push.deleted";

/// Events that must come to another callback after the deletion, and how long each may take.
const EVENTS_AFTER: u64 = 3;
const EVENT: Duration = Duration::from_secs(3);
/// The longest pause between deliveries at a task's end.
const PAUSE: Duration = Duration::from_secs(2);

/// Deliveries are seen at each callback, and at none after its deletion.
pub(crate) struct Delivery;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    needs: NEEDS,
    ..ScenarioSpec::new(ID, "A task with three callbacks goes on to its end; one of them is deleted on the way.")
};

impl Scenario for Delivery {
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
    let inline = Callback::open(stage, INLINE, Show::Scheme("Bearer"), Vec::new())?;
    let second = Callback::open(stage, SECOND, Show::Scheme("Basic"), Vec::new())?;
    let deleted = Callback::open(stage, DELETED, Show::Token, Vec::new())?;
    let watch = Watch::begin(stage).await?;
    let parts = lasting(stage).parts;
    let mut request = starting(message(stage, &parts));
    request.push = Some(inline.config.clone());
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
    second.create(&mut client, stage, &task).await?;
    if let Some(id) = deleted.create(&mut client, stage, &task).await? {
        delete(&mut client, stage, &task, (&deleted, &id), &second).await?;
    }
    client.settle(stage, &mut task).await?;
    inline.wait_for_end(stage, PAUSE).await?;
    second.wait(stage, 1, PAUSE).await?;
    note_strays(stage, &task)?;
    watch.end(stage).await
}

/// Deletes a callback once something came to it, and lets the task go on for some events of another one.
async fn delete(
    client: &mut Client,
    stage: &mut Stage<'_>,
    task: &TaskRef,
    (deleted, id): (&Callback, &str),
    other: &Callback,
) -> Result<(), CouldNotRun> {
    let (task_id, id) = (task.id.clone(), id.to_owned());
    // whether the task was open when it was registered
    client.get(stage, &task.id).await?;
    deleted.wait(stage, 1, FIRST.min(EVENT)).await?;
    client
        .call(stage, Operation::DeleteTaskPushNotificationConfig { task_id: task_id.clone(), id: id.clone() })
        .await?;
    stage.mark(GONE, Some(DELETED));
    inbox(stage)?.withdraw(&deleted.address);
    client.call(stage, Operation::GetTaskPushNotificationConfig { task_id, id }).await?;
    let before = other.count(stage)?;
    for n in 1..=EVENTS_AFTER {
        if !other.wait(stage, before + n, EVENT).await? {
            break;
        }
    }
    Ok(())
}
