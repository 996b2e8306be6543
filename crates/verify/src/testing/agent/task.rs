//! Tasks: made, shown, read and canceled.

use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{Agent, Answer, Task, envelope, error, is_terminal, result, work::Wish};

// === impl Agent ===

impl Agent {
    pub(super) fn on_task(&self, id: &Value, method: &str, params: &Value, tenant: &str) -> Answer {
        let Some(task) = params["id"].as_str() else {
            let violations = json!([{"field": "id", "description": "required"}]);
            let data = json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]);
            let object = json!({"code": -32602, "message": "Invalid parameters", "data": data});
            return Answer::of(200, "application/json", vec![envelope(id, "error", &object).to_string()]);
        };
        let seen = self.lock().get(task).filter(|t| t.tenant == tenant).map(|t| t.state);
        match (seen, method) {
            (None, _) => error(id, -32001, Some("TASK_NOT_FOUND")),
            (Some(state), "CancelTask") if is_terminal(state) => error(id, -32002, Some("TASK_NOT_CANCELABLE")),
            (Some(_), "CancelTask") => {
                self.set(task, "TASK_STATE_CANCELED");
                result(id, &self.show(task, None))
            }
            (Some(state), _) => {
                if !is_terminal(state) {
                    self.advance(task);
                }
                result(id, &self.show(task, params["historyLength"].as_u64()))
            }
        }
    }

    pub(super) fn create(&self, params: &Value, tenant: &str) -> String {
        let mut tasks = self.lock();
        let n = tasks.len() + 1;
        let task = format!("3512472e-9b1c-4c55-8d60-{n:012x}");
        let message = &params["message"];
        let context = message["contextId"].as_str().map_or_else(|| format!("c{n}"), str::to_owned);
        let new = Task {
            tenant: tenant.to_owned(),
            context,
            wish: Wish::of(message),
            state: "",
            status: json!({}),
            artifacts: json!([]),
            history: json!([message]),
            events: Vec::new(),
        };
        tasks.insert(task.clone(), new);
        drop(tasks);
        self.set(&task, "TASK_STATE_SUBMITTED");
        task
    }

    pub(super) fn set(&self, id: &str, state: &'static str) {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        *ticks += 1;
        let timestamp = format!("2026-11-30T09:{:02}:{:02}.752361Z", *ticks / 60 % 60, *ticks % 60);
        let mut tasks = self.lock();
        let task = tasks.get_mut(id).expect("made by this agent");
        task.state = state;
        task.status = json!({"state": state, "timestamp": timestamp});
        let update = json!({"taskId": id, "contextId": task.context, "status": task.status});
        task.events.push(json!({"statusUpdate": update}));
        drop((tasks, ticks));
        self.tell(id, &json!({"statusUpdate": update}));
    }

    /// The task with at most so many messages of its history.
    pub(super) fn show(&self, id: &str, history: Option<u64>) -> Value {
        let task = self.lock()[id].clone();
        let mut out = json!({"id": id, "contextId": task.context, "status": task.status});
        let messages = task.history.as_array().cloned().unwrap_or_default();
        let most = history.map_or(messages.len(), |most| usize::try_from(most).unwrap_or(usize::MAX));
        if most > 0 {
            out["history"] = json!(messages[messages.len().saturating_sub(most)..]);
        }
        if task.artifacts != json!([]) {
            out["artifacts"] = task.artifacts;
        }
        out
    }
}
