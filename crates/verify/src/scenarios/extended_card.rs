//! The extended card, where the card declares one: asked for by who may have it, and by nobody in particular.

use ostiary_protocol::a2a::{Card, Operation, card::Capability};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};
use serde_json::Value;

use crate::{
    plan::PlanInput,
    scenario::{Needs, Role, Scenario, ScenarioSpec},
    scenarios::client::Client,
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.extended_card.declared";

/// What is declared is there, for those whom it is for.
pub(super) struct ExtendedCard;

static SPEC: ScenarioSpec = ScenarioSpec {
    needs: Needs { roles: &[Role::Primary, Role::Anonymous], ..Needs::USUAL },
    ..ScenarioSpec::new(ID, "The extended card is asked for with a credential and without one.")
};

impl Scenario for ExtendedCard {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if input.discovered.card.as_ref().is_some_and(declares_one) { input.each_profile() } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            for role in [Role::Primary, Role::Anonymous, Role::Primary] {
                let mut client = Client::open(stage, role).await?;
                client.call(stage, Operation::GetExtendedAgentCard).await?;
            }
            Ok(())
        })
    }
}

/// Whether a card declares an extended one.
pub(crate) fn declares_one(card: &Value) -> bool {
    Card::new(card.clone()).capability(Capability::ExtendedAgentCard) == Some(true)
}
