//! Messages: sent and waited for, sent and streamed.

use serde_json::{Value, json};

use super::{Agent, Answer, envelope, error, event, result};

// === impl Agent ===

impl Agent {
    pub(super) fn send(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
        if !self.makes_tasks {
            let parts = json!([{"data": {"plan_id": "p1", "status": "draft"}}]);
            let message = json!({"messageId": "r1", "contextId": "c1", "role": "ROLE_AGENT", "parts": parts});
            return result(id, &json!({"message": message}));
        }
        if let Some(task) = params["message"]["taskId"].as_str() {
            let known = self.lock().get(task).is_some_and(|t| t.tenant == tenant);
            let (code, reason) = if known { (-32004, "UNSUPPORTED_OPERATION") } else { (-32001, "TASK_NOT_FOUND") };
            return error(id, code, Some(reason));
        }
        let task = self.create(params, tenant);
        let push = &params["configuration"]["taskPushNotificationConfig"];
        let pushes = self.card["capabilities"]["pushNotifications"] == true;
        if pushes && push.is_object() && self.keep(&task, push).is_none() {
            return error(id, -32602, None);
        }
        if params["configuration"]["returnImmediately"] != true {
            self.advance(&task);
            self.advance(&task);
        }
        let mut shown = self.show(&task);
        if let Some(most) = params["configuration"]["historyLength"].as_u64() {
            let history = shown["history"].as_array_mut().expect("a task has a history");
            history.truncate(usize::try_from(most).expect("a small number"));
        }
        result(id, &json!({"task": shown}))
    }

    pub(super) fn stream(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
        if !self.makes_tasks {
            let whole = self.send(id, params, tenant).frames.remove(0);
            return Answer { status: 200, media: "text/event-stream", frames: vec![event(&whole)] };
        }
        let task = self.create(params, tenant);
        let update = |agent: &Self| {
            let status = agent.lock()[&task].status.clone();
            json!({"statusUpdate": {"taskId": task, "contextId": "c1", "status": status}})
        };
        let mut items = vec![json!({"task": self.show(&task)})];
        self.advance(&task);
        items.push(update(self));
        self.advance(&task);
        let artifact = self.lock()[&task].artifacts[0].clone();
        items.push(json!({"artifactUpdate": {"taskId": task, "contextId": "c1", "artifact": artifact}}));
        items.push(update(self));
        let frames = items.iter().map(|i| event(&envelope(id, "result", i).to_string())).collect();
        Answer { status: 200, media: "text/event-stream", frames }
    }
}
