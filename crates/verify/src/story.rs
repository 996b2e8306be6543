//! What a recording of `a2a.task.subscribe` shows: the streams of one task, and what was read beside them.

use ostiary_protocol::a2a::{StreamItem, TaskState, task::StatusView};
use ostiary_record::{Finding, ReasonCode, Seq};
use serde_json::{Value, json};

use crate::{
    answers::{self, Answered},
    facts::{Facts, Tape},
    scenarios::{example, subscribe},
};

/// One recording.
pub(crate) struct Story<'a> {
    /// The recording.
    pub(crate) tape: Tape<'a>,
    /// The stream of the message.
    pub(crate) origin: Option<Answered<'a>>,
    /// Subscriptions while the task was at work, as far as was known.
    pub(crate) subscriptions: Vec<Answered<'a>>,
    /// The subscription to the ended task.
    pub(crate) ended: Option<Answered<'a>>,
    /// The subscription to a task that does not exist.
    pub(crate) unknown: Option<Answered<'a>>,
    /// Where the task was read.
    pub(crate) reads: Vec<Answered<'a>>,
}

/// An update that a stream brought.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Update {
    /// The event.
    pub(crate) seq: Seq,
    /// What it says, less what may differ from stream to stream.
    pub(crate) says: Value,
}

/// The recording of one story; `None` when it was not driven.
pub(crate) fn of<'a>(facts: &Facts<'a>, story: &str) -> Option<Story<'a>> {
    let tape = facts.tapes_of(subscribe::ID).find(|t| axis(*t) == story)?;
    let all = answers::on(facts, tape);
    let mut out =
        Story { tape, origin: None, subscriptions: Vec::new(), ended: None, unknown: None, reads: Vec::new() };
    let mark = |label: &str| tape.recording.mark(label).map(|(_, seq)| seq);
    let (ended, unknown) = (mark(subscribe::ENDED), mark(subscribe::UNKNOWN));
    for answered in all {
        let after = |mark: Option<Seq>| mark.is_some_and(|mark| answered.exchange.sent.seq > mark);
        match answered.operation() {
            "SendStreamingMessage" => out.origin = Some(answered),
            "GetTask" => out.reads.push(answered),
            "SubscribeToTask" if after(unknown) => out.unknown = Some(answered),
            "SubscribeToTask" if after(ended) => out.ended = Some(answered),
            "SubscribeToTask" => out.subscriptions.push(answered),
            _ => {}
        }
    }
    Some(out)
}

/// The finding where no task was long enough at work to show anything: a contract that has no example for it promises
/// nothing of this, and one that has it does not keep its word.
pub(crate) fn too_brief(facts: &Facts<'_>) -> Finding {
    if example::long_running(facts.bundle(), facts.card()).is_none() {
        return facts.not_applicable("skills.yaml", "/skill_contract/examples/runs");
    }
    let remedy = "the task had ended before it could be followed: the example with `runs: long` must be one that does";
    facts.inconclusive(ReasonCode::ExampleMissing, "a task that is at work for a while", remedy)
}

/// The updates of a stream in order; snapshots of the task are left out, since only some streams need bring them.
pub(crate) fn updates(answered: &Answered<'_>) -> Vec<Update> {
    let says = |item: &StreamItem<'_>| match item {
        StreamItem::StatusUpdate(update) => {
            let status = update.status().0;
            let (state, at) = (&status["state"], &status["timestamp"]);
            Some(json!({"state": state, "timestamp": at, "message": status["message"]["messageId"]}))
        }
        StreamItem::ArtifactUpdate(update) => {
            let member = |name: &str| update.0.get(name).and_then(Value::as_bool).unwrap_or(false);
            Some(json!({"artifact": update.artifact(), "append": member("append"), "last": member("lastChunk")}))
        }
        StreamItem::Task(_) | StreamItem::Message(_) => None,
    };
    let items = answered.reply.stream_items().filter_map(|(seq, item)| Some((seq, item.ok()?)));
    items.filter_map(|(seq, item)| Some(Update { seq, says: says(&item)? })).collect()
}

/// The states that a stream brought, in order, with their events.
pub(crate) fn states(answered: &Answered<'_>) -> Vec<(Seq, TaskState)> {
    let items = answered.reply.stream_items().filter_map(|(seq, item)| Some((seq, item.ok()?)));
    items.filter_map(|(seq, item)| Some((seq, item.status().and_then(StatusView::state)?))).collect()
}

/// Where a stream told of the end of its task.
pub(crate) fn end_of(answered: &Answered<'_>) -> Option<(Seq, TaskState)> {
    states(answered).into_iter().find(|(_, state)| state.is_terminal())
}

// === impl Story ===

impl Story<'_> {
    /// The last state that was read or told after an event, and where.
    pub(crate) fn last_state_after(&self, from: Seq) -> Option<(Seq, TaskState)> {
        let read = self.reads.iter().filter(|r| r.exchange.sent.seq > from);
        let read = read.filter_map(|r| r.task()).filter_map(|(task, seq)| Some((seq, task.state()?)));
        let streams = self.origin.iter().chain(&self.subscriptions);
        let told = streams.flat_map(states).filter(|(seq, _)| *seq > from);
        read.chain(told).max_by_key(|(seq, _)| *seq)
    }

    /// Whether the task was surely at work at some time after an event: a stream said so later, or a later read.
    pub(crate) fn was_at_work_after(&self, at: Seq) -> bool {
        let open = |state: TaskState| !state.is_terminal() && !state.is_interrupted();
        let read = self.reads.iter().filter(|r| r.exchange.sent.seq > at).filter_map(|r| r.task()?.0.state());
        let told = self.origin.iter().chain(&self.subscriptions).flat_map(states).filter(|(seq, _)| *seq > at);
        read.chain(told.map(|(_, state)| state)).any(open)
    }
}

fn axis(tape: Tape<'_>) -> &str {
    tape.recording.axes.values.get(subscribe::AXIS).map_or("", String::as_str)
}
