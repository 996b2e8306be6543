//! Asks for a stream that the card does not declare.

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, message},
        example, send,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.stream.undeclared";

/// A stream that is not declared must be refused.
pub(super) struct UndeclaredStream;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A stream is asked for although the card declares none.")
};

impl Scenario for UndeclaredStream {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if input.declares("streaming") { Vec::new() } else { input.each_profile() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let mut client = Client::open(stage, Role::Primary).await?;
            let request = message(stage, &example.parts);
            client.call(stage, Operation::SendStreamingMessage(request)).await.map(drop)
        })
    }
}
