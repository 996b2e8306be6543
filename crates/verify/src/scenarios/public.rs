//! Sends a message without credential to an agent that is declared public.

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Gate,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Needs, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, message},
        credential, example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.auth.public";

/// Anonymous works where no credential is declared.
pub(super) struct Public;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    clearance: Clearance::Write,
    needs: Needs { roles: &[Role::Anonymous], ..Needs::USUAL },
    ..ScenarioSpec::new(ID, "A message without credential to an agent that declares no security scheme.")
};

impl Scenario for Public {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if credential::declares_security(input) { Vec::new() } else { input.each_profile() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let mut client = Client::open(stage, Role::Anonymous).await?;
            let request = message(stage, &example.parts);
            client.call(stage, Operation::SendMessage(request)).await.map(drop)
        })
    }
}
