//! Sends each example and waits, then reads the task back until it stands still.

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.message.send";

/// The positive control of everything that must be refused: an ordinary message works.
pub(super) struct Send;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "Each example is sent, and its task read back until it stands still.")
};

impl Scenario for Send {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        per_example(input)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// One variant for each profile and example.
pub(super) fn per_example(input: &PlanInput<'_>) -> Vec<Axes> {
    let examples = example::examples(input.bundle, input.discovered.card.as_ref());
    let with = |axes: &Axes, name: &str| {
        let mut axes = axes.clone();
        axes.values.insert(example::AXIS.to_owned(), name.to_owned());
        axes
    };
    input.each_profile().iter().flat_map(|axes| examples.iter().map(|e| with(axes, &e.name))).collect()
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    match led_to(&reply) {
        Led::Task(mut task) => {
            stage.control_ok();
            client.settle(stage, &mut task).await
        }
        Led::Message => {
            stage.control_ok();
            Ok(())
        }
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            Ok(())
        }
    }
}
