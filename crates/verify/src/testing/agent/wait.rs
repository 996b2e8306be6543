//! Messages whose answer is waited for while their task is at work.

use ostiary_record::ExchangeId;
use serde_json::{Value, json};

use super::{Agent, Answer, result};

/// An answer that comes when its task stands still.
pub(super) struct Waiting {
    pub(super) exchange: ExchangeId,
    task: String,
    /// The id of the request.
    id: Value,
}

// === impl Waiting ===

impl Waiting {
    pub(super) fn new(exchange: ExchangeId, (task, id): (String, Value)) -> Self {
        Self { exchange, task, id }
    }
}

// === impl Agent ===

impl Agent {
    /// The answer that was waited for: time passes until it is there.
    pub(super) fn awaited(&self, waiting: &Waiting) -> Answer {
        self.run(&waiting.task);
        result(&waiting.id, &json!({"task": self.show(&waiting.task, None)}))
    }
}
