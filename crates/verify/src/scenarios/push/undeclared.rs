//! Push notifications that the card does not declare are asked for by every operation that there is.

use std::time::Duration;

use ostiary_protocol::a2a::{Operation, operation::PushConfig};
use ostiary_record::{
    Axes, Registration,
    ports::{BoxFuture, CouldNotRun},
};

use super::declared;
use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, send,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.push.undeclared";
/// The name of the callback in a message.
pub(crate) const INLINE: &str = "undeclared";

/// A name that no resolver knows: nobody is called, should the agent take it.
const NOWHERE: &str = "https://callback.invalid/";
/// How long a delivery is waited for that must not come.
const QUIET: Duration = Duration::from_secs(1);

/// None of the operations is served.
pub(crate) struct Undeclared;

static SPEC: ScenarioSpec = ScenarioSpec {
    version: 2,
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(
        ID,
        "Callbacks are asked for by every operation although the card declares no push notifications.",
    )
};

impl Scenario for Undeclared {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if declared(input.discovered.card.as_ref()) { Vec::new() } else { input.each_profile() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let registration = Registration { name: INLINE.to_owned(), ..Registration::default() };
    let seen = stage.inbox().map(|inbox| inbox.register(stage.tape(), registration));
    let url = seen.as_ref().map_or(NOWHERE, |address| &address.url).to_owned();
    let inline = PushConfig { url, ..PushConfig::default() };
    let mut request = message(stage, &example.parts);
    request.push = Some(inline.clone());
    let mut reply = client.call(stage, Operation::SendMessage(request)).await?;
    if reply.error().is_some() {
        let request = message(stage, &example.parts);
        reply = client.call(stage, Operation::SendMessage(request)).await?;
    }
    // for a task of one's own, so that nothing but the capability is missing
    let task_id = match led_to(&reply) {
        Led::Task(task) => task.id,
        Led::Message | Led::Nowhere(_) => stage.fresh("no-such-task"),
    };
    let (config, id) = (PushConfig { task_id: task_id.clone(), ..inline }, "callback".to_owned());
    for operation in [
        Operation::CreateTaskPushNotificationConfig(config),
        Operation::GetTaskPushNotificationConfig { task_id: task_id.clone(), id: id.clone() },
        Operation::ListTaskPushNotificationConfigs { task_id: task_id.clone() },
        Operation::DeleteTaskPushNotificationConfig { task_id, id },
    ] {
        client.call(stage, operation).await?;
    }
    if let (Some(inbox), Some(address)) = (stage.inbox(), &seen) {
        inbox.wait(address, 1, QUIET).await;
    }
    Ok(())
}
