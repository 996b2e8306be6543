//! A receiver that cannot take what it is sent: the connection breaks, then it is unavailable for good.

use std::time::Duration;

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Reply as Answer,
    ports::{BoxFuture, CouldNotRun},
};

use super::{Callback, NEEDS, Show, lasting, note_strays, starting, variants};
use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::client::{Client, Led, led_to, message},
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.push.redelivery";
/// The callback that takes everything: what really happened, each event once.
pub(crate) const TAKING: &str = "taking";
/// The callback that takes nothing.
pub(crate) const FAILING: &str = "failing";

/// The longest pause between deliveries at a task's end.
const PAUSE: Duration = Duration::from_secs(2);
/// How long a further attempt is waited for, at least and at most.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5);
/// Attempts that are waited for; whoever makes more has been seen enough of.
const MOST: u64 = 200;

/// What is sent again is the same.
pub(crate) struct Redelivery;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    needs: NEEDS,
    ..ScenarioSpec::new(ID, "A task with two callbacks goes on to its end; one of them takes nothing that it is sent.")
};

impl Scenario for Redelivery {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let taking = Callback::open(stage, TAKING, Show::Nothing, Vec::new())?;
    let unavailable = vec![Answer::Broken, Answer::Status(503)];
    let failing = Callback::open(stage, FAILING, Show::Nothing, unavailable)?;
    let parts = lasting(stage).parts;
    let mut request = starting(message(stage, &parts));
    request.push = Some(taking.config.clone());
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    let Led::Task(mut task) = led_to(&reply) else { return Ok(()) };
    failing.create(&mut client, stage, &task).await?;
    client.settle(stage, &mut task).await?;
    taking.wait_for_end(stage, PAUSE).await?;
    let pause = pause(stage);
    let mut count = failing.count(stage)?;
    while count < MOST && failing.wait(stage, count + 1, pause).await? {
        count = failing.count(stage)?;
    }
    note_strays(stage, &task)
}

/// Long enough to see the next attempt that the contract allows.
fn pause(stage: &Stage<'_>) -> Duration {
    let policy = stage.bundle().temporal.push_retry.as_ref();
    let promised = policy.map_or(SHORTEST, |p| Duration::from_millis(p.backoff_ms.saturating_mul(4)));
    promised.clamp(SHORTEST, LONGEST)
}
