//! The states that a task was seen in, in order: what the task machine is judged on (T-01…T-03, T-07).
//!
//! A stream shows every change, so neighbours in one stream are steps of the task. A snapshot (a read, the answer to a
//! message, the first item of a stream) shows where the task is now and may have missed what lies between.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ostiary_record::{EventRef, ExchangeId, Seq};

use crate::a2a::{
    stream::StreamItem,
    task::{StatusView, TaskView, WrittenState},
};

/// A task seen in a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The task.
    pub task: String,
    /// The state as written.
    pub state: WrittenState,
    /// The status timestamp as written.
    pub timestamp_text: Option<String>,
    /// The status timestamp, where it is RFC 3339.
    pub timestamp: Option<Timestamp>,
    /// The event that shows it.
    pub at: EventRef,
    /// The exchange that brought it.
    pub exchange: ExchangeId,
    /// The event that asked for it.
    pub asked: Seq,
    /// Whether it was a status update of a stream, and not a snapshot.
    pub update: bool,
}

/// Two neighbouring sightings of one task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step<'a> {
    /// Earlier.
    pub from: &'a Sighting,
    /// Later.
    pub to: &'a Sighting,
    /// Whether nothing lies between them: a stream said the later one after the earlier one.
    pub adjacent: bool,
}

/// The sightings of all tasks of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traces {
    by_task: BTreeMap<String, Vec<Sighting>>,
}

/// Where a sighting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The event that shows it.
    pub at: EventRef,
    /// The exchange.
    pub exchange: ExchangeId,
    /// The event that asked.
    pub asked: Seq,
}

// === impl Traces ===

impl Traces {
    /// Takes in an item of a stream or of an answer to a message.
    pub fn see_item(&mut self, item: &StreamItem<'_>, origin: Origin) {
        let update = matches!(item, StreamItem::StatusUpdate(_));
        if let (Some(task), Some(status)) = (item.task_id(), item.status()) {
            self.see(task, status, origin, update);
        }
    }

    /// Takes in a task that was read or canceled.
    pub fn see_task(&mut self, task: TaskView<'_>, origin: Origin) {
        self.see(task.id(), task.status(), origin, false);
    }

    /// Each task with its sightings, in recorded order.
    pub fn tasks(&self) -> impl Iterator<Item = (&str, &[Sighting])> {
        self.by_task.iter().map(|(task, sightings)| (task.as_str(), sightings.as_slice()))
    }

    /// The last sighting of a task.
    #[must_use]
    pub fn last(&self, task: &str) -> Option<&Sighting> {
        self.by_task.get(task).and_then(|s| s.last())
    }

    /// All steps of all tasks: what was surely seen one after the other.
    ///
    /// Within one exchange that is the order of its items. Between exchanges, which may overlap, it is known only of what
    /// had been seen before the later one was asked for: what two streams bring at the same time proves no order.
    #[must_use]
    pub fn steps(&self) -> Vec<Step<'_>> {
        self.by_task.values().flat_map(|sightings| steps_of(sightings)).collect()
    }

    fn see(&mut self, task: &str, status: StatusView<'_>, origin: Origin, update: bool) {
        let sightings = self.by_task.entry(task.to_owned()).or_default();
        let at = sightings.partition_point(|earlier| earlier.at.seq <= origin.at.seq);
        let sighting = Sighting {
            task: task.to_owned(),
            state: status.written(),
            timestamp_text: status.timestamp_text().map(str::to_owned),
            timestamp: status.timestamp(),
            at: origin.at,
            exchange: origin.exchange,
            asked: origin.asked,
            update,
        };
        sightings.insert(at, sighting);
    }
}

fn steps_of(sightings: &[Sighting]) -> Vec<Step<'_>> {
    let mut exchanges: BTreeMap<ExchangeId, Vec<&Sighting>> = BTreeMap::new();
    for sighting in sightings {
        exchanges.entry(sighting.exchange).or_default().push(sighting);
    }
    let mut out = Vec::with_capacity(sightings.len());
    for own in exchanges.values() {
        let before = frontier(&exchanges, own[0]);
        out.extend(before.into_iter().map(|from| Step { from, to: own[0], adjacent: false }));
        out.extend(own.windows(2).map(|pair| Step { from: pair[0], to: pair[1], adjacent: pair[1].update }));
    }
    out.sort_by_key(|step| (step.to.at.seq, step.from.at.seq));
    out
}

