//! The JSON-RPC binding (§9): envelopes out, envelopes in.

use bytes::Bytes;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_record::{OpName, Route, ports::Outbound};
use serde_json::{Value, json};

use crate::a2a::{call::Call, error::A2aError, reply::Answer};

/// A decoded envelope.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope {
    /// The id that came back; `None` = no such member.
    pub id: Option<Value>,
    /// What it carries.
    pub answer: Answer,
}

// === impl Envelope ===

impl Envelope {
    /// Whether the id is the one that was asked with. An error about an unreadable request carries `null` (JSON-RPC §5).
    #[must_use]
    pub fn echoes(&self, asked: &Value) -> bool {
        match (&self.id, &self.answer) {
            (Some(Value::Null), Answer::Error(_)) => true,
            (Some(id), _) => id == asked,
            (None, _) => false,
        }
    }
}

/// The request of a call, ready to be sent to the interface's URL.
#[must_use]
pub fn encode(call: &Call) -> Outbound {
    let params = call.operation.request(call.tenant.as_deref());
    let body = json!({"jsonrpc": "2.0", "id": call.id, "method": call.operation.name(), "params": params});
    raw(call, Bytes::from(body.to_string()), Some(OpName::from(call.operation.name())))
}

/// A request whose body is given: for envelopes that are wrong on purpose.
#[must_use]
pub fn raw(call: &Call, body: Bytes, intent: Option<OpName>) -> Outbound {
    let accept = if call.operation.streams() { "text/event-stream, application/json" } else { "application/json" };
    let mut headers =
        vec![("content-type".to_owned(), "application/json".to_owned()), ("accept".to_owned(), accept.to_owned())];
    headers.extend(call.service_headers());
    Outbound { route: Route::Http { method: "POST".to_owned(), path: String::new() }, headers, body, intent }
}

/// Reads one envelope: a whole body, or the data of one event.
#[must_use]
pub fn decode(bytes: &[u8], http_status: Option<u16>) -> Envelope {
    let mut members = match parse_strict(bytes, Limits::WIRE) {
        Ok(Value::Object(members)) => members,
        Ok(_) => return malformed(None, "not a JSON object".to_owned()),
        Err(error) => return malformed(None, format!("not readable as JSON: {error}")),
    };
    let id = members.remove("id");
    let error = members.remove("error").filter(|error| !error.is_null());
    match (members.remove("result"), error) {
        (Some(result), Some(_)) if !result.is_null() => malformed(id, "both `result` and `error` are set".to_owned()),
        (_, Some(error)) => Envelope { id, answer: Answer::Error(error_of(&error, http_status)) },
        (Some(result), None) => versioned(members.get("jsonrpc"), id, Answer::Result(result)),
        (None, None) => malformed(id, "neither `result` nor `error` is set".to_owned()),
    }
}

/// Reads an error object, whatever its members are; `shape_problems` says what is wrong with it.
#[must_use]
pub fn error_of(object: &Value, http_status: Option<u16>) -> A2aError {
    A2aError {
        http_status,
        status: None,
        code: object.get("code").and_then(Value::as_i64),
        message: object.get("message").and_then(Value::as_str).map(str::to_owned),
        details: object.get("data").cloned(),
        object: Some(object.clone()),
    }
}

/// The `id` of a request body, as sent.
#[must_use]
pub fn request_id(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(body).ok()?.get("id").cloned()
}

/// The method and the parameters of a request body; `None` where it names no method.
#[must_use]
pub fn asked(body: &[u8]) -> Option<(String, Value)> {
    let mut body = parse_strict(body, Limits::WIRE).ok()?;
    let method = body.get("method")?.as_str()?.to_owned();
    Some((method, body.get_mut("params").map_or(Value::Null, Value::take)))
}

fn versioned(version: Option<&Value>, id: Option<Value>, answer: Answer) -> Envelope {
    if version.is_some_and(|v| v == "2.0") {
        return Envelope { id, answer };
    }
    malformed(id, "`jsonrpc` is not \"2.0\"".to_owned())
}

const fn malformed(id: Option<Value>, why: String) -> Envelope {
    Envelope { id, answer: Answer::Malformed(why) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::a2a::{
        error::ErrorKind,
        operation::{Operation, SendMessage},
    };

    #[test]
    fn a_call_is_one_envelope_with_the_version_header() {
        let mut call = Call::new(Operation::GetTask { id: "t".into(), history_length: None });
        call.tenant = Some("acme".into());
        call.extensions = vec!["urn:a".into(), "urn:b".into()];
        let out = encode(&call);
        let body: Value = serde_json::from_slice(&out.body).unwrap();
        assert_eq!(body, json!({"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"tenant":"acme","id":"t"}}));
        assert!(out.headers.contains(&("A2A-Version".into(), "1.0".into())));
        assert!(out.headers.contains(&("A2A-Extensions".into(), "urn:a, urn:b".into())));
        assert_eq!(out.intent, Some(OpName::from("GetTask")));
    }

    #[test]
    fn a_missing_version_header_is_missing() {
        let call = Call { version: None, ..Call::new(Operation::GetExtendedAgentCard) };
        assert!(encode(&call).headers.iter().all(|(n, _)| !n.eq_ignore_ascii_case("a2a-version")));
        let stream = encode(&Call::new(Operation::SendStreamingMessage(SendMessage::default())));
        assert!(stream.headers.iter().any(|(n, v)| n == "accept" && v.contains("text/event-stream")));
    }

    #[test]
    fn result_error_and_neither_are_told_apart() {
        let read = |v: Value| decode(v.to_string().as_bytes(), Some(200)).answer;
        assert!(matches!(read(json!({"jsonrpc":"2.0","id":1,"result":{}})), Answer::Result(_)));
        let error = read(json!({"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"no"},"result":null}));
        assert!(matches!(error, Answer::Error(e) if e.kind() == Some(ErrorKind::TaskNotFound)));
        for wrong in [
            json!({"jsonrpc":"2.0","id":1}),
            json!({"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1}}),
            json!({"id":1,"result":{}}),
            json!([1]),
        ] {
            assert!(matches!(read(wrong.clone()), Answer::Malformed(_)), "{wrong}");
        }
        assert!(matches!(decode(b"<html>", None).answer, Answer::Malformed(_)));
        assert!(matches!(
            decode(br#"{"jsonrpc":"2.0","id":1,"result":1,"result":2}"#, None).answer,
            Answer::Malformed(_)
        ));
    }

    #[test]
    fn the_id_is_echoed_or_null_for_errors() {
        let echoes = |v: Value| decode(v.to_string().as_bytes(), None).echoes(&json!(1));
        assert!(echoes(json!({"jsonrpc":"2.0","id":1,"result":{}})));
        assert!(!echoes(json!({"jsonrpc":"2.0","id":"1","result":{}})));
        assert!(echoes(json!({"jsonrpc":"2.0","id":null,"error":{"code":-32700}})));
        assert!(!echoes(json!({"jsonrpc":"2.0","result":{}})));
    }
}
