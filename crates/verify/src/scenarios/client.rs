//! An A2A client for scenarios: speaks the interface's binding with everything that the card demands, so that a
//! scenario varies only what it means to vary.

use std::{sync::Arc, time::Duration};

use ostiary_protocol::a2a::{
    Binding, Call, Card, ErrorKind, Operation, Reply, StreamItem, TaskState, TaskView, codec,
    operation::{SendMessage, UserMessage},
};
use ostiary_record::{
    ActorId, Axes, ExchangeId, Recording,
    ports::{Actor, CouldNotRun, Faults, Outbound},
};
use serde_json::Value;

use crate::{
    discover::Interface,
    scenario::Role,
    stage::{ChannelHandle, Stage},
};

/// How long a poll waits before each look: 250 ms, doubling up to this.
const LONGEST_PAUSE: Duration = Duration::from_secs(4);
/// Looks before a task counts as one that does not end here; with the pauses some 15 s.
const LOOKS: u32 = 8;

/// Longest id that is said back: longer ones fit into no request line.
const LONGEST_ID: usize = 4 << 10;

/// A channel with what each request on it needs.
pub(crate) struct Client {
    channel: ChannelHandle,
    binding: Binding,
    tenant: Option<String>,
    extensions: Vec<String>,
    /// The fixture tenant it speaks for, and those that stand in fixtures.
    fixture: Option<(String, Vec<String>)>,
    next_id: u64,
}

/// What a message led to, as far as a scenario must know to go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Led {
    /// A task in some state.
    Task(TaskRef),
    /// A message outside of any task.
    Message,
    /// A refusal, or nothing to go on from; why, for the control's mark.
    Nowhere(String),
}

/// A task to go on with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TaskRef {
    /// Its id.
    pub(crate) id: String,
    /// Its conversation.
    pub(crate) context: Option<String>,
    /// The state it was last seen in.
    pub(crate) state: Option<TaskState>,
}

// === impl Client ===

impl Client {
    /// Opens a channel to the profile's interface as a role.
    pub(crate) async fn open(stage: &mut Stage<'_>, role: Role) -> Result<Self, CouldNotRun> {
        let interface = stage.interface()?.clone();
        Self::open_at(stage, role, &interface).await
    }

    /// Opens a channel to another interface of the card as a role.
    pub(crate) async fn open_at(stage: &mut Stage<'_>, role: Role, interface: &Interface) -> Result<Self, CouldNotRun> {
        let channel = stage.open_at(role, &interface.target).await?;
        Ok(Self::on(stage, channel, interface))
    }

    /// Opens a channel to the profile's interface as a subject of the environment.
    pub(crate) async fn open_subject(stage: &mut Stage<'_>, subject: &ActorId) -> Result<Self, CouldNotRun> {
        let interface = stage.interface()?.clone();
        let channel = stage.open_subject(subject).await?;
        Ok(Self::on(stage, channel, &interface))
    }

    /// Opens a channel to the profile's interface as an actor with a credential of its own.
    pub(crate) async fn open_as(stage: &mut Stage<'_>, actor: Actor) -> Result<Self, CouldNotRun> {
        let interface = stage.interface()?.clone();
        let channel = stage.open_as(actor).await?;
        Ok(Self::on(stage, channel, &interface))
    }

    /// Opens a channel to the profile's interface as a role, over a way that can be disturbed.
    pub(crate) async fn open_disturbed(
        stage: &mut Stage<'_>,
        role: Role,
    ) -> Result<(Self, Arc<dyn Faults>), CouldNotRun> {
        let interface = stage.interface()?.clone();
        let (channel, faults) = stage.open_disturbed(role, None).await?;
        Ok((Self::on(stage, channel, &interface), faults))
    }

    fn on(stage: &Stage<'_>, channel: ChannelHandle, interface: &Interface) -> Self {
        let (binding, tenant) = (Binding::parse(&interface.binding), interface.tenant.clone());
        let extensions = stage.card().map(required_extensions).unwrap_or_default();
        let tenants = stage.tenants().map(str::to_owned).collect();
        let fixture = stage.tenant_on(channel).map(|own| (own.to_owned(), tenants));
        Self { channel, binding, tenant, extensions, fixture, next_id: 0 }
    }

