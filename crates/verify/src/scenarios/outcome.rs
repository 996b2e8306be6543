//! Sends the examples of which the contract says that their tasks do not complete, and reads them back.

use ostiary_contract::file::skill::LeadsTo;
use ostiary_protocol::a2a::{Operation, TaskState};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.outcome";
/// The axis that says where the task goes.
pub(crate) const AXIS: &str = "outcome";

/// Tasks that end otherwise than well, or wait.
pub(super) struct Outcome;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "Examples whose tasks fail, are rejected or wait for a credential are sent and read back.")
};

/// The outcomes by their names in variants; completion and questions have scenarios of their own.
const OUTCOMES: [(&str, LeadsTo, TaskState); 3] = [
    ("failed", LeadsTo::Failed, TaskState::Failed),
    ("rejected", LeadsTo::Rejected, TaskState::Rejected),
    ("auth_required", LeadsTo::AuthRequired, TaskState::AuthRequired),
];

impl Scenario for Outcome {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let card = input.discovered.card.as_ref();
        let has = |to: LeadsTo| example::leading_to(input.bundle, card, to).is_some();
        let named: Vec<&str> = OUTCOMES.iter().filter(|(_, to, _)| has(*to)).map(|(name, ..)| *name).collect();
        variants(input, AXIS, &named)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// The state that a variant must lead to.
pub(crate) fn state_of(axes: &Axes) -> Option<TaskState> {
    of(axes).map(|(_, state)| state)
}

fn of(axes: &Axes) -> Option<(LeadsTo, TaskState)> {
    let wanted = axes.values.get(AXIS)?;
    OUTCOMES.iter().find(|(name, ..)| name == wanted).map(|(_, to, state)| (*to, *state))
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = of(stage.axes()).and_then(|(to, _)| example::leading_to(stage.bundle(), stage.card(), to));
    let example = example.ok_or_else(|| CouldNotRun::Internal("the variant names no example".to_owned()))?;
    let mut client = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    if let Led::Task(mut task) = led_to(&reply) {
        client.settle(stage, &mut task).await?;
    }
    Ok(())
}
