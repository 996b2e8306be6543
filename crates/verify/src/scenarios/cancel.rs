//! Cancels a task at three points of its life, and watches where it goes: right after it was accepted; when its result is
//! there; and while somebody waits for its answer.

use std::time::Duration;

use ostiary_protocol::a2a::{Operation, Reply, StreamItem, TaskView};
use ostiary_record::{
    Axes,
    ports::{BoxFuture, CouldNotRun},
};

use crate::{
    plan::PlanInput,
    scenario::{Budget, Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, Led, TaskRef, led_to, message},
        conversation::Conversation,
        example,
        follow::Followed,
        paced::streams,
        variants,
    },
    stage::Stage,
};

/// Its name.
pub(crate) const ID: &str = "a2a.task.cancel";
/// The axis that says at which point.
pub(crate) const AXIS: &str = "point";
/// Right after the task was accepted.
pub(crate) const ACCEPTED: &str = "accepted";
/// As soon as its result is there: a race with its end.
pub(crate) const EFFECT: &str = "effect";
/// While its result is waited for.
pub(crate) const DELIVERY: &str = "delivery";
/// The mark before the cancel, with the task's id.
pub(crate) const SENT: &str = "cancel_sent";

/// Long enough for work that was not stopped to come to its end and show it: the longest that an example of a few seconds
/// still has before it.
const AFTERMATH: Duration = Duration::from_millis(2500);
/// Between two looks for a result, where there is no stream.
const LOOK: Duration = Duration::from_millis(250);
/// Looks for a result, or for the task of a message that is waited for.
const LOOKS: u32 = 16;

/// A canceled task stays canceled.
pub(super) struct Cancel;

static SPEC: ScenarioSpec = ScenarioSpec {
    version: 3,
    clearance: Clearance::Write,
    // a race that is lost once is no rule
    repeats: 2,
    budget: Budget { calls: 40, ..Budget::USUAL },
    ..ScenarioSpec::new(ID, "A task is canceled at a point of its life, and read back until it stands still.")
};

impl Scenario for Cancel {
    fn spec(&self) -> &'static ScenarioSpec {
        &SPEC
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        variants(input, AXIS, &[ACCEPTED, EFFECT, DELIVERY])
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            match stage.axes().values.get(AXIS).map(String::as_str) {
                Some(EFFECT) => effect(stage).await,
                Some(DELIVERY) => delivery(stage).await,
                _ => accepted(stage).await,
            }
        })
    }
}

async fn accepted(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let Some(mut task) = begin(stage, &mut client).await? else { return Ok(()) };
    cancel(stage, &mut client, &mut task).await?;
    if example::long_running(stage.bundle(), stage.card()).is_some() {
        stage.wait(AFTERMATH).await;
        client.look(stage, &mut task).await?;
    }
    Ok(())
}

async fn effect(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    if !streams(stage) {
        let Some(mut task) = begin(stage, &mut client).await? else { return Ok(()) };
        for _ in 0..LOOKS {
            let reply = client.get(stage, &task.id).await?;
            if has_result(&reply) {
                break;
            }
            stage.wait(LOOK).await;
        }
        return cancel(stage, &mut client, &mut task).await;
    }
    let example = example::lasting(stage.bundle(), stage.card());
    let request = message(stage, &example.parts);
    let mut followed = Followed::begin(stage, Operation::SendStreamingMessage(request)).await?;
    let Led::Task(mut task) = led_to(&followed.so_far(stage)?) else { return Ok(()) };
    while !has_result(&followed.so_far(stage)?) && followed.next(stage).await? {}
    cancel(stage, &mut client, &mut task).await?;
    followed.finish(stage).await.map(drop)
}

async fn delivery(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let mut client = Client::open(stage, Role::Primary).await?;
    let Some(conversation) = Conversation::begin(stage, &mut client).await? else { return Ok(()) };
    let mut waiting = Client::open(stage, Role::Primary).await?;
    let call = waiting.prepare(Operation::SendMessage(conversation.lasting(stage)));
    let exchange = waiting.start(stage, &call).await?;
    if let Some(mut task) = conversation.newcomer(stage, &mut client, LOOKS).await? {
        cancel(stage, &mut client, &mut task).await?;
    }
    stage.finish(waiting.channel(), exchange).await.map(drop)
}

/// A task that works for a while and is not waited for.
async fn begin(stage: &mut Stage<'_>, client: &mut Client) -> Result<Option<TaskRef>, CouldNotRun> {
    let example = example::lasting(stage.bundle(), stage.card());
    let mut request = message(stage, &example.parts);
    request.return_immediately = Some(true);
    let reply = client.call(stage, Operation::SendMessage(request)).await?;
    Ok(if let Led::Task(task) = led_to(&reply) { Some(task) } else { None })
}

async fn cancel(stage: &mut Stage<'_>, client: &mut Client, task: &mut TaskRef) -> Result<(), CouldNotRun> {
    stage.mark(SENT, Some(&task.id));
    let reply = client.cancel(stage, &task.id).await?;
    let told = reply.result().and_then(|(value, _)| TaskView::of(value)).and_then(|t| t.state());
    task.state = told.or(task.state);
    client.look(stage, task).await?;
    client.settle(stage, task).await
}

/// Whether a result shows, or nothing more can come.
fn has_result(reply: &Reply) -> bool {
    let item = |item: &StreamItem<'_>| match item {
        StreamItem::ArtifactUpdate(_) | StreamItem::Message(_) => true,
        StreamItem::Task(task) => !task.artifacts().is_empty() || over(*task),
        StreamItem::StatusUpdate(update) => update.status().state().is_some_and(ends),
    };
    let read = reply.result().and_then(|(value, _)| TaskView::of(value));
    reply.stream_items().any(|(_, i)| i.as_ref().is_ok_and(item))
        || read.is_some_and(|task| !task.artifacts().is_empty() || over(task))
}

fn over(task: TaskView<'_>) -> bool {
    task.state().is_some_and(ends)
}

fn ends(state: ostiary_protocol::a2a::TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
