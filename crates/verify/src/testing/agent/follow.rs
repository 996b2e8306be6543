//! Streams that stay open: what a task does is told on each of them, in order, from where it began.

use ostiary_record::ExchangeId;
use serde_json::{Value, json};

use super::{Agent, Answer, envelope, error, event, is_terminal};

/// An answer that is not over.
pub(super) struct Open {
    pub(super) exchange: ExchangeId,
    pub(super) task: String,
    /// The id of the request.
    id: Value,
    /// How many of the task's events it has brought or came too late for.
    cursor: usize,
    /// How many frames it has brought.
    pub(super) frames: u32,
}

// === impl Open ===

impl Open {
    pub(super) fn new(agent: &Agent, exchange: ExchangeId, (task, id): (String, Value), frames: u32) -> Self {
        let cursor = agent.lock()[&task].events.len();
        Self { exchange, task, id, cursor, frames }
    }
}

// === impl Agent ===

impl Agent {
    pub(super) fn subscribe(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
        let task = params["id"].as_str().unwrap_or_default();
        let state = self.lock().get(task).filter(|t| t.tenant == tenant).map(|t| t.state);
        match state {
            None => error(id, -32001, Some("TASK_NOT_FOUND")),
            Some(state) if is_terminal(state) => error(id, -32004, Some("UNSUPPORTED_OPERATION")),
            Some(_) => self.following(id, task),
        }
    }

    /// A stream that begins with the task as it is, and goes on with it.
    pub(super) fn following(&self, id: &Value, task: &str) -> Answer {
        let first = envelope(id, "result", &json!({"task": self.show(task, None)}));
        let follows = Some((task.to_owned(), id.clone()));
        Answer { follows, ..Answer::of(200, "text/event-stream", vec![event(&first.to_string())]) }
    }

    /// The next frame of an open stream, and whether it is the last one. Time passes where there is nothing to tell.
    pub(super) fn tell_open(&self, open: &mut Open) -> (Option<String>, bool) {
        let told = |agent: &Self, open: &Open| agent.lock()[&open.task].events.get(open.cursor).cloned();
        if told(self, open).is_none() {
            self.advance(&open.task);
        }
        let frame = told(self, open).map(|item| event(&envelope(&open.id, "result", &item).to_string()));
        if frame.is_some() {
            open.cursor += 1;
            open.frames += 1;
        }
        let over = self.stands_still(&open.task) && open.cursor == self.lock()[&open.task].events.len();
        (frame, over)
    }
}
