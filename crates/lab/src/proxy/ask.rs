//! What a request means, as far as a lie must know.

use ostiary_canon::json::{Limits, parse_strict};
use ostiary_protocol::a2a::http_json;
use serde_json::{Value, json};

/// A request that was looked into.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    /// The operation: JSON-RPC's method, or what a path of HTTP+JSON means.
    pub(super) operation: Option<String>,
    /// Its parameters.
    pub(super) params: Value,
    /// The id of the envelope; `None` = the binding has no envelopes.
    id: Option<Value>,
    /// Whether it asks for the card.
    pub(super) card: bool,
}

// === impl Ask ===

impl Ask {
    /// Looks into a request.
    pub(super) fn of(method: &str, path: &str, body: &[u8]) -> Self {
        let card = method == "GET" && path.contains("/.well-known/agent");
        if let Some((operation, params)) = http_json::asked(method, path, body) {
            return Self::bare(operation, params);
        }
        let Ok(mut body) = parse_strict(body, Limits::WIRE) else {
            return Self { card, ..Self::default() };
        };
        let operation = body.get("method").and_then(Value::as_str).map(str::to_owned);
        let take = |body: &mut Value, name: &str| body.get_mut(name).map_or(Value::Null, Value::take);
        Self { operation, params: take(&mut body, "params"), id: Some(take(&mut body, "id")), card }
    }

    /// A request of a binding without envelopes.
    pub(super) fn bare(operation: &str, params: Value) -> Self {
        Self { operation: Some(operation.to_owned()), params, id: None, card: false }
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
        match &self.id {
            Some(id) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            None => result,
        }
    }
}
