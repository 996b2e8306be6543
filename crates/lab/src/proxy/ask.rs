//! What a request means, as far as a lie must know.

use bytes::Bytes;
use http::{Method, header, request::Parts};
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

/// Makes a cancel a read of the same task, in the binding that it came over.
pub(super) fn read_instead(parts: &mut Parts, body: Bytes) -> Bytes {
    // whoever sends the body knows its length
    parts.headers.remove(header::CONTENT_LENGTH);
    if let Some(read) = parts.uri.path().strip_suffix(":cancel").and_then(|path| path.parse().ok()) {
        (parts.method, parts.uri) = (Method::GET, read);
        parts.headers.remove(header::CONTENT_TYPE);
        return Bytes::new();
    }
    let Ok(mut request) = parse_strict(&body, Limits::WIRE) else { return body };
    request["method"] = json!("GetTask");
    Bytes::from(request.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instead(method: &str, path: &str, body: &'static str) -> (String, String, Bytes) {
        let request = http::Request::builder().method(method).uri(path).header("content-length", body.len());
        let mut parts = request.body(()).expect("a request").into_parts().0;
        let body = read_instead(&mut parts, Bytes::from_static(body.as_bytes()));
        assert!(!parts.headers.contains_key(header::CONTENT_LENGTH));
        (parts.method.to_string(), parts.uri.to_string(), body)
    }

    #[test]
    fn a_cancel_becomes_a_read_of_the_same_task() {
        let (method, path, body) = instead("POST", "/rest/tasks/t-1:cancel", "{}");
        assert_eq!((method.as_str(), path.as_str(), body.len()), ("GET", "/rest/tasks/t-1", 0));
        let (method, path, body) = instead("POST", "/rpc", r#"{"method":"CancelTask","id":1,"params":{"id":"t"}}"#);
        let body: Value = serde_json::from_slice(&body).expect("JSON");
        assert_eq!((method.as_str(), path.as_str()), ("POST", "/rpc"));
        assert_eq!(body, json!({"method": "GetTask", "id": 1, "params": {"id": "t"}}));
    }
}
