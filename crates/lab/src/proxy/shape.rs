//! Where the parts of an A2A answer are: enough to lie about them, with or without a JSON-RPC envelope.

use ostiary_protocol::a2a::{
    error::{A2aError, ErrorKind},
    http_json, jsonrpc,
    task::{StatusView, TaskState},
};
use serde_json::Value;

/// What the answer carries: the `result` of an envelope, or the value itself.
pub(super) fn payload(answer: &Value) -> &Value {
    if is_envelope(answer) { answer.get("result").unwrap_or(&Value::Null) } else { answer }
}

/// [`payload`] to change; `None` for an error.
pub(super) fn payload_mut(answer: &mut Value) -> Option<&mut Value> {
    if is_envelope(answer) { answer.get_mut("result") } else { Some(answer) }
}

/// The error, if the answer is one; an HTTP status of failure alone is one, too.
pub(super) fn error(answer: Option<&Value>, status: u16) -> Option<A2aError> {
    match answer.and_then(|a| a.get("error")).filter(|e| e.is_object()) {
        Some(object) if answer.is_some_and(is_envelope) => Some(jsonrpc::error_of(object, Some(status))),
        Some(object) => Some(http_json::error_of(object, status)),
        None if status >= 400 => Some(A2aError::of_status(status)),
        None => None,
    }
}

/// Whether an error asks for a credential, or for another one.
pub(super) fn wants_credential(error: &A2aError) -> bool {
    match error.kind() {
        Some(ErrorKind::Unauthenticated | ErrorKind::Forbidden) => true,
        Some(_) => false,
        None => matches!(error.http_status, Some(401 | 403)),
    }
}

/// Whether an error says to a caller who was let in that there is no such task for it.
pub(super) fn hides_task(error: &A2aError) -> bool {
    match error.kind() {
        Some(ErrorKind::TaskNotFound | ErrorKind::Forbidden) => true,
        Some(_) => false,
        None => matches!(error.http_status, Some(403 | 404)),
    }
}

/// The task inside a payload: wrapped, or the payload itself.
pub(super) fn task(payload: &Value) -> Option<&Value> {
    payload.get("task").or(Some(payload)).filter(|t| t.get("id").is_some() && t.get("status").is_some())
}

/// [`task`] to change.
pub(super) fn task_mut(payload: &mut Value) -> Option<&mut Value> {
    let inner = if payload.get("task").is_some() { payload.get_mut("task") } else { Some(payload) };
    inner.filter(|t| t.get("id").is_some() && t.get("status").is_some())
}

/// The id of the task that a payload is about.
pub(super) fn task_id(payload: &Value) -> Option<&str> {
    let update = payload.get("statusUpdate").or_else(|| payload.get("artifactUpdate"));
    let id = match update {
        Some(update) => update.get("taskId"),
        None => task(payload).and_then(|t| t.get("id")),
    };
    id.and_then(Value::as_str)
}

/// The status that a payload shows.
pub(super) fn status(payload: &Value) -> Option<&Value> {
    payload.get("statusUpdate").or_else(|| task(payload))?.get("status")
}

/// [`status`] to change.
pub(super) fn status_mut(payload: &mut Value) -> Option<&mut Value> {
    if payload.get("statusUpdate").is_some() {
        return payload.get_mut("statusUpdate")?.get_mut("status");
    }
    task_mut(payload)?.get_mut("status")
}

/// Whether a payload shows a terminal state.
pub(super) fn is_terminal(payload: &Value) -> bool {
    status(payload).and_then(|s| StatusView(s).state()).is_some_and(TaskState::is_terminal)
}

/// The artifacts of a payload, wherever they are.
pub(super) fn artifacts_mut(payload: &mut Value) -> Vec<&mut Value> {
    if payload.get("artifactUpdate").is_some() {
        return payload.get_mut("artifactUpdate").and_then(|u| u.get_mut("artifact")).into_iter().collect();
    }
    let list = task_mut(payload).and_then(|t| t.get_mut("artifacts")).and_then(Value::as_array_mut);
    list.into_iter().flatten().collect()
}

fn is_envelope(answer: &Value) -> bool {
    answer.get("jsonrpc").is_some()
}
