//! What a proxy has seen: tasks, what worked, and with which credential.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{ask::Ask, shape, streams::Streams, tell::StreamNotes};

/// Tasks and answers seen so far. Bounded: what is beyond is not remembered.
#[derive(Default)]
pub(super) struct Memory {
    pub(super) requests: u64,
    /// The first credential with which a message was accepted.
    pub(super) credential: Option<http::HeaderValue>,
    pub(super) streams: Streams,
    tasks: BTreeMap<String, SeenTask>,
    /// The last result of each operation.
    results: BTreeMap<String, Value>,
}

/// One task as it was last seen.
pub(super) struct SeenTask {
    pub(super) task: Value,
    pub(super) finished: bool,
    /// The timestamp of the first status.
    pub(super) first_stamp: Option<String>,
}

const MAX_TASKS: usize = 1_000;
const MAX_OPERATIONS: usize = 32;

// === impl Memory ===

impl Memory {
    /// Remembers an answer as the agent gave it.
    pub(super) fn note(&mut self, ask: &Ask, answer: &Value, status: u16) {
        if shape::error(Some(answer), status).is_some() {
            return;
        }
        let payload = shape::payload(answer);
        if let Some(operation) = &ask.operation
            && (self.results.len() < MAX_OPERATIONS || self.results.contains_key(operation))
        {
            self.results.insert(operation.clone(), payload.clone());
        }
        self.note_task(payload);
    }

    /// Takes in an event of a stream before a lie is told about it.
    pub(super) fn follow(&mut self, notes: &mut StreamNotes, answer: &Value) {
        if notes.stream == 0 {
            notes.stream = self.streams.begin();
        }
        let payload = shape::payload(answer);
        if let Some(task) = shape::task_id(payload) {
            self.streams.is_of(notes.stream, task);
            if payload.get("task").is_none() {
                self.streams.tell(task, payload);
            }
        }
    }

    /// A task seen before.
    pub(super) fn task(&self, id: &str) -> Option<&SeenTask> {
        self.tasks.get(id)
    }

    /// Whether a request cancels a task that was not seen to have ended.
    pub(super) fn cancels_work(&self, ask: &Ask) -> bool {
        ask.is(&["CancelTask"]) && ask.task_id().and_then(|id| self.task(id)).is_some_and(|seen| !seen.finished)
    }

    /// Whether some task has reached its end.
    pub(super) fn any_finished(&self) -> bool {
        self.tasks.values().any(|t| t.finished)
    }

    /// What an agent that serves everybody would answer: what it answered before, else the least that is an answer.
    pub(super) fn plausible(&self, ask: &Ask) -> Value {
        let operation = ask.operation.as_deref().unwrap_or_default();
        if let Some(seen) = ask.task_id().and_then(|id| self.task(id)) {
            return if ask.sends() { json!({"task": seen.task}) } else { seen.task.clone() };
        }
        if let Some(result) = self.results.get(operation) {
            return result.clone();
        }
        let task = json!({
            "id": ask.task_id().unwrap_or("task-served-anyway"),
            "contextId": "context-served-anyway",
            "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T12:00:00.000Z"},
            "artifacts": [{"artifactId": "artifact-1", "parts": [{"text": "served anyway"}]}],
        });
        match operation {
            "SendMessage" | "SendStreamingMessage" | "SubscribeToTask" => json!({"task": task}),
            "ListTasks" => json!({"tasks": [], "nextPageToken": "", "pageSize": 50, "totalSize": 0}),
            _ => task,
        }
    }

    fn note_task(&mut self, payload: &Value) {
        let Some(id) = shape::task_id(payload) else { return };
        if !self.tasks.contains_key(id) && self.tasks.len() >= MAX_TASKS {
            return;
        }
        let new = || SeenTask { task: json!({"id": id}), finished: false, first_stamp: None };
        let seen = self.tasks.entry(id.to_owned()).or_insert_with(new);
        seen.apply(payload);
    }
}

// === impl SeenTask ===

impl SeenTask {
    fn apply(&mut self, payload: &Value) {
        if let Some(task) = shape::task(payload) {
            self.task = task.clone();
        }
        if let Some(update) = payload.get("statusUpdate") {
            self.set("contextId", update.get("contextId"));
            self.set("status", update.get("status"));
        }
        if let Some(artifact) = payload.pointer("/artifactUpdate/artifact") {
            self.add_artifact(artifact, payload["artifactUpdate"]["append"] == true);
        }
        self.finished |= shape::is_terminal(payload);
        let stamp = shape::status(payload).map(|s| s.get("timestamp").and_then(Value::as_str).unwrap_or_default());
        if self.first_stamp.is_none() {
            self.first_stamp = stamp.map(str::to_owned);
        }
    }

    fn set(&mut self, member: &str, value: Option<&Value>) {
        if let (Some(value), Some(task)) = (value, self.task.as_object_mut()) {
            task.insert(member.to_owned(), value.clone());
        }
    }

    fn add_artifact(&mut self, artifact: &Value, append: bool) {
        let Some(task) = self.task.as_object_mut() else { return };
        let list = task.entry("artifacts").or_insert_with(|| json!([]));
        let Some(list) = list.as_array_mut() else { return };
        match list.iter_mut().find(|a| a.get("artifactId") == artifact.get("artifactId")) {
            Some(known) if append => {
                let more = artifact.get("parts").and_then(Value::as_array).cloned().unwrap_or_default();
                if let Some(parts) = known.get_mut("parts").and_then(Value::as_array_mut) {
                    parts.extend(more);
                }
            }
            Some(known) => *known = artifact.clone(),
            None => list.push(artifact.clone()),
        }
    }
}
