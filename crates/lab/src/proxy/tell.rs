//! What each lie makes of an answer. Pure: the wire and recordings both come through here.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_protocol::a2a::error::ErrorKind;
use serde_json::{Value, json};

use super::{ask::Ask, block, lie::Lie, memory::Memory, shape};

mod streams;
mod tasks;

/// What becomes of one event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Told {
    /// It passes as it is.
    AsIs,
    /// These come in its place; none = it is swallowed.
    Changed(Vec<Value>),
    /// It does not come, and the stream ends in good order.
    Cut,
}

/// What becomes of a whole answer.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) status: u16,
    /// Whether it comes as a stream of its items.
    pub(super) streamed: bool,
    pub(super) items: Vec<Value>,
}

/// What a lie remembers of one stream.
#[derive(Clone, Debug, Default)]
pub(super) struct StreamNotes {
    doubled: bool,
    /// Its number among the streams that pass; 0 = it has none yet.
    pub(super) stream: u64,
    /// Events that it brought.
    events: u32,
    /// Updates among them.
    updates: u32,
}

// === impl Whole ===

impl Whole {
    /// Its pieces: one body, or one event each.
    pub(super) fn frames(&self) -> Vec<Bytes> {
        let texts = self.items.iter().map(ToString::to_string);
        if self.streamed { texts.map(|t| block::new(&t)).collect() } else { texts.map(Bytes::from).collect() }
    }

    /// The media type it comes as.
    pub(super) const fn media_type(&self) -> &'static str {
        if self.streamed { "text/event-stream" } else { "application/json" }
    }
}

/// Timestamps where the agent gives none.
const INVENTED_STAMP: &str = "2026-01-01T12:00:00.000Z";
const HOUR: SignedDuration = SignedDuration::from_hours(1);
const MOMENT: SignedDuration = SignedDuration::from_millis(1);

/// Tells a lie about one event of a stream.
pub(super) fn event(lie: Lie, ask: &Ask, memory: &Memory, notes: &mut StreamNotes, answer: &Value) -> Told {
    let payload = shape::payload(answer);
    let ends = shape::is_terminal(payload);
    let told = streams::event(lie, ask, memory, notes, answer);
    notes.events += 1;
    notes.updates += u32::from(payload.get("task").is_none());
    if let Some(told) = told {
        return told;
    }
    match lie {
        Lie::ReopenTerminal if ends => Told::Changed(vec![answer.clone(), ask.answer(working_after(payload))]),
        Lie::CutStream if ends => Told::Cut,
        Lie::DropArtifact if payload.get("artifactUpdate").is_some() => Told::Changed(Vec::new()),
        Lie::DuplicateEvent => {
            let update = payload.get("statusUpdate").or_else(|| payload.get("artifactUpdate")).is_some();
            let double = update && (!ends || !notes.doubled);
            notes.doubled |= double;
            if double { Told::Changed(vec![answer.clone(), answer.clone()]) } else { Told::AsIs }
        }
        _ => changed(lie, memory, answer, 200).map_or(Told::AsIs, |value| Told::Changed(vec![value])),
    }
}

/// Tells a lie about an answer that is not streamed; `None` = it passes as it is.
pub(super) fn whole(lie: Lie, ask: &Ask, memory: &Memory, answer: Option<&Value>, status: u16) -> Option<Whole> {
    if let Some(error) = shape::error(answer, status)
        && let Some(result) = served_anyway(lie, ask, memory, &error)
    {
        let streamed = lie == Lie::ServeUndeclaredStream;
        return Some(Whole { status: 200, streamed, items: vec![ask.answer(result)] });
    }
    let answer = answer?;
    let value = match lie {
        _ if shape::error(Some(answer), status).is_some() => changed(lie, memory, answer, status),
        Lie::ReopenTerminal => reopened(memory, answer),
        _ => tasks::whole(lie, ask, memory, answer).or_else(|| changed(lie, memory, answer, status)),
    };
    value.map(|value| Whole { status, streamed: false, items: vec![value] })
}

/// What takes the place of a refusal.
fn served_anyway(
    lie: Lie,
    ask: &Ask,
    memory: &Memory,
    error: &ostiary_protocol::a2a::error::A2aError,
) -> Option<Value> {
    let kind = error.kind();
    let seen = ask.task_id().and_then(|id| memory.task(id));
    match lie {
        Lie::ServeForeignTask if ask.is(&["GetTask"]) && shape::hides_task(error) => Some(seen?.task.clone()),
        Lie::ServeForeignTask if ask.is(&["CancelTask"]) && shape::hides_task(error) => {
            let mut task = seen?.task.clone();
            set_state(shape::status_mut(&mut task)?, "TASK_STATE_CANCELED");
            Some(task)
        }
        Lie::AcceptMessageToTerminal if ask.sends() => {
            let seen = seen.filter(|t| t.finished)?;
            Some(json!({"task": seen.task}))
        }
        Lie::AcceptAnyVersion if kind == Some(ErrorKind::VersionNotSupported) => Some(memory.plausible(ask)),
        Lie::IgnoreCredential if shape::wants_credential(error) => Some(memory.plausible(ask)),
        Lie::ServeUndeclaredStream
            if ask.is(&["SendStreamingMessage", "SubscribeToTask"])
                && kind == Some(ErrorKind::UnsupportedOperation) =>
        {
            Some(memory.plausible(ask))
        }
        _ => tasks::served(lie, ask, memory, error),
    }
}

