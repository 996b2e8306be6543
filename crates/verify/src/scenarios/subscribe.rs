//! Follows a running task over several streams, of which some are lost on the way.
//!
//! Two stories. *Together*: the stream of the message and two subscribers beside it, one of which goes away; then the
//! ended task and an unknown one are subscribed to. *Alone*: the only stream is lost while the task is at work; the task is
//! read, subscribed to again and followed to its end.

use std::time::Duration;

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        example,
        follow::Followed,
        variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.subscribe";
/// The axis that says which story.
pub(crate) const AXIS: &str = "story";
/// Several streams at once.
pub(crate) const TOGETHER: &str = "together";
/// One stream at a time.
pub(crate) const ALONE: &str = "alone";
/// The mark before one of several streams is closed.
pub(crate) const CLOSED: &str = "stream_closed";
/// The mark before the only stream is lost, with the task's id.
pub(crate) const LOST: &str = "stream_lost";
/// The mark before an ended task is subscribed to, with its id.
pub(crate) const ENDED: &str = "ended_task";
/// The mark before an unknown task is subscribed to, with its id.
pub(crate) const UNKNOWN: &str = "unknown_task";

/// Long enough for an agent to notice that a connection is gone, and to do something about it.
const NOTICE: Duration = Duration::from_millis(250);

/// A task goes on whoever looks.
pub(super) struct Subscribe;

static SPEC: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    ..ScenarioSpec::new(ID, "A task at work is followed over several streams, of which some are lost on the way.")
};

impl Scenario for Subscribe {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if input.declares("streaming") { variants(input, AXIS, &[TOGETHER, ALONE]) } else { Vec::new() }
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            let Some((origin, task)) = begin(stage).await? else { return Ok(()) };
            if stage.axes().values.get(AXIS).is_some_and(|story| story == ALONE) {
                alone(stage, origin, task).await
            } else {
                together(stage, origin, task).await
            }
        })
    }
}

/// A task that works for a while, over a stream.
async fn begin(stage: &mut Stage<'_>) -> Result<Option<(Followed, TaskRef)>, CouldNotRun> {
    let example = example::lasting(stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let origin = Followed::begin(stage, Operation::SendStreamingMessage(request)).await?;
    Ok(match led_to(&origin.so_far(stage)?) {
        Led::Task(task) => Some((origin, task)),
        Led::Message | Led::Nowhere(_) => None,
    })
}

async fn together(stage: &mut Stage<'_>, mut origin: Followed, mut task: TaskRef) -> Result<(), CouldNotRun> {
    let mut reader = Client::open(stage, Role::Primary).await?;
    reader.look(stage, &mut task).await?;
    let mut stays = Followed::begin(stage, subscription(&task.id)).await?;
    let mut leaves = Followed::begin(stage, subscription(&task.id)).await?;
    if leaves.is_open(stage)? {
        leaves.next(stage).await?;
        if leaves.is_open(stage)? {
            stage.mark(CLOSED, None);
            leaves.lose(stage);
        }
    }
    let told = origin.finish(stage).await?;
    stays.finish(stage).await?;
    if let Led::Task(seen) = led_to(&told) {
        task.state = seen.state.or(task.state);
    }
    reader.settle(stage, &mut task).await?;
    if task.is_terminal() {
        stage.mark(ENDED, Some(&task.id));
        reader.call(stage, subscription(&task.id)).await?;
    }
    let unknown = stage.fresh("no-such-task");
    stage.mark(UNKNOWN, Some(&unknown));
    reader.call(stage, subscription(&unknown)).await.map(drop)
}

async fn alone(stage: &mut Stage<'_>, mut origin: Followed, mut task: TaskRef) -> Result<(), CouldNotRun> {
    origin.next(stage).await?;
    if !origin.is_open(stage)? {
        return Ok(());
    }
    stage.mark(LOST, Some(&task.id));
    origin.lose(stage);
    stage.wait(NOTICE).await;
    let mut again = Followed::begin(stage, subscription(&task.id)).await?;
    let mut reader = Client::open(stage, Role::Primary).await?;
    reader.look(stage, &mut task).await?;
    if let Led::Task(seen) = led_to(&again.finish(stage).await?) {
        task.state = seen.state.or(task.state);
    }
    reader.settle(stage, &mut task).await
}

fn subscription(task: &str) -> Operation {
    Operation::SubscribeToTask { id: task.to_owned() }
}
