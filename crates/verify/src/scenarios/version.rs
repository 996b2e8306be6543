//! Sends an ordinary message with a protocol version that nobody supports, with none, with an empty one, with a minor
//! version that nobody published, and with a patch number.

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
/// The variant whose version is empty, which means the same as none (§3.6.2).
pub(crate) const EMPTY: &str = "empty";
/// A later minor version, which nobody published and no interface declares.
pub(crate) const MINOR: &str = "1.9";
/// The declared version with a patch number, which callers should not send and agents must not consider (§3.6).
pub(crate) const PATCH: &str = "1.0.1";

/// The version header alone is varied.
pub(super) struct Version;

static SPEC: ScenarioSpec = ScenarioSpec {
    control: Control::By(send::ID),
    clearance: Clearance::Write,
    version: 2,
    ..ScenarioSpec::new(ID, "A message is sent with other protocol versions, with an empty one, and with none.")
};

impl Scenario for Version {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input, AXIS, &[UNSUPPORTED, MISSING, EMPTY, MINOR, PATCH])
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
            let version = stage.axes().values.get(AXIS).map_or(UNSUPPORTED, String::as_str).to_owned();
            let mut client = Client::open(stage, Role::Primary).await?;
            // what is refused is asked twice, so that it is seen whether the refusal is the same
            let times = if version == UNSUPPORTED { 2 } else { 1 };
            for _ in 0..times {
                let request = message(stage, &example.parts);
                let version = sent(&version);
                let call = Call { version, ..client.prepare(Operation::SendMessage(request)) };
                client.send(stage, &call).await?;
            }
            Ok(())
        })
    }
}

/// The header's value of a variant; `None` sends none.
fn sent(variant: &str) -> Option<String> {
    match variant {
        MISSING => None,
        EMPTY => Some(String::new()),
        version => Some(version.to_owned()),
    }
}
