//! A task outlives the credential that it was begun with: that credential is shown again after its end, beside ones that
//! ended as long and longer ago, and a fresh one.

use std::time::Duration;

use jiff::SignedDuration;
use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    ActorId, Axes, Gate, TokenFlaw,
    ports::{Actor, BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Control, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        credential, example,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.credential.ends";
/// The mark before each look, with the credential that is shown; the task's id is that of [`TASK`].
pub(crate) const SHOWN: &str = "credential_shown";
/// The credential that the task was begun with, after its end.
pub(crate) const ENDED: &str = "ended";
/// One that ended at the same time and was never shown before.
pub(crate) const UNSEEN: &str = "unseen";
/// One that ended long ago.
pub(crate) const OLD: &str = "old";
/// One that is good.
pub(crate) const FRESH: &str = "fresh";
/// The mark of the task, with its id.
pub(crate) const TASK: &str = "task_of_credential";

/// How long the credential lives. Tokens end at whole seconds, so that it is one to two.
const LIFE: Duration = Duration::from_secs(2);
/// Beyond its end, since the agent's machine may be another.
const BEYOND: Duration = Duration::from_millis(300);

/// A credential ends, its task does not.
pub(super) struct CredentialEnds;

static SPEC: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    control: Control::Within,
    clearance: Clearance::Write,
    ..ScenarioSpec::new(
        ID,
        "A task is read with the credential that it was begun with, after that has ended, and with others.",
    )
};

impl Scenario for CredentialEnds {
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
    let life = SignedDuration::try_from(LIFE).unwrap_or(SignedDuration::ZERO);
    let (actor, subject) = lasting(stage, life).await?;
    let begun = stage.tape().now();
    let mut early = Client::open_as(stage, actor).await?;
    let Some(mut task) = begin(stage, &mut early).await? else { return Ok(()) };
    early.look(stage, &mut task).await?;
    stage.mark(TASK, Some(&task.id));
    stage.control_ok();
    let passed = Duration::from_nanos(stage.tape().now().0.saturating_sub(begun.0));
    stage.wait((LIFE + BEYOND).saturating_sub(passed)).await;
    stage.mark(SHOWN, Some(ENDED));
    early.get(stage, &task.id).await?;
    let (unseen, _) = lasting(stage, SignedDuration::from_secs(-1)).await?;
    show(stage, unseen, UNSEEN, &task).await?;
    if let Some(old) = flawed(stage, &subject).await? {
        show(stage, old, OLD, &task).await?;
    }
    let mut fresh = Client::open(stage, Role::Primary).await?;
    stage.mark(SHOWN, Some(FRESH));
    fresh.look(stage, &mut task).await?;
    fresh.settle(stage, &mut task).await
}

/// A task that works for a while; the control of what follows.
async fn begin(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<TaskRef>, CouldNotRun> {
    let example = example::lasting(stage.bundle(), stage.card());
    let mut request = message(stage, &example.parts);
    request.return_immediately = Some(true);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    match led_to(&reply) {
        Led::Task(task) => Ok(Some(task)),
        Led::Message => {
            stage.control_failed("the agent answers with a message and makes no task");
            Ok(None)
        }
        Led::Nowhere(why) => {
            stage.control_failed(&why);
            Ok(None)
        }
    }
}

async fn show(stage: &mut Stage<'_>, actor: Actor, name: &str, task: &TaskRef) -> Result<(), CouldNotRun> {
    let mut client = Client::open_as(stage, actor).await?;
    stage.mark(SHOWN, Some(name));
    client.get(stage, &task.id).await.map(drop)
}

/// The profile's own subject with a credential that ends so long from now.
async fn lasting(stage: &mut Stage<'_>, life: SignedDuration) -> Result<(Actor, ActorId), CouldNotRun> {
    let subject = stage.subject(Role::Primary).cloned();
    if let (Some(authority), Some(subject)) = (stage.authority(), subject)
        && let Some(actor) = authority.lasting(&subject, life).await?
    {
        return Ok((actor, subject));
    }
    Err(stage.no_subject("no credential whose end is ours to say: let the harness sign the subject's token"))
}

async fn flawed(stage: &mut Stage<'_>, subject: &ActorId) -> Result<Option<Actor>, CouldNotRun> {
    match stage.authority() {
        Some(authority) => authority.flawed(subject, TokenFlaw::Expired).await,
        None => Ok(None),
    }
}
