//! Takes a dependency of the candidate down, sends an example meanwhile, brings the dependency back, and sends another.

use std::time::Duration;

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Disturbed, Down, Fault, FaultPlan, Gate, When,
    ports::{BoxFuture, CouldNotRun, Faults},
};

use crate::{
    plan::PlanInput,
    scenario::{Budget, Clearance, Control, Isolation, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example, variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.dependency.down";
/// The axis that names the dependency.
pub(crate) const AXIS: &str = "dependency";
/// The mark from which on the dependency is down.
pub(crate) const DOWN: &str = "dependency_down";
/// The mark from which on it is back.
pub(crate) const BACK: &str = "dependency_back";
/// The mark with what tried to reach the dependency without having been asked to, as a list of [`Disturbed`].
pub(crate) const NOISE: &str = "attempts_unasked";
/// The mark with what tried to reach it for the example.
pub(crate) const ATTEMPTS: &str = "attempts";

/// How long nothing is asked of the candidate, so that what calls the dependency by itself is known.
const QUIET: Duration = Duration::from_millis(500);
/// Tries for an example after the dependency is back: an agent may wait a while before it trusts it again.
const TRIES: u32 = 5;
/// Before the second try; doubles up to its eightfold.
const PAUSE: Duration = Duration::from_secs(1);

/// What breaks beneath an agent, and is mended.
pub(super) struct DependencyDown;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    control: Control::Within,
    // everybody else needs the dependency
    isolation: Isolation::Exclusive,
    clearance: Clearance::Write,
    budget: Budget { calls: 40, time: Duration::from_secs(120) },
    ..ScenarioSpec::new(ID, "An example is sent while a dependency is down, and another one when it is back.")
};

impl Scenario for DependencyDown {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if !input.environment.faults.iter().any(|f| f == "dependency_down") {
            return Vec::new();
        }
        let names: Vec<&str> = input.environment.dependencies.iter().map(String::as_str).collect();
        variants(input, AXIS, &names)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let name = stage.axes().values.get(AXIS).cloned().unwrap_or_default();
    let mut client = Client::open(stage, Role::Primary).await?;
    if !works(stage, &mut client).await? {
        return Ok(());
    }
    stage.control_ok();
    switch(stage, &name, Some(FaultPlan::always(refused()))).await?;
    // open connections are cut; from now on those that are tried are taken, counted and reset
    switch(stage, &name, Some(FaultPlan::when(When::From(1), refused()))).await?;
    let before = tried(stage, &name, None);
    stage.wait(QUIET).await;
    let unasked = tried(stage, &name, before.last());
    write(stage, NOISE, &unasked);
    stage.mark(DOWN, Some(&name));
    let task = send(stage, &mut client).await?;
    write(stage, ATTEMPTS, &tried(stage, &name, unasked.last().or(before.last())));
    switch(stage, &name, None).await?;
    stage.mark(BACK, Some(&name));
    if let Some(mut task) = task {
        client.look(stage, &mut task).await?;
        client.settle(stage, &mut task).await?;
    }
    let mut pause = PAUSE;
    for _ in 0..TRIES {
        if works(stage, &mut client).await? {
            break;
        }
        stage.wait(pause).await;
        pause = (pause * 2).min(PAUSE * 8);
    }
    Ok(())
}

/// Whether an example is done; else why not, for the control's mark.
async fn works(stage: &mut Stage<'_>, client: &mut Client) -> Result<bool, CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    match led_to(&reply) {
        Led::Message => Ok(true),
        Led::Task(mut task) => {
            client.settle(stage, &mut task).await?;
            let done = task.state == Some(ostiary_protocol::a2a::TaskState::Completed);
            if !done {
                stage.control_failed("the example does not complete");
            }
            Ok(done)
        }
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            Ok(false)
        }
    }
}

async fn send(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<TaskRef>, CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    Ok(if let Led::Task(task) = led_to(&reply) { Some(task) } else { None })
}

const fn refused() -> Fault {
    Fault::Down { how: Down::Refuse }
}

fn place<'s>(stage: &'s Stage<'_>, name: &str) -> Option<&'s dyn Faults> {
    stage.faults().find(|f| f.place() == name)
}

async fn switch(stage: &mut Stage<'_>, name: &str, plan: Option<FaultPlan>) -> Result<(), CouldNotRun> {
    let none = || CouldNotRun::Internal(format!("nothing stands before the dependency `{name}`"));
    let tape = stage.tape().clone();
    place(stage, name).ok_or_else(none)?.switch(&tape, plan.as_ref()).await
}

/// What tried to reach the dependency after `last`, as far as the ledger is kept.
fn tried(stage: &Stage<'_>, name: &str, last: Option<&Disturbed>) -> Vec<Disturbed> {
    let all = place(stage, name).map(Faults::ledger).unwrap_or_default();
    all.into_iter().filter(|entry| last.is_none_or(|last| entry.n > last.n)).collect()
}

fn write(stage: &Stage<'_>, label: &str, attempts: &[Disturbed]) {
    let text = serde_json::to_string(attempts).expect("attempts are plain data and always serialise");
    stage.mark(label, Some(&text));
}
