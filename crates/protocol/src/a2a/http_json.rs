//! The HTTP+JSON binding (§11): each operation has a verb and a path, streams are bare `StreamResponse` events.

use bytes::Bytes;
use ostiary_canon::json::{Limits, parse_strict};
use ostiary_record::{OpName, Route, ports::Outbound};
use serde_json::{Map, Value, json};

use crate::a2a::{call::Call, error::A2aError, operation::Operation, reply::Answer};

pub use asked::asked;

mod asked;

/// The request of a call, relative to the interface's URL.
#[must_use]
pub fn encode(call: &Call) -> Outbound {
    let (method, path) = address(&call.operation);
    let tenant = call.tenant.as_deref().map(|t| format!("/{}", escaped(t))).unwrap_or_default();
    let Value::Object(mut request) = call.operation.request(None) else { unreachable!("requests are objects") };
    in_path(&call.operation).iter().for_each(|name| drop(request.remove(*name)));
    let (query, body) = match method {
        "POST" => (String::new(), Bytes::from(Value::Object(request).to_string())),
        _ => (query(&request), Bytes::new()),
    };
    raw(call, method, &format!("{tenant}{path}{query}"), body, Some(OpName::from(call.operation.name())))
}

/// The other form of a call, where the specification gives two: its proto subscribes with GET, its prose with POST.
#[must_use]
pub fn alternative(call: &Call) -> Option<Outbound> {
    let Operation::SubscribeToTask { .. } = call.operation else { return None };
    let Outbound { route: Route::Http { path, .. }, intent, .. } = encode(call) else { return None };
    Some(raw(call, "GET", &path, Bytes::new(), intent))
}

/// A request whose verb, path and body are given: for what is wrong on purpose.
///
/// The media type is `application/json`: 1.0.0 requires it, 1.0.1 recommends `application/a2a+json`, and a caller cannot
/// know which patch level it speaks to.
#[must_use]
pub fn raw(call: &Call, method: &str, path: &str, body: Bytes, intent: Option<OpName>) -> Outbound {
    let json = "application/a2a+json, application/json";
    let accept = if call.operation.streams() { format!("text/event-stream, {json}") } else { json.to_owned() };
    let mut headers = Vec::new();
    if !body.is_empty() {
        headers.push(("content-type".to_owned(), "application/json".to_owned()));
    }
    headers.push(("accept".to_owned(), accept));
    headers.extend(call.service_headers());
    let route = Route::Http { method: method.to_owned(), path: path.to_owned() };
    Outbound { route, headers, body, intent }
}

/// Reads one answer: a whole body, or the data of one event. `operation` is the one that was asked for.
#[must_use]
pub fn decode(bytes: &[u8], http_status: Option<u16>, operation: Option<&str>) -> Answer {
    let failed = http_status.is_some_and(|status| status >= 400);
    if bytes.is_empty() && !failed && operation == Some("DeleteTaskPushNotificationConfig") {
        return Answer::Result(json!({}));
    }
    let value = match parse_strict(bytes, Limits::WIRE) {
        Ok(value) => value,
        Err(error) => return Answer::Malformed(format!("not readable as JSON: {error}")),
    };
    let status = http_status.unwrap_or_default();
    match value.get("error").filter(|error| error.is_object()) {
        Some(error) => Answer::Error(error_of(error, status)),
        None if !value.is_object() => Answer::Malformed("not a JSON object".to_owned()),
        None if failed && value.get("title").is_some() => Answer::Error(error_of(&value, status)),
        None if failed => Answer::Malformed("a failure without `error`".to_owned()),
        None if http_status.is_some_and(|s| s >= 300) => Answer::Malformed("neither an answer nor an error".to_owned()),
        None => Answer::Result(value),
    }
}

/// Reads an error object, whatever its members are; `shape_problems` says what is wrong with it.
#[must_use]
pub fn error_of(object: &Value, http_status: u16) -> A2aError {
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    A2aError {
        http_status: Some(http_status),
        status: text("status"),
        code: None,
        message: text("message").or_else(|| text("title")),
        details: object.get("details").cloned(),
        object: Some(object.clone()),
    }
}

/// Verb and path (§11.3), without the tenant before it.
fn address(operation: &Operation) -> (&'static str, String) {
    match operation {
        Operation::SendMessage(_) => ("POST", "/message:send".to_owned()),
        Operation::SendStreamingMessage(_) => ("POST", "/message:stream".to_owned()),
        Operation::GetTask { id, .. } => ("GET", format!("/tasks/{}", escaped(id))),
        Operation::ListTasks(_) => ("GET", "/tasks".to_owned()),
        Operation::CancelTask { id } => ("POST", format!("/tasks/{}:cancel", escaped(id))),
        Operation::SubscribeToTask { id } => ("POST", format!("/tasks/{}:subscribe", escaped(id))),
        Operation::CreateTaskPushNotificationConfig(push) => ("POST", configs(&push.task_id)),
        Operation::ListTaskPushNotificationConfigs { task_id } => ("GET", configs(task_id)),
        Operation::GetTaskPushNotificationConfig { task_id, id } => {
            ("GET", format!("{}/{}", configs(task_id), escaped(id)))
        }
        Operation::DeleteTaskPushNotificationConfig { task_id, id } => {
            ("DELETE", format!("{}/{}", configs(task_id), escaped(id)))
        }
        Operation::GetExtendedAgentCard => ("GET", "/extendedAgentCard".to_owned()),
    }
}

fn configs(task: &str) -> String {
    format!("/tasks/{}/pushNotificationConfigs", escaped(task))
}

/// The members of the request that stand in the path, and so nowhere else.
const fn in_path(operation: &Operation) -> &'static [&'static str] {
    match operation {
        Operation::GetTask { .. } | Operation::CancelTask { .. } | Operation::SubscribeToTask { .. } => &["id"],
        Operation::CreateTaskPushNotificationConfig(_) | Operation::ListTaskPushNotificationConfigs { .. } => {
            &["taskId"]
        }
        Operation::GetTaskPushNotificationConfig { .. } | Operation::DeleteTaskPushNotificationConfig { .. } => {
            &["taskId", "id"]
        }
        Operation::SendMessage(_)
        | Operation::SendStreamingMessage(_)
        | Operation::ListTasks(_)
        | Operation::GetExtendedAgentCard => &[],
    }
}

/// Parameters in the query (§11.5): names in camelCase, enums by name.
fn query(request: &Map<String, Value>) -> String {
    let value = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let pairs: Vec<String> =
        request.iter().map(|(name, v)| format!("{}={}", escaped(name), escaped(&value(v)))).collect();
    if pairs.is_empty() { String::new() } else { format!("?{}", pairs.join("&")) }
}

/// All but the unreserved characters of RFC 3986 escaped, so that an id is one segment and no verb.
fn escaped(text: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~');
    text.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}

#[cfg(test)]
mod tests;
