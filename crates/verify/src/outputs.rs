//! What an example led to: the artifacts or the message of one answer, streamed pieces put together.

use ostiary_protocol::a2a::{StreamItem, TaskState, TaskView, task::StatusView};
use ostiary_record::{EventRef, Seq};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    facts::Facts,
    scenarios::example::{self, Example},
};

/// The output of one sent example.
pub(crate) struct Output<'a> {
    /// The example.
    pub(crate) example: Example,
    /// The exchange that brought it.
    pub(crate) answered: Answered<'a>,
    /// The last state shown; `None` = no task.
    pub(crate) state: Option<TaskState>,
    /// The event that showed it.
    pub(crate) state_at: Option<EventRef>,
    /// The artifacts; a message counts as one without id.
    pub(crate) artifacts: Vec<Artifact>,
}

/// One artifact as far as it came.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Artifact {
    /// Its id; empty for a message.
    pub(crate) id: String,
    /// Its parts.
    pub(crate) parts: Vec<Value>,
    /// The events that brought it.
    pub(crate) at: Vec<EventRef>,
}

/// The outputs of all sent examples whose answers can be read.
pub(crate) fn outputs<'a>(facts: &Facts<'a>) -> Vec<Output<'a>> {
    let all = answers::all(facts);
    let reads: Vec<(u32, Seq, Value)> = all.iter().filter_map(read).collect();
    let sent = all.into_iter().filter(|a| a.operation().starts_with("Send") && a.reply.result().is_some());
    sent.map(|answered| {
        let mut output = output(facts, answered);
        let index = output.answered.tape.index;
        // where it stands still, it has its output: a cancel that comes later is another story
        for read in reads.iter().filter(|(tape, ..)| *tape == index) {
            if output.is_open() {
                output.catch_up(read);
            }
        }
        output
    })
    .collect()
}

/// A task that was read back, with its place.
fn read(answered: &Answered<'_>) -> Option<(u32, Seq, Value)> {
    let (task, seq) = answered.task().filter(|_| answered.operation() == "GetTask")?;
    Some((answered.tape.index, seq, task.0.clone()))
}

fn output<'a>(facts: &Facts<'a>, answered: Answered<'a>) -> Output<'a> {
    let example = example::of_variant(&answered.tape.recording.axes, facts.bundle(), facts.card());
    let (mut state, mut state_at, mut artifacts) = (None, None, Vec::new());
    let mut status_message = None;
    for (seq, item) in answered.reply.stream_items() {
        let Ok(item) = item else { continue };
        let at = answered.tape.cite(seq);
        if let Some(status) = item.status() {
            state = status.state().or(state);
            state_at = Some(at.clone());
            status_message = message_of(status).or(status_message);
        }
        take(&mut artifacts, &item, &at);
    }
    // a text agent may say its result in the last status; that counts where no artifact was promised
    let promised = example.artifact_schema.is_some();
    if let (true, Some(parts), Some(at)) = (artifacts.is_empty() && !promised, status_message, &state_at) {
        artifacts.push(Artifact { id: String::new(), parts, at: vec![at.clone()] });
    }
    Output { example, answered, state, state_at, artifacts }
}

fn take(artifacts: &mut Vec<Artifact>, item: &StreamItem<'_>, at: &EventRef) {
    match item {
        StreamItem::Task(task) => task.artifacts().iter().for_each(|a| put(artifacts, a, false, at)),
        StreamItem::ArtifactUpdate(update) => put(artifacts, update.artifact(), update.appends(), at),
        StreamItem::Message(message) => {
            artifacts.push(Artifact { id: String::new(), parts: parts_of(message), at: vec![at.clone()] });
        }
        StreamItem::StatusUpdate(_) => {}
    }
}

/// Adds an artifact, or replaces or lengthens the one of the same id.
fn put(artifacts: &mut Vec<Artifact>, value: &Value, appends: bool, at: &EventRef) {
    let id = value.get("artifactId").and_then(Value::as_str).unwrap_or_default().to_owned();
    let new = Artifact { id, parts: parts_of(value), at: vec![at.clone()] };
    match artifacts.iter_mut().find(|a| a.id == new.id && !a.id.is_empty()) {
        Some(known) if appends => {
            known.parts.extend(new.parts);
            known.at.extend(new.at);
        }
        Some(known) => *known = new,
        None => artifacts.push(new),
    }
}

fn parts_of(value: &Value) -> Vec<Value> {
    value.get("parts").and_then(Value::as_array).cloned().unwrap_or_default()
}

fn message_of(status: StatusView<'_>) -> Option<Vec<Value>> {
    status.0.get("message").map(parts_of).filter(|parts| !parts.is_empty())
}

// === impl Output ===

impl Output<'_> {
    /// Whether a send was answered before its task stood still, so that the output has to be read back. A stream shows
    /// all of its output itself.
    fn is_open(&self) -> bool {
        let still = |s: TaskState| s.is_terminal() || s.is_interrupted();
        self.answered.operation() == "SendMessage" && self.state.is_some_and(|s| !still(s))
    }

    /// Takes over what a later read of the task shows.
    fn catch_up(&mut self, (_, seq, task): &(u32, Seq, Value)) {
        let (task, at) = (TaskView(task), self.answered.tape.cite(*seq));
        self.state = task.state().or(self.state);
        self.state_at = Some(at.clone());
        task.artifacts().iter().for_each(|a| put(&mut self.artifacts, a, false, &at));
    }

    /// Whether the task completed.
    pub(crate) fn completed(&self) -> bool {
        self.state == Some(TaskState::Completed)
    }

    /// Citations of all that shows the output.
    pub(crate) fn cite(&self) -> Vec<EventRef> {
        let artifacts = self.artifacts.iter().flat_map(|a| a.at.iter().cloned());
        let mut out: Vec<EventRef> = artifacts.chain(self.state_at.clone()).collect();
        out.dedup();
        if out.is_empty() {
            let seq: Seq = self.answered.reply.decisive;
            out.push(self.answered.tape.cite(seq));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn put_all(updates: &[(Value, bool)]) -> Vec<(String, usize)> {
        let mut artifacts = Vec::new();
        for (n, (artifact, appends)) in updates.iter().enumerate() {
            put(&mut artifacts, artifact, *appends, &EventRef { recording: 1, seq: Seq(n as u64) });
        }
        artifacts.into_iter().map(|a| (a.id, a.parts.len())).collect()
    }

    #[test]
    fn pieces_are_put_together_by_id() {
        let piece = |id: &str| json!({"artifactId": id, "parts": [{"text": "x"}]});
        let got = put_all(&[(piece("a"), false), (piece("a"), true), (piece("b"), false)]);
        assert_eq!(got, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
        let replaced = put_all(&[(piece("a"), false), (piece("a"), true), (piece("a"), false)]);
        assert_eq!(replaced, [("a".to_owned(), 1)]);
    }
}