/// The last that each other exchange had shown before this one was asked for, less what others of them came after.
fn frontier<'s>(exchanges: &BTreeMap<ExchangeId, Vec<&'s Sighting>>, first: &Sighting) -> Vec<&'s Sighting> {
    let seen = |own: &Vec<&'s Sighting>| own.iter().rev().find(|s| s.at.seq < first.asked).copied();
    let last: Vec<&Sighting> = exchanges.values().filter_map(seen).filter(|s| s.exchange != first.exchange).collect();
    let surpassed = |s: &Sighting| last.iter().any(|other| s.at.seq < other.asked);
    last.iter().filter(|s| !surpassed(s)).copied().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn origin(exchange: u64, asked: u64, seq: u64) -> Origin {
        Origin { at: EventRef { recording: 0, seq: Seq(seq) }, exchange: ExchangeId(exchange), asked: Seq(asked) }
    }

    fn update(state: &str) -> Value {
        json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}})
    }

    fn task(state: &str) -> Value {
        json!({"id": "t", "status": {"state": state}})
    }

    #[test]
    fn neighbours_of_a_stream_are_steps_and_a_read_may_have_missed_some() {
        let mut traces = Traces::default();
        let first = json!({"task": task("TASK_STATE_SUBMITTED")});
        traces.see_item(&StreamItem::read(&first).unwrap(), origin(0, 0, 1));
        traces.see_item(&StreamItem::read(&update("TASK_STATE_WORKING")).unwrap(), origin(0, 0, 2));
        traces.see_task(TaskView(&task("TASK_STATE_COMPLETED")), origin(1, 3, 4));
        let adjacent: Vec<_> = traces.steps().iter().map(|s| s.adjacent).collect();
        assert_eq!(adjacent, [true, false]);
        assert_eq!(traces.last("t").unwrap().state.to_string(), "TASK_STATE_COMPLETED");
    }

    #[test]
    fn an_answer_that_was_overtaken_proves_nothing() {
        let mut traces = Traces::default();
        traces.see_item(&StreamItem::read(&update("TASK_STATE_COMPLETED")).unwrap(), origin(0, 0, 5));
        traces.see_task(TaskView(&task("TASK_STATE_WORKING")), origin(1, 4, 6));
        assert_eq!(traces.steps(), []);
        traces.see_task(TaskView(&task("TASK_STATE_WORKING")), origin(2, 7, 8));
        let from: Vec<_> = traces.steps().iter().map(|s| (s.from.at.seq.0, s.to.at.seq.0)).collect();
        assert_eq!(from, [(5, 8), (6, 8)]);
    }

    #[test]
    fn streams_beside_each_other_prove_no_order_between_them() {
        let mut traces = Traces::default();
        let first = json!({"task": task("TASK_STATE_WORKING")});
        let mut see = |item: &Value, exchange, asked, seq| {
            traces.see_item(&StreamItem::read(item).unwrap(), origin(exchange, asked, seq));
        };
        // the first stream as a whole, then the second one, which was asked for in its midst and is a little behind
        see(&first, 0, 0, 1);
        see(&update("TASK_STATE_COMPLETED"), 0, 0, 5);
        see(&first, 1, 2, 3);
        see(&update("TASK_STATE_WORKING"), 1, 2, 6);
        see(&update("TASK_STATE_COMPLETED"), 1, 2, 7);
        traces.see_task(TaskView(&task("TASK_STATE_COMPLETED")), origin(2, 8, 9));
        let steps = traces.steps();
        let pairs: Vec<_> = steps.iter().map(|s| (s.from.at.seq.0, s.to.at.seq.0)).collect();
        assert_eq!(pairs, [(1, 3), (1, 5), (3, 6), (6, 7), (5, 9), (7, 9)]);
        let back = |s: &&Step<'_>| s.from.state.state() == Some(crate::a2a::TaskState::Completed);
        assert!(steps.iter().filter(back).all(|s| s.to.state == s.from.state));
    }
}
