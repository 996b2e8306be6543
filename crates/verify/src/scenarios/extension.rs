//! A caller that does not say that it supports the extensions which the card requires.

use ostiary_protocol::a2a::{Call, Card, Operation};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};
use serde_json::Value;

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
pub(crate) const ID: &str = "a2a.extension.required";

/// What is required is asked for.
pub(super) struct RequiredExtension;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A message that names none of the extensions which the card requires, sent twice.")
};

impl Scenario for RequiredExtension {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if input.discovered.card.as_ref().is_some_and(requires_one) { input.each_profile() } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let mut client = Client::open(stage, Role::Primary).await?;
            for _ in 0..2 {
                let request = message(stage, &example.parts);
                let call = Call { extensions: Vec::new(), ..client.prepare(Operation::SendMessage(request)) };
                client.send(stage, &call).await?;
            }
            Ok(())
        })
    }
}

/// Whether a card requires an extension.
pub(crate) fn requires_one(card: &Value) -> bool {
    Card::new(card.clone()).extensions().iter().any(|e| e.required)
}
