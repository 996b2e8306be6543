//! What came to callbacks in the recordings, and what was asked for them: deliveries beside the registrations they
//! belong to.

use ostiary_protocol::a2a::{Card, TaskState, card::Capability};
use ostiary_record::{Delivery, EventRef, Finding, Kind, MonoNanos, ReasonCode, Seq};
use serde_json::Value;

use crate::{
    answers::Answered,
    discover::CARD,
    facts::{Facts, Tape},
    plan::NO_CALLBACKS,
    scenarios::push::{CHANNEL, STRAY},
};

pub(crate) mod egress;

/// One delivery on a tape.
pub(crate) struct Arrival<'a> {
    /// The recording.
    pub(crate) tape: Tape<'a>,
    /// Its event.
    pub(crate) seq: Seq,
    /// When its head had arrived.
    pub(crate) at: MonoNanos,
    /// What came.
    pub(crate) delivery: Delivery,
    /// The body as JSON; `None` = it is none.
    pub(crate) body: Option<Value>,
    /// Whether nobody registered its address.
    pub(crate) stray: bool,
}

/// A configuration that the agent was asked to take, in a call or in a message.
pub(crate) struct Asked<'a, 'f> {
    /// The call.
    pub(crate) answered: &'f Answered<'a>,
    /// The name of the registration that its address leads to; empty where it is none of ours.
    pub(crate) name: String,
    /// The configuration as it was asked for.
    pub(crate) config: Value,
}

/// Why nothing can be judged of an agent's notifications: it declares none.
pub(crate) fn undeclared(facts: &Facts<'_>) -> Option<Finding> {
    let declared =
        facts.card().is_some_and(|v| Card::new(v.clone()).capability(Capability::PushNotifications) == Some(true));
    let pointer = format!("/capabilities/{}", Capability::PushNotifications.member());
    (!declared).then(|| facts.not_applicable(CARD, pointer))
}

/// What nobody needs to say where there is nothing to receive with.
pub(crate) fn no_receiver(facts: &Facts<'_>) -> Option<Finding> {
    let none = facts.environment().callbacks.is_none();
    none.then(|| facts.inconclusive(ReasonCode::ObserverMissing, "callbacks", NO_CALLBACKS))
}

/// All deliveries of the recordings, in the order in which they came; strays included.
pub(crate) fn arrivals<'a>(facts: &Facts<'a>) -> Vec<Arrival<'a>> {
    facts.tapes().iter().flat_map(|tape| arrivals_of(*tape)).collect()
}

fn arrivals_of(tape: Tape<'_>) -> Vec<Arrival<'_>> {
    let read = |event: &ostiary_record::Event| {
        let Kind::Inbound { channel, bytes } = &event.kind else { return None };
        let delivery: Delivery =
            serde_json::from_slice(bytes.as_bytes()).ok().filter(|_| channel.0.starts_with(CHANNEL))?;
        let body = serde_json::from_slice(delivery.body.as_bytes()).ok();
        Some(Arrival { tape, seq: event.seq, at: delivery.at, delivery, body, stray: channel.0 == STRAY })
    };
    tape.recording.events.iter().filter_map(read).collect()
}

/// What was seen more than once, once: each observation with all events that show it, in the order of the first ones.
pub(crate) fn grouped(seen: impl IntoIterator<Item = (EventRef, String)>) -> Vec<(Vec<EventRef>, String)> {
    let mut out: Vec<(Vec<EventRef>, String)> = Vec::new();
    for (at, observed) in seen {
        match out.iter_mut().find(|(_, known)| *known == observed) {
            Some((events, _)) => events.push(at),
            None => out.push((vec![at], observed)),
        }
    }
    out.into_iter().map(|(events, observed)| (crate::answers::some_of(events), observed)).collect()
}

/// All configurations that were asked for, in order.
pub(crate) fn asked<'a, 'f>(answers: &'f [Answered<'a>]) -> Vec<Asked<'a, 'f>> {
    let read = |answered: &'f Answered<'a>| {
        let request = answered.request();
        let config = match answered.operation() {
            "CreateTaskPushNotificationConfig" => Some(&request),
            "SendMessage" => request.pointer("/configuration/taskPushNotificationConfig"),
            _ => None,
        }?;
        let url = config.get("url").and_then(Value::as_str).unwrap_or_default();
        Some(Asked { answered, name: name_of(url).to_owned(), config: config.clone() })
    };
    answers.iter().filter_map(read).collect()
}

