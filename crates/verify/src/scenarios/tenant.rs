//! A task of one tenant, read and canceled by another, beside a task that does not exist.

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Gate,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Needs, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, led_to, message},
        credential, example, terminal,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.tenant.cross";
/// The mark of the owner's task, with its id.
pub(crate) const FOREIGN_TASK: &str = "foreign_task";
/// The mark of the id that names no task.
pub(crate) const NO_SUCH_TASK: &str = "no_such_task";

/// Another tenant's task is as good as none.
pub(super) struct CrossTenant;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    control: Control::Within,
    clearance: Clearance::Write,
    needs: Needs { roles: &[Role::Primary, Role::OtherTenant], ..Needs::USUAL },
    ..ScenarioSpec::new(ID, "A task of one tenant is read and canceled by another, beside one that does not exist.")
};

impl Scenario for CrossTenant {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if credential::declares_security(input) { input.each_profile() } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut owner = Client::open(stage, Role::Primary).await?;
    let mut other = Client::open(stage, Role::OtherTenant).await?;
    let Some(foreign) = own_task(stage, &mut owner).await? else { return Ok(()) };
    let Some(own) = own_task(stage, &mut other).await? else { return Ok(()) };
    let nothing = unlike(&foreign, &own);
    stage.mark(FOREIGN_TASK, Some(&foreign));
    stage.mark(NO_SUCH_TASK, Some(&nothing));
    stage.control_ok();
    other.get(stage, &foreign).await?;
    other.get(stage, &nothing).await?;
    other.cancel(stage, &foreign).await?;
    other.cancel(stage, &nothing).await?;
    // the other tenant is still served what is its own: the refusals were not for everybody
    other.get(stage, &own).await?;
    owner.get(stage, &foreign).await.map(drop)
}

/// A task of the caller's own that it can read: the control, for both tenants.
pub(crate) async fn own_task(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<String>, CouldNotRun> {
    let example = example::of_variant(stage.axes(), stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let id = match led_to(&reply) {
        Led::Task(task) => task.id,
        Led::Message => {
            stage.mark(terminal::NO_TASK, None);
            stage.control_failed("the agent answers with a message and makes no task");
            return Ok(None);
        }
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            return Ok(None);
        }
    };
    if client.get(stage, &id).await?.result().is_some() {
        return Ok(Some(id));
    }
    stage.control_failed("a tenant cannot read its own task");
    Ok(None)
}

/// An id of the same form as `id` that names none of both tasks: each hexadecimal digit moved on by one.
pub(crate) fn unlike(id: &str, other: &str) -> String {
    let shift = |by: u32| -> String {
        let moved = |c: char| match c.to_digit(16) {
            Some(digit) if !c.is_ascii_uppercase() => char::from_digit((digit + by) % 16, 16).unwrap_or(c),
            _ => c,
        };
        // the form of a version 4 UUID is kept: its version and variant digits stay
        id.char_indices().map(|(n, c)| if matches!(n, 14 | 19) { c } else { moved(c) }).collect()
    };
    (1..16).map(shift).find(|candidate| candidate != other && candidate != id).unwrap_or_else(|| format!("{id}-none"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unknown_id_has_the_form_of_the_known_one() {
        let id = "3512472e-9b1c-4c55-8d60-0123456789ab";
        let none = unlike(id, "4623583f-ac2d-4d66-8e71-123456789abc");
        assert_ne!(none, id);
        assert_ne!(none, "4623583f-ac2d-4d66-8e71-123456789abc");
        assert_eq!(none.len(), id.len());
        assert_eq!((none.as_bytes()[14], none.as_bytes()[19]), (b'4', b'8'));
        assert_eq!(unlike("", ""), "-none");
    }
}
