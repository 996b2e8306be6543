//! A task is made over each binding and read over all of them, by one caller.

use ostiary_canon::Profile;
use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    discover::Interface,
    plan::PlanInput,
    scenario::{Budget, Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example, terminal,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.binding.equivalence";
/// The axis that names all protocols compared, with blanks between: `a2a-jsonrpc-1.0 a2a-grpc-1.0`.
pub(crate) const AXIS: &str = "bindings";
/// The mark of a task begins so, and goes on with the protocol it was made over; its value is the id.
pub(crate) const TASK: &str = "made_over ";

/// One agent behind several bindings.
pub(super) struct Equivalence;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::Within,
    clearance: Clearance::Write,
    budget: Budget { calls: 60, ..Budget::USUAL },
    ..ScenarioSpec::new(ID, "A task is made over each binding and read over each of them.")
};

impl Scenario for Equivalence {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        groups(input).into_iter().filter(|group| group.len() > 1).map(|group| axes(&group)).collect()
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// The activated profiles that differ in nothing but their protocol, and whose interfaces lead to the same tenant.
fn groups(input: &PlanInput<'_>) -> Vec<Vec<Profile>> {
    let mut out: Vec<Vec<Profile>> = Vec::new();
    let tenant = |p: &Profile| input.interface(p).and_then(|i| i.tenant.clone());
    let alike = |a: &Profile, b: &Profile| {
        (a.authorization(), a.tenant_class()) == (b.authorization(), b.tenant_class()) && tenant(a) == tenant(b)
    };
    for axes in input.each_profile() {
        let Some(profile) = axes.profile.as_deref().and_then(|p| p.parse::<Profile>().ok()) else { continue };
        match out.iter_mut().find(|group| alike(&group[0], &profile)) {
            Some(group) => group.push(profile),
            None => out.push(vec![profile]),
        }
    }
    out
}

fn axes(group: &[Profile]) -> Axes {
    let names: Vec<&str> = group.iter().map(Profile::protocol).collect();
    let values = [(AXIS.to_owned(), names.join(" "))].into_iter().collect();
    Axes { profile: Some(group[0].to_string()), values, ..Axes::default() }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let names = stage.axes().values.get(AXIS).cloned().unwrap_or_default();
    let mut clients = Vec::new();
    for name in names.split(' ') {
        let interface = stage.interfaces().find(|i| i.protocol().as_deref() == Some(name)).cloned();
        let interface: Interface =
            interface.ok_or_else(|| CouldNotRun::Internal(format!("the card has no interface of {name}")))?;
        clients.push((name, Client::open_at(stage, Role::Primary, &interface).await?));
    }
    for at in 0..clients.len() {
        let Some(task) = made(stage, &mut clients[at].1).await? else { return Ok(()) };
        stage.mark(&format!("{TASK}{}", clients[at].0), Some(&task.id));
        for (_, client) in &mut clients {
            client.get(stage, &task.id).await?;
        }
    }
    stage.control_ok();
    Ok(())
}

/// A task that stands still; `None` = there is none, and the control says why.
async fn made(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<TaskRef>, CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    match led_to(&reply) {
        Led::Task(mut task) => {
            client.settle(stage, &mut task).await?;
            return Ok(Some(task));
        }
        Led::Message => {
            stage.mark(terminal::NO_TASK, None);
            stage.control_failed("the agent answers with a message and makes no task");
        }
        Led::Nowhere(why) => stage.control_failed(&why),
    }
    Ok(None)
}
