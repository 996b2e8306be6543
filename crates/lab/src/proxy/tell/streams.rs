//! Lies about streams of one task: what they begin with, what they lack, and what becomes of them when one is closed.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{StreamNotes, Told, moved, set_state, stamp_of};
use crate::proxy::{ask::Ask, lie::Lie, memory::Memory, shape};

/// How far a stale snapshot lies behind.
const HOUR: SignedDuration = SignedDuration::from_hours(1);
/// Which update of a subscription is lost: not the first, so that there is something to compare.
const LOST: u32 = 2;

/// What becomes of an event; `None` = no lie of these.
pub(super) fn event(lie: Lie, ask: &Ask, memory: &Memory, notes: &StreamNotes, answer: &Value) -> Option<Told> {
    let subscribes = ask.is(&["SubscribeToTask"]);
    let payload = shape::payload(answer);
    let first = notes.events == 0;
    match lie {
        Lie::LoseSnapshot if subscribes && first => Some(Told::Changed(Vec::new())),
        Lie::StaleSnapshot if subscribes && first => stale(answer).map(|task| Told::Changed(vec![task])),
        Lie::LoseEvent if subscribes && notes.updates == LOST - 1 && payload.get("task").is_none() => {
            Some(Told::Changed(Vec::new()))
        }
        Lie::ReplayEvents if subscribes && first => {
            let earlier = memory.streams.told(shape::task_id(payload)?).iter().cloned().map(|told| ask.answer(told));
            Some(Told::Changed(std::iter::once(answer.clone()).chain(earlier).collect()))
        }
        Lie::CloseTogether if memory.streams.falls_with_another(notes.stream) => Some(Told::Cut),
        Lie::CancelOnDisconnect if subscribes && memory.streams.is_abandoned(shape::task_id(payload)?) => {
            Some(if first { Told::Changed(vec![canceled(answer)?]) } else { Told::Cut })
        }
        Lie::AppendToUnknown => piece(answer, |update| update["append"] = json!(true)).map(|v| Told::Changed(vec![v])),
        Lie::AppendPhantom => {
            let own = piece(answer, |update| update["lastChunk"] = json!(false))?;
            let phantom = piece(answer, |update| update["append"] = json!(true))?;
            Some(Told::Changed(vec![own, phantom]))
        }
        Lie::SwitchContext => switched(answer).map(|v| Told::Changed(vec![v])),
        _ => None,
    }
}

/// The task as canceled, and without what it made.
pub(super) fn canceled(answer: &Value) -> Option<Value> {
    let mut value = answer.clone();
    let payload = shape::payload_mut(&mut value)?;
    set_state(shape::status_mut(payload)?, "TASK_STATE_CANCELED");
    if let Some(task) = shape::task_mut(payload).and_then(Value::as_object_mut) {
        task.shift_remove("artifacts");
    }
    Some(value)
}

fn stale(answer: &Value) -> Option<Value> {
    let mut value = answer.clone();
    let status = shape::status_mut(shape::payload_mut(&mut value)?).filter(|status| status.is_object())?;
    status["timestamp"] = json!(moved(stamp_of(status)?, -HOUR)?);
    Some(value)
}

fn piece(answer: &Value, change: impl Fn(&mut Value)) -> Option<Value> {
    let mut value = answer.clone();
    change(shape::payload_mut(&mut value)?.get_mut("artifactUpdate").filter(|update| update.is_object())?);
    Some(value)
}

fn switched(answer: &Value) -> Option<Value> {
    let mut value = answer.clone();
    let payload = shape::payload_mut(&mut value)?;
    let update = ["statusUpdate", "artifactUpdate"].into_iter().find(|name| payload.get(name).is_some())?;
    payload.get_mut(update)?.as_object_mut()?.insert("contextId".to_owned(), json!("another-context"));
    Some(value)
}
