//! The same message and the same read without a credential, with an expired one, and with a foreign one.

use ostiary_protocol::a2a::{Card, Operation};
use ostiary_record::{
    Axes, Gate,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Needs, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        example,
    },
    stage::Stage,
};

/// Without any.
pub(crate) const MISSING: &str = "a2a.auth.missing";
/// With one whose time is over.
pub(crate) const EXPIRED: &str = "a2a.auth.expired";
/// With one of another issuer.
pub(crate) const FOREIGN: &str = "a2a.auth.foreign";

/// The credential alone is varied.
pub(super) struct Credential {
    spec: &'static ScenarioSpec,
    role: Role,
}

const fn spec(id: &'static str, summary: &'static str, roles: &'static [Role]) -> ScenarioSpec {
    ScenarioSpec {
        gate: Gate::Security,
        control: Control::Within,
        clearance: Clearance::Write,
        needs: Needs { roles, ..Needs::USUAL },
        ..ScenarioSpec::new(id, summary)
    }
}

static NO_CREDENTIAL: ScenarioSpec =
    spec(MISSING, "A message and a read without credential.", &[Role::Primary, Role::Anonymous]);
static OLD_CREDENTIAL: ScenarioSpec =
    spec(EXPIRED, "A message and a read with an expired credential.", &[Role::Primary, Role::Expired]);
static OTHER_CREDENTIAL: ScenarioSpec =
    spec(FOREIGN, "A message and a read with a credential of another issuer.", &[Role::Primary, Role::Foreign]);

// === impl Credential ===

impl Credential {
    /// The three scenarios.
    pub(super) const ALL: [Self; 3] = [
        Self { spec: &NO_CREDENTIAL, role: Role::Anonymous },
        Self { spec: &OLD_CREDENTIAL, role: Role::Expired },
        Self { spec: &OTHER_CREDENTIAL, role: Role::Foreign },
    ];
}

impl Scenario for Credential {
    fn spec(&self) -> &'static ScenarioSpec {
        self.spec
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if declares_security(input) { input.each_profile() } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage, self.role))
    }
}

/// Whether the card says that a credential is needed at all.
pub(super) fn declares_security(input: &PlanInput<'_>) -> bool {
    input.discovered.card.as_ref().is_some_and(|c| Card::new(c.clone()).declares_security())
}

async fn drive(stage: &mut Stage<'_>, role: Role) -> Result<(), CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let mut owner = Client::open(stage, Role::Primary).await?;
    let request = message(stage, &example.parts);
    let reply = owner.call(stage, Operation::SendMessage(request)).await?;
    let task = match led_to(&reply) {
        Led::Task(task) => Some(task.id),
        Led::Message => None,
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            return Ok(());
        }
    };
    stage.control_ok();
    if let Some(id) = &task {
        owner.get(stage, id).await?;
    }
    let mut stranger = Client::open(stage, role).await?;
    let request = message(stage, &example.parts);
    stranger.call(stage, Operation::SendMessage(request)).await?;
    if let Some(id) = &task {
        stranger.get(stage, id).await?;
        owner.get(stage, id).await?;
    }
    // the owner is still served: what the stranger got was not for everybody
    let request = message(stage, &example.parts);
    owner.call(stage, Operation::SendMessage(request)).await.map(drop)
}
