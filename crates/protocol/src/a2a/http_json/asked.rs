//! From verb, path and body back to the operation: what a recorded request asked for.

use ostiary_canon::json::{Limits, parse_strict};
use serde_json::{Map, Value, json};

/// The operation and the request message of a request; `None` where it is none. The path may have anything before the
/// operation's own part; the segment right before it is the tenant.
#[must_use]
pub fn asked(method: &str, path: &str, body: &[u8]) -> Option<(&'static str, Value)> {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let segments: Vec<&str> = path.split('/').filter(|s| !s.is_empty()).collect();
    let (at, operation, in_path) = (0..segments.len()).find_map(|at| {
        let (operation, members) = operation(method, &segments[at..])?;
        Some((at, operation, members))
    })?;
    let mut request = match method {
        "POST" => parse_strict(body, Limits::WIRE).ok()?.as_object()?.clone(),
        _ => parameters(query),
    };
    request.extend(in_path);
    if let Some(tenant) = at.checked_sub(1).and_then(|before| segments.get(before)) {
        request.insert("tenant".to_owned(), json!(unescaped(tenant)));
    }
    Some((operation, Value::Object(request)))
}

/// What the last segments of a path mean, with the members of the request that stand in them.
fn operation(method: &str, segments: &[&str]) -> Option<(&'static str, Vec<(String, Value)>)> {
    let member = |name: &str, text: &str| (name.to_owned(), json!(unescaped(text)));
    Some(match (method, segments) {
        ("POST", ["message:send"]) => ("SendMessage", vec![]),
        ("POST", ["message:stream"]) => ("SendStreamingMessage", vec![]),
        ("GET", ["extendedAgentCard"]) => ("GetExtendedAgentCard", vec![]),
        ("GET", ["tasks"]) => ("ListTasks", vec![]),
        (_, ["tasks", id]) => match (method, id.rsplit_once(':')) {
            ("GET", None) => ("GetTask", vec![member("id", id)]),
            ("POST", Some((id, "cancel"))) => ("CancelTask", vec![member("id", id)]),
            ("POST" | "GET", Some((id, "subscribe"))) => ("SubscribeToTask", vec![member("id", id)]),
            _ => return None,
        },
        (_, ["tasks", task, "pushNotificationConfigs"]) => match method {
            "POST" => ("CreateTaskPushNotificationConfig", vec![member("taskId", task)]),
            "GET" => ("ListTaskPushNotificationConfigs", vec![member("taskId", task)]),
            _ => return None,
        },
        (_, ["tasks", task, "pushNotificationConfigs", id]) => {
            let members = vec![member("taskId", task), member("id", id)];
            match method {
                "GET" => ("GetTaskPushNotificationConfig", members),
                "DELETE" => ("DeleteTaskPushNotificationConfig", members),
                _ => return None,
            }
        }
        _ => return None,
    })
}

fn parameters(query: &str) -> Map<String, Value> {
    url::form_urlencoded::parse(query.as_bytes()).map(|(name, value)| (name.into_owned(), json!(value))).collect()
}

fn unescaped(segment: &str) -> String {
    let whole = format!("x={}", segment.replace('+', "%2B"));
    url::form_urlencoded::parse(whole.as_bytes()).next().map(|(_, text)| text.into_owned()).unwrap_or_default()
}