/// The task that the message of a recording led to, and whether it was open when somebody last looked before `seq`.
pub(crate) fn open_at(answers: &[Answered<'_>], tape: Tape<'_>, seq: Seq) -> bool {
    let states = answers.iter().filter(|a| a.tape.index == tape.index && a.exchange.decisive() <= seq);
    let last = states.filter_map(state_of).next_back();
    last.is_none_or(|state| !state.is_terminal())
}

/// The id of the task that the first message of a recording led to.
pub(crate) fn task_of(answers: &[Answered<'_>], tape: Tape<'_>) -> Option<String> {
    let first = answers.iter().find(|a| a.tape.index == tape.index && a.operation() == "SendMessage")?;
    first.first_item()?.0.task_id().map(str::to_owned)
}

/// Whether the task of a recording was seen to end.
pub(crate) fn ended(answers: &[Answered<'_>], tape: Tape<'_>) -> bool {
    let own = answers.iter().filter(|a| a.tape.index == tape.index);
    own.filter_map(state_of).any(TaskState::is_terminal)
}

/// The finding where the agent did not take the receiver's address: it may be right not to.
pub(crate) fn refused(facts: &Facts<'_>, asked: &Asked<'_, '_>) -> Finding {
    let x = asked.answered.exchange.id;
    let what = asked.answered.reply.error().map_or_else(|| "no configuration came back".to_owned(), |(e, _)| e.label());
    let receiver = facts.environment().callbacks.clone().unwrap_or_default();
    if receiver.public && receiver.https {
        let expected = "a callback at a public https address is taken";
        return facts.fail(ReasonCode::CapabilityNotKept, asked.answered.cite(), expected, what).at_exchange(x);
    }
    not_taken(facts, asked)
}

/// The same where it is nothing to judge: without a callback that is taken, a refusal proves nothing.
pub(crate) fn not_taken(facts: &Facts<'_>, asked: &Asked<'_, '_>) -> Finding {
    let what = asked.answered.reply.error().map_or_else(|| "no configuration came back".to_owned(), |(e, _)| e.label());
    let remedy = format!(
        "the agent did not take the receiver's address ({what}), and may be right where it is not a public https one: let \
         the agent call it, or write `base` and `reachable: public`"
    );
    let finding = facts.inconclusive(ReasonCode::CallbackRefused, "a callback that the agent takes", remedy);
    finding.at_exchange(asked.answered.exchange.id)
}

/// The finding where nothing came to any callback, although the agent took them: a private address may be refused as late
/// as that.
pub(crate) fn unreachable(facts: &Facts<'_>) -> Finding {
    let remedy = "the agent took the receiver's address and sent nothing to it, as it may to one that is not public: \
                  let the agent call it, or write `base` and `reachable: public`";
    facts.inconclusive(ReasonCode::CallbackRefused, "a delivery", remedy)
}

// === impl Arrival ===

impl Arrival<'_> {
    /// A citation of it.
    pub(crate) fn cite(&self) -> EventRef {
        self.tape.cite(self.seq)
    }

    /// Whether it came to the registration of that name.
    pub(crate) fn is_to(&self, name: &str) -> bool {
        !self.stray && self.delivery.to.as_deref() == Some(name)
    }
}

// === impl Asked ===

impl Asked<'_, '_> {
    /// Whether the agent took it.
    pub(crate) fn taken(&self) -> bool {
        self.answered.reply.result().is_some()
    }
}

/// The name in an address of the receiver: `…/callback/NAME/…`, `…/inside/NAME/…`.
fn name_of(url: &str) -> &str {
    let after = |door: &str| url.split_once(door).and_then(|(_, rest)| rest.split('/').next());
    after("/callback/").or_else(|| after("/inside/")).unwrap_or_default()
}

/// The state of a task that an answer shows.
fn state_of(answered: &Answered<'_>) -> Option<TaskState> {
    let of_task = answered.task().and_then(|(task, _)| task.state());
    of_task.or_else(|| answered.first_item().and_then(|(item, _)| item.status().and_then(|s| s.state())))
}