/// The lies that change an answer in place, streamed or not; `None` = nothing to change.
fn changed(lie: Lie, memory: &Memory, answer: &Value, status: u16) -> Option<Value> {
    let mut value = answer.clone();
    let done = match lie {
        Lie::LeakStackTrace => leak(&mut value, status),
        Lie::ChangeContentType => {
            let artifacts = shape::payload_mut(&mut value).map(shape::artifacts_mut).unwrap_or_default();
            let parts = artifacts.into_iter().filter_map(|a| a.get_mut("parts")?.as_array_mut()).flatten();
            parts.map(swap_content_type).count() > 0
        }
        Lie::DropArtifact => {
            let task = shape::payload_mut(&mut value).and_then(shape::task_mut).and_then(Value::as_object_mut);
            task.and_then(|t| t.shift_remove("artifacts")).is_some()
        }
        Lie::StepTimeBack => step_back(memory, shape::payload_mut(&mut value)?).is_some(),
        _ => false,
    };
    done.then_some(value)
}

/// A status update that says WORKING right after the terminal status of `payload`.
fn working_after(payload: &Value) -> Value {
    let id = shape::task_id(payload).unwrap_or_default();
    let context = payload.pointer("/statusUpdate/contextId").or_else(|| shape::task(payload)?.get("contextId"));
    let mut status = json!({"state": "TASK_STATE_WORKING"});
    if let Some(stamp) = shape::status(payload).and_then(stamp_of).and_then(|s| moved(s, MOMENT)) {
        status["timestamp"] = json!(stamp);
    }
    json!({"statusUpdate": {"taskId": id, "contextId": context, "status": status}})
}

/// A later look at a task whose end was reported: it works again.
fn reopened(memory: &Memory, answer: &Value) -> Option<Value> {
    let mut value = answer.clone();
    let payload = shape::payload_mut(&mut value)?;
    let known = shape::task_id(payload).and_then(|id| memory.task(id)).is_some_and(|t| t.finished);
    if !known || !shape::is_terminal(payload) {
        return None;
    }
    let status = shape::status_mut(payload)?;
    set_state(status, "TASK_STATE_WORKING");
    if let Some(stamp) = stamp_of(status).and_then(|s| moved(s, MOMENT)) {
        status["timestamp"] = json!(stamp);
    }
    Some(value)
}

/// An hour before the first status; the first one itself gets a timestamp if it has none.
fn step_back(memory: &Memory, payload: &mut Value) -> Option<()> {
    let first = shape::task_id(payload).and_then(|id| memory.task(id)).and_then(|t| t.first_stamp.clone());
    let status = shape::status_mut(payload)?.as_object_mut()?;
    let stamp = match first {
        Some(first) => moved(&first, -HOUR).or_else(|| moved(INVENTED_STAMP, -HOUR))?,
        None if status.contains_key("timestamp") => return None,
        None => INVENTED_STAMP.to_owned(),
    };
    status.insert("timestamp".to_owned(), json!(stamp));
    Some(())
}

fn swap_content_type(part: &mut Value) {
    let media_type = part.get("mediaType").and_then(Value::as_str).unwrap_or_default();
    let json_text = media_type.contains("json");
    let Some(members) = part.as_object_mut() else { return };
    if let Some(data) = members.shift_remove("data") {
        members.insert("text".to_owned(), json!(data.to_string()));
        members.insert("mediaType".to_owned(), json!("text/plain"));
    } else if json_text {
        members.insert("mediaType".to_owned(), json!("text/plain"));
    } else if let Some(text) = members.shift_remove("text") {
        members.insert("data".to_owned(), json!({"text": text}));
        members.insert("mediaType".to_owned(), json!("application/json"));
    } else {
        members.insert("mediaType".to_owned(), json!("application/octet-stream"));
    }
}

/// Adds what an unguarded exception handler shows; the token is made up.
fn leak(value: &mut Value, status: u16) -> bool {
    let insides = json!({
        "@type": "type.googleapis.com/google.rpc.DebugInfo",
        "stackEntries": [
            "Traceback (most recent call last):",
            "  File \"/srv/agent/app.py\", line 142, in handle",
            "  File \"/srv/agent/store.py\", line 57, in load_task",
        ],
        "detail": "authorization: Bearer eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJsZWFrZWQifQ.bm90LWEtc2lnbmF0dXJl",
    });
    let details = if value.get("jsonrpc").is_some() { "data" } else { "details" };
    if let Some(error) = value.get_mut("error").and_then(Value::as_object_mut) {
        match error.get_mut(details).and_then(Value::as_array_mut) {
            Some(list) => list.push(insides),
            None => {
                error.insert(details.to_owned(), json!([insides]));
            }
        }
        return true;
    }
    match value.as_object_mut() {
        Some(members) if status >= 400 => {
            members.insert("debug".to_owned(), insides);
            true
        }
        _ => false,
    }
}

fn set_state(status: &mut Value, state: &str) {
    if let Some(status) = status.as_object_mut() {
        status.insert("state".to_owned(), json!(state));
    }
}

fn stamp_of(status: &Value) -> Option<&str> {
    status.get("timestamp").and_then(Value::as_str)
}

fn moved(stamp: &str, by: SignedDuration) -> Option<String> {
    let moved = stamp.parse::<Timestamp>().ok()?.checked_add(by).ok()?;
    Some(format!("{moved:.3}"))
}
