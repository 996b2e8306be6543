//! Tasks: made, moved on, shown, read and canceled.

use std::sync::PoisonError;

use serde_json::{Value, json};

use super::{Agent, Answer, Task, envelope, error, is_terminal, result};

// === impl Agent ===

impl Agent {
    pub(super) fn on_task(&self, id: &Value, method: &str, params: &Value, tenant: &str) -> Answer {
        let Some(task) = params["id"].as_str() else {
            let violations = json!([{"field": "id", "description": "required"}]);
            let data = json!([{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]);
            let object = json!({"code": -32602, "message": "Invalid parameters", "data": data});
            return Answer { frames: vec![envelope(id, "error", &object).to_string()], ..error(id, -32602, None) };
        };
        let seen = self.lock().get(task).filter(|t| t.tenant == tenant).map(|t| t.state);
        match (seen, method) {
            (None, _) => error(id, -32001, Some("TASK_NOT_FOUND")),
            (Some(state), "CancelTask") if is_terminal(state) => error(id, -32002, Some("TASK_NOT_CANCELABLE")),
            (Some(_), "CancelTask") => {
                self.set(task, "TASK_STATE_CANCELED");
                result(id, &self.show(task))
            }
            (Some(state), _) => {
                if !is_terminal(state) {
                    self.advance(task);
                }
                result(id, &self.show(task))
            }
        }
    }

    pub(super) fn create(&self, params: &Value, tenant: &str) -> String {
        let mut tasks = self.lock();
        let task = format!("3512472e-9b1c-4c55-8d60-{:012x}", tasks.len() + 1);
        let (history, artifacts) = (json!([params["message"]]), json!([]));
        let new = Task { tenant: tenant.to_owned(), state: "", status: json!({}), artifacts, history };
        tasks.insert(task.clone(), new);
        drop(tasks);
        self.set(&task, "TASK_STATE_SUBMITTED");
        task
    }

    pub(super) fn advance(&self, task: &str) {
        let state = self.lock()[task].state;
        if state == "TASK_STATE_SUBMITTED" {
            return self.set(task, "TASK_STATE_WORKING");
        }
        let data = json!({"plan_id": "plan-1", "status": "draft"});
        let artifact = json!({"artifactId": "a1", "name": "plan", "parts": [{"data": data}]});
        self.lock().get_mut(task).expect("made by this agent").artifacts = json!([artifact]);
        self.set(task, "TASK_STATE_COMPLETED");
    }

    pub(super) fn set(&self, id: &str, state: &'static str) {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        *ticks += 1;
        let timestamp = format!("2026-11-30T09:{:02}:{:02}.752361Z", *ticks / 60 % 60, *ticks % 60);
        let mut tasks = self.lock();
        let task = tasks.get_mut(id).expect("made by this agent");
        task.state = state;
        task.status = json!({"state": state, "timestamp": timestamp});
        let status = task.status.clone();
        drop((tasks, ticks));
        self.tell(id, &json!({"statusUpdate": {"taskId": id, "contextId": "c1", "status": status}}));
    }

    pub(super) fn show(&self, id: &str) -> Value {
        let task = self.lock()[id].clone();
        let mut out = json!({"id": id, "contextId": "c1", "status": task.status, "history": task.history});
        if task.artifacts != json!([]) {
            out["artifacts"] = task.artifacts;
        }
        out
    }
}
