//! Sends an ordinary message with a protocol version that nobody supports, and with none.

use ostiary_protocol::a2a::{Call, Operation};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, message},
        example, send, variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.version.unsupported";
/// The axis that says which version is sent.
pub(crate) const AXIS: &str = "version";
/// A version that no interface declares.
pub(crate) const UNSUPPORTED: &str = "9.9";
/// The variant without a version.
pub(crate) const MISSING: &str = "missing";

/// The version header alone is varied.
pub(super) struct Version;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A message is sent with an unsupported protocol version, and with none.")
};

impl Scenario for Version {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input, AXIS, &[UNSUPPORTED, MISSING])
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let version = stage.axes().values.get(AXIS).filter(|v| *v != MISSING).cloned();
            let mut client = Client::open(stage, Role::Primary).await?;
            let request = message(stage, &example.parts);
            let call = Call { version, ..client.prepare(Operation::SendMessage(request)) };
            client.send(stage, &call).await.map(drop)
        })
    }
}
