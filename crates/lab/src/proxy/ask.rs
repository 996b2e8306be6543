//! What a request means, as far as a lie must know.

use ostiary_canon::json::{Limits, parse_strict};
use serde_json::{Value, json};

/// A request that was looked into.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    /// The JSON-RPC method.
    pub(super) operation: Option<String>,
    /// Its parameters.
    pub(super) params: Value,
    id: Value,
    /// Whether it asks for the card.
    pub(super) card: bool,
}

// === impl Ask ===

impl Ask {
    /// Looks into a request.
    pub(super) fn of(method: &str, path: &str, body: &[u8]) -> Self {
        let card = method == "GET" && path.contains("/.well-known/agent");
        let Ok(mut body) = parse_strict(body, Limits::WIRE) else {
            return Self { card, ..Self::default() };
        };
        let operation = body.get("method").and_then(Value::as_str).map(str::to_owned);
        let take = |body: &mut Value, name: &str| body.get_mut(name).map_or(Value::Null, Value::take);
        Self { operation, params: take(&mut body, "params"), id: take(&mut body, "id"), card }
    }

    /// Whether it is one of these operations.
    pub(super) fn is(&self, operations: &[&str]) -> bool {
        self.operation.as_deref().is_some_and(|o| operations.contains(&o))
    }

    /// Whether it sends a message.
    pub(super) fn sends(&self) -> bool {
        self.is(&["SendMessage", "SendStreamingMessage"])
    }

    /// The task it is about.
    pub(super) fn task_id(&self) -> Option<&str> {
        let id = if self.sends() { self.params.pointer("/message/taskId") } else { self.params.get("id") };
        id.and_then(Value::as_str)
    }

    /// An answer to it.
    pub(super) fn answer(&self, result: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": self.id, "result": result})
    }
}
