//! Asks for what the card does not declare: a stream, the extended card.

use ostiary_protocol::a2a::{Card, Operation, card::Capability};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example, send,
    },
    stage::Stage,
};

/// A stream.
pub(crate) const STREAM: &str = "a2a.stream.undeclared";
/// The extended card.
pub(crate) const EXTENDED_CARD: &str = "a2a.extended_card.undeclared";

/// A capability that the card does not declare must be refused; they differ in the operation alone.
pub(super) struct Undeclared {
    spec: &'static ScenarioSpec,
    capability: Capability,
}

const fn spec(id: &'static str, summary: &'static str) -> ScenarioSpec {
    ScenarioSpec { control: Control::By(send::ID), clearance: Clearance::Write, ..ScenarioSpec::new(id, summary) }
}

static OF_STREAM: ScenarioSpec = ScenarioSpec {
    version: 2,
    ..spec(STREAM, "A stream and a subscription are asked for although the card declares no streaming.")
};
static OF_CARD: ScenarioSpec = spec(EXTENDED_CARD, "The extended card is asked for although the card declares none.");

// === impl Undeclared ===

impl Undeclared {
    /// Both.
    pub(super) const ALL: [Self; 2] = [
        Self { spec: &OF_STREAM, capability: Capability::Streaming },
        Self { spec: &OF_CARD, capability: Capability::ExtendedAgentCard },
    ];
}

impl Scenario for Undeclared {
    fn spec(&self) -> &'static ScenarioSpec {
        self.spec
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let card = input.discovered.card.as_ref().map(|v| Card::new(v.clone()));
        let declared = card.is_some_and(|c| c.capability(self.capability) == Some(true));
        if declared { Vec::new() } else { input.each_profile() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage, self.capability))
    }
}

async fn drive(stage: &mut Stage<'_>, capability: Capability) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut client = Client::open(stage, Role::Primary).await?;
    let operation = if capability == Capability::Streaming {
        let request = message(stage, &example.parts);
        client.call(stage, Operation::SendStreamingMessage(request)).await?;
        // a task of one's own, at work if the contract has such an example
        let lasting = example::lasting(stage.bundle(), stage.card());
        let mut request = message(stage, &lasting.parts);
        request.return_immediately = Some(true);
        let reply = client.call(stage, Operation::SendMessage(request)).await?;
        let Led::Task(task) = led_to(&reply) else { return Ok(()) };
        Operation::SubscribeToTask { id: task.id }
    } else {
        Operation::GetExtendedAgentCard
    };
    client.call(stage, operation).await.map(drop)
}
