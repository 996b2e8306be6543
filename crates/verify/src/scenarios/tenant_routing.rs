//! A task of an interface that names a tenant, read with that routing value, with another one, and with none.

use ostiary_protocol::a2a::{Call, Operation};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, terminal,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.tenant.routing";
/// The mark of the task, with its id; the reads with a wrong routing value come after it.
pub(crate) const TASK: &str = "routed_task";

/// The routing value alone is varied; the caller is the task's owner throughout.
pub(super) struct TenantRouting;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::Within,
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A task is read with the interface's routing value, with another one, and with none.")
};

impl Scenario for TenantRouting {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let names_tenant = |axes: &Axes| {
            let profile = axes.profile.as_deref().and_then(|p| p.parse().ok());
            profile.and_then(|p| input.interface(&p)).is_some_and(|i| i.tenant.is_some())
        };
        input.each_profile().into_iter().filter(names_tenant).collect()
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let id = match led_to(&reply) {
        Led::Task(task) => task.id,
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
    if client.get(stage, &id).await?.result().is_none() {
        stage.control_failed("the task cannot be read with the interface's own routing value");
        return Ok(());
    }
    stage.control_ok();
    stage.mark(TASK, Some(&id));
    for tenant in [Some(stage.fresh("no-such-tenant")), None] {
        let call = Call { tenant, ..client.prepare(Operation::GetTask { id: id.clone(), history_length: None }) };
        client.send(stage, &call).await?;
    }
    // the right value still works: the refusals were not for everybody
    client.get(stage, &id).await.map(drop)
}