    /// A call of an operation as every honest client would make it.
    pub(crate) fn prepare(&mut self, operation: Operation) -> Call {
        self.next_id += 1;
        let operation = match operation {
            Operation::SendMessage(request) => Operation::SendMessage(self.in_own_tenant(request)),
            Operation::SendStreamingMessage(request) => Operation::SendStreamingMessage(self.in_own_tenant(request)),
            other => other,
        };
        let (tenant, extensions) = (self.tenant.clone(), self.extensions.clone());
        Call { id: self.next_id, tenant, extensions, ..Call::new(operation) }
    }

    /// Fixtures are written for one tenant; whoever speaks for another says its own tenant where a fixture says any.
    fn in_own_tenant(&self, mut request: SendMessage) -> SendMessage {
        if let Some((own, tenants)) = &self.fixture {
            request.message.parts.iter_mut().for_each(|part| exchange(part, tenants, own));
        }
        request
    }

    /// Calls an operation and reads the whole answer.
    pub(crate) async fn call(&mut self, stage: &mut Stage<'_>, operation: Operation) -> Result<Reply, CouldNotRun> {
        let call = self.prepare(operation);
        self.send(stage, &call).await
    }

    /// Sends a prepared call and reads the whole answer.
    pub(crate) async fn send(&mut self, stage: &mut Stage<'_>, call: &Call) -> Result<Reply, CouldNotRun> {
        let out = codec::encode(&self.binding, call).map_err(internal)?;
        let reply = self.send_raw(stage, out).await?;
        match self.alternative(call, &reply) {
            Some(other) => self.send_raw(stage, other).await,
            None => Ok(reply),
        }
    }

    /// The other form of a call, where the answer says that this one is not the agent's.
    pub(crate) fn alternative(&self, call: &Call, reply: &Reply) -> Option<Outbound> {
        let elsewhere =
            matches!(reply.status, Some(404 | 405)) && reply.error().is_none_or(|(e, _)| e.reason().is_none());
        codec::alternative(&self.binding, call).filter(|_| elsewhere)
    }

    /// Sends a prepared call and returns at once.
    pub(crate) async fn start(&mut self, stage: &mut Stage<'_>, call: &Call) -> Result<ExchangeId, CouldNotRun> {
        let out = codec::encode(&self.binding, call).map_err(internal)?;
        stage.start(self.channel, out).await
    }

    /// Its channel.
    pub(crate) const fn channel(&self) -> ChannelHandle {
        self.channel
    }

    /// The binding of the interface.
    pub(crate) const fn binding(&self) -> &Binding {
        &self.binding
    }

    /// Sends bytes as they are and reads the whole answer.
    pub(crate) async fn send_raw(&mut self, stage: &mut Stage<'_>, out: Outbound) -> Result<Reply, CouldNotRun> {
        let x = stage.start(self.channel, out).await?;
        stage.finish(self.channel, x).await?;
        self.reply_of(stage, x)
    }

    /// What has come back in an exchange so far.
    pub(crate) fn reply_of(&self, stage: &Stage<'_>, x: ExchangeId) -> Result<Reply, CouldNotRun> {
        let (axes, events) = (Axes::default(), stage.tape().events_of(x));
        let recording = Recording { scenario: "".into(), axes, seed: 0, events };
        let exchanges = recording.exchanges();
        let only =
            exchanges.first().ok_or_else(|| CouldNotRun::Internal("the exchange is not on the tape".to_owned()))?;
        codec::read(&self.binding, only).map_err(internal)
    }

    /// Reads a task.
    pub(crate) async fn get(&mut self, stage: &mut Stage<'_>, id: &str) -> Result<Reply, CouldNotRun> {
        self.call(stage, Operation::GetTask { id: id.to_owned(), history_length: None }).await
    }

    /// Asks for a task to be canceled.
    pub(crate) async fn cancel(&mut self, stage: &mut Stage<'_>, id: &str) -> Result<Reply, CouldNotRun> {
        self.call(stage, Operation::CancelTask { id: id.to_owned() }).await
    }

