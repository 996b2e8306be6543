//! A message whose answer never comes, because its connection is lost or its caller gives up: what becomes of its task?
//!
//! To drop a request is not to cancel its job. The task is found by its conversation and read to its end; nothing is sent
//! twice.

use std::{sync::Arc, time::Duration};

use ostiary_protocol::a2a::Operation;
use ostiary_record::{
    Axes, Down, ExchangeId, Fault, FaultPlan, Gate,
    ports::{Abort, BoxFuture, CouldNotRun, Faults},
};

use crate::{
    plan::PlanInput,
    scenario::{Budget, Clearance, Role, Scenario, ScenarioSpec},
    scenarios::{
        client::{Client, TaskRef},
        conversation::Conversation,
        paced::streams,
        variants,
    },
    stage::Stage,
};

/// The scenario in which we break off.
pub(crate) const DROPPED: &str = "a2a.request.dropped";
/// The scenario in which the way to the candidate is disturbed.
pub(crate) const DISTURBED: &str = "a2a.answer.lost";
/// The axis that says how the answer is lost.
pub(crate) const AXIS: &str = "how";
/// The request is dropped as soon as it is sent.
pub(crate) const AT_ONCE: &str = "at_once";
/// It is dropped once its task is there.
pub(crate) const AT_WORK: &str = "at_work";
/// The connection is reset once the task is there.
pub(crate) const RESET: &str = "reset";
/// Nothing comes any more, and the caller gives up.
pub(crate) const TIMEOUT: &str = "timeout";
/// The connection of a stream breaks in the middle.
pub(crate) const PARTIAL: &str = "partial_response";
/// The mark before the answer is lost, with the task's id where one is known.
pub(crate) const LOST: &str = "answer_lost";

/// Long enough for an agent to notice that a connection is gone, and to do something about it.
const NOTICE: Duration = Duration::from_millis(500);
/// How long a caller waits that gives up.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the beginning of a stream is waited for.
const BEGINNING: Duration = Duration::from_secs(10);
/// Looks for the task of a message.
const LOOKS: u32 = 12;
/// Looks for a task that need not be there.
const FEW_LOOKS: u32 = 4;

/// One of the two scenarios: they differ in who breaks the connection.
pub(super) struct Lost {
    spec: &'static ScenarioSpec,
}

static BY_US: ScenarioSpec = ScenarioSpec {
    clearance: Clearance::Write,
    budget: Budget { calls: 40, ..Budget::USUAL },
    ..ScenarioSpec::new(
        DROPPED,
        "A request is dropped at once, or while its task is at work; the task is read to its end.",
    )
};
static ON_THE_WAY: ScenarioSpec = ScenarioSpec {
    gate: Gate::Security,
    ..ScenarioSpec {
        id: DISTURBED,
        summary: "An answer is lost on the way: reset, broken off, or never there; the task is read to its end.",
        ..BY_US
    }
};

// === impl Lost ===

impl Lost {
    /// Both.
    pub(super) const ALL: [Self; 2] = [Self { spec: &BY_US }, Self { spec: &ON_THE_WAY }];
}

impl Scenario for Lost {
    fn spec(&self) -> &'static ScenarioSpec {
        self.spec
    }

    /// The way is disturbed as far as the environment permits.
    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        if self.spec.id == DROPPED {
            return variants(input, AXIS, &[AT_ONCE, AT_WORK]);
        }
        let permitted = |fault: &str| input.environment.faults.iter().any(|f| f == fault);
        let hows = [
            (RESET, permitted("reset")),
            (TIMEOUT, permitted("latency")),
            (PARTIAL, permitted("partial_response") && input.declares("streaming")),
        ];
        let hows: Vec<&str> = hows.into_iter().filter(|(_, wanted)| *wanted).map(|(how, _)| how).collect();
        variants(input, AXIS, &hows)
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(drive(stage))
    }
}

/// A message that is under way.
struct Waiting {
    client: Client,
    exchange: ExchangeId,
    faults: Option<Arc<dyn Faults>>,
}

async fn drive(stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
    let how = stage.axes().values.get(AXIS).cloned().unwrap_or_default();
    let mut client = Client::open(stage, Role::Primary).await?;
    let Some(conversation) = Conversation::begin(stage, &mut client).await? else { return Ok(()) };
    let waiting = begin(stage, &conversation, &how).await?;
    let at_once = how == AT_ONCE;
    let mut task = if at_once { None } else { conversation.newcomer(stage, &mut client, LOOKS).await? };
    if at_once || task.is_some() {
        stage.mark(LOST, task.as_ref().map(|t| t.id.as_str()));
        waiting.lose(stage, &how).await?;
    }
    if at_once {
        task = conversation.newcomer(stage, &mut client, FEW_LOOKS).await?;
    } else if task.is_some() {
        stage.wait(NOTICE).await;
    }
    if let Some(task) = &mut task {
        to_its_end(stage, &mut client, task).await?;
    }
    waiting.end(stage).await
}

async fn begin(stage: &mut Stage<'_>, conversation: &Conversation, how: &str) -> Result<Waiting, CouldNotRun> {
    let (mut client, faults) = match how {
        AT_ONCE | AT_WORK => (Client::open(stage, Role::Primary).await?, None),
        _ => {
            let (client, faults) = Client::open_disturbed(stage, Role::Primary).await?;
            (client, Some(faults))
        }
    };
    let request = conversation.lasting(stage);
    let streamed = how == PARTIAL && streams(stage);
    let operation = if streamed { Operation::SendStreamingMessage(request) } else { Operation::SendMessage(request) };
    let call = client.prepare(operation);
    let exchange = client.start(stage, &call).await?;
    if streamed {
        stage.next_frame(client.channel(), exchange, BEGINNING).await?;
    }
    Ok(Waiting { client, exchange, faults })
}

async fn to_its_end(stage: &mut Stage<'_>, client: &mut Client, task: &mut TaskRef) -> Result<(), CouldNotRun> {
    client.look(stage, task).await?;
    client.settle(stage, task).await
}

// === impl Waiting ===

impl Waiting {
    async fn lose(&self, stage: &mut Stage<'_>, how: &str) -> Result<(), CouldNotRun> {
        let Some(faults) = &self.faults else {
            stage.abort(self.client.channel(), self.exchange, Abort::Drop);
            return Ok(());
        };
        let down = if how == TIMEOUT { Down::BlackHole } else { Down::Refuse };
        let tape = stage.tape().clone();
        faults.switch(&tape, Some(&FaultPlan::always(Fault::Down { how: down }))).await?;
        if how == TIMEOUT {
            stage.wait(PATIENCE).await;
            stage.abort(self.client.channel(), self.exchange, Abort::Drop);
            return Ok(());
        }
        stage.finish(self.client.channel(), self.exchange).await.map(drop)
    }

    /// Takes down what is left of it; how the exchange ended is on the tape then.
    async fn end(self, stage: &mut Stage<'_>) -> Result<(), CouldNotRun> {
        if let Some(faults) = &self.faults {
            let tape = stage.tape().clone();
            faults.switch(&tape, None).await?;
        }
        stage.finish(self.client.channel(), self.exchange).await.map(drop)
    }
}
