//! Lies about tasks of several turns, their outcomes, their histories and their lists.

use ostiary_protocol::a2a::error::{A2aError, ErrorKind};
use serde_json::{Value, json};

use super::{set_state, streams};
use crate::proxy::{ask::Ask, lie::Lie, memory::Memory, shape};

/// What an answer that is not streamed becomes; `None` = no lie of these.
pub(super) fn whole(lie: Lie, ask: &Ask, memory: &Memory, answer: &Value) -> Option<Value> {
    let mut value = answer.clone();
    let payload = shape::payload_mut(&mut value)?;
    match lie {
        Lie::CancelOnDisconnect if ask.is(&["GetTask"]) && memory.streams.is_abandoned(shape::task_id(payload)?) => {
            return streams::canceled(answer);
        }
        Lie::AnswerAsNewTask if ask.sends() && ask.task_id().is_some() => {
            shape::task_mut(payload)?["id"] = json!("another-task");
        }
        Lie::CompleteAlways => {
            let status = shape::status_mut(payload)?;
            let state = status.get("state").and_then(Value::as_str)?;
            if !matches!(state, "TASK_STATE_FAILED" | "TASK_STATE_REJECTED") {
                return None;
            }
            set_state(status, "TASK_STATE_COMPLETED");
        }
        Lie::TellFullHistory => {
            let asked = ask.params.get("historyLength").or_else(|| ask.params.pointer("/configuration/historyLength"));
            asked?;
            let message = json!({"messageId": "told-anyway", "role": "ROLE_USER", "parts": [{"text": "told anyway"}]});
            shape::task_mut(payload)?["history"] = json!([message, message]);
        }
        Lie::ReverseList if ask.is(&["ListTasks"]) => payload.get_mut("tasks")?.as_array_mut()?.reverse(),
        _ => return None,
    }
    (value != *answer).then_some(value)
}

/// What takes the place of a refusal.
pub(super) fn served(lie: Lie, ask: &Ask, memory: &Memory, error: &A2aError) -> Option<Value> {
    let kind = error.kind();
    let sent_to_task = ask.is(&["SendMessage"]) && ask.task_id().is_some();
    match lie {
        Lie::AcceptAnyContext if sent_to_task && kind == Some(ErrorKind::InvalidParams) => Some(memory.plausible(ask)),
        Lie::AcceptUnknownTask if sent_to_task && shape::hides_task(error) => {
            let task = json!({"id": ask.task_id(), "status": {"state": "TASK_STATE_COMPLETED"}});
            Some(json!({"task": task}))
        }
        _ => None,
    }
}