    /// Reads a task until it stands still (terminal or waiting for somebody) or the looks are used up, then once more,
    /// since a task that stands still must still stand there.
    pub(crate) async fn settle(&mut self, stage: &mut Stage<'_>, task: &mut TaskRef) -> Result<(), CouldNotRun> {
        let mut pause = Duration::from_millis(250);
        for _ in 0..LOOKS {
            if task.is_still() {
                break;
            }
            stage.wait(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            self.look(stage, task).await?;
        }
        self.look(stage, task).await
    }

    /// Reads a task once.
    pub(crate) async fn look(&mut self, stage: &mut Stage<'_>, task: &mut TaskRef) -> Result<(), CouldNotRun> {
        let reply = self.get(stage, &task.id).await?;
        if let Some(seen) = reply.result().and_then(|(value, _)| TaskView::of(value)) {
            task.state = seen.state().or(task.state);
        }
        Ok(())
    }
}

// === impl TaskRef ===

impl TaskRef {
    /// Whether the task has reached a terminal state.
    pub(crate) fn is_terminal(&self) -> bool {
        self.state.is_some_and(TaskState::is_terminal)
    }

    /// Whether it is terminal, or waits for somebody.
    pub(crate) fn is_still(&self) -> bool {
        self.state.is_some_and(|s| s.is_terminal() || s.is_interrupted())
    }
}

/// A request of a message with these parts.
pub(crate) fn message(stage: &mut Stage<'_>, parts: &[Value]) -> SendMessage {
    let message = UserMessage { message_id: stage.fresh("message"), parts: parts.to_vec(), ..UserMessage::default() };
    SendMessage { message, ..SendMessage::default() }
}

/// What an answer to a message led to: its first item says which, the last status in which state.
pub(crate) fn led_to(reply: &Reply) -> Led {
    let mut led = Led::Nowhere(nowhere(reply));
    for (_, item) in reply.stream_items() {
        let Ok(item) = item else { break };
        match (&mut led, &item) {
            (Led::Nowhere(_), StreamItem::Message(_)) => led = Led::Message,
            (Led::Nowhere(_), item) => {
                if let Some(id) = item.task_id() {
                    let context = context_of(item);
                    if id.len().max(context.as_ref().map_or(0, String::len)) > LONGEST_ID {
                        return Led::Nowhere(format!("the task's ids have more than {LONGEST_ID} bytes"));
                    }
                    led = Led::Task(TaskRef { id: id.to_owned(), context, state: state_of(item) });
                }
            }
            (Led::Task(task), item) => task.state = state_of(item).or(task.state),
            (Led::Message, _) => {}
        }
    }
    led
}

/// The URIs of the extensions that the card requires; every honest caller names them.
fn required_extensions(card: &Value) -> Vec<String> {
    let card = Card::new(card.clone());
    card.extensions().iter().filter(|e| e.required).map(|e| e.uri.to_owned()).collect()
}

/// Puts `own` in the place of every text that is one of `tenants`.
fn exchange(value: &mut Value, tenants: &[String], own: &str) {
    match value {
        Value::String(text) if tenants.contains(text) => own.clone_into(text),
        Value::Array(list) => list.iter_mut().for_each(|v| exchange(v, tenants, own)),
        Value::Object(map) => map.values_mut().for_each(|v| exchange(v, tenants, own)),
        _ => {}
    }
}

fn state_of(item: &StreamItem<'_>) -> Option<TaskState> {
    item.status().and_then(ostiary_protocol::a2a::task::StatusView::state)
}

fn context_of(item: &StreamItem<'_>) -> Option<String> {
    match item {
        StreamItem::Task(task) => task.context_id().map(str::to_owned),
        StreamItem::StatusUpdate(update) => update.0.get("contextId").and_then(Value::as_str).map(str::to_owned),
        StreamItem::Message(_) | StreamItem::ArtifactUpdate(_) => None,
    }
}

fn nowhere(reply: &Reply) -> String {
    if let Some((error, _)) = reply.error() {
        let refused = match error.kind() {
            Some(ErrorKind::Unauthenticated | ErrorKind::Forbidden) => "the credential was refused",
            _ => "the message was refused",
        };
        return format!("{refused}: {}", error.label());
    }
    match reply.malformed() {
        Some((why, _)) => format!("the answer is malformed: {why}"),
        None => format!("no answer ({:?})", reply.end),
    }
}

fn internal(problem: impl std::fmt::Display) -> CouldNotRun {
    CouldNotRun::Internal(problem.to_string())
}
