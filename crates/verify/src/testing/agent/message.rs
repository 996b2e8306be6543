//! Messages: sent and waited for, sent and streamed.

use serde_json::{Value, json};

use super::{Agent, Answer, envelope, error, event, result};

// === impl Agent ===

impl Agent {
    pub(super) fn send(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
        if !self.makes_tasks {
            let parts = json!([{"data": {"plan_id": "p1", "status": "draft"}}]);
            let context = params["message"]["contextId"].as_str().unwrap_or("c1");
            let message = json!({"messageId": "r1", "contextId": context, "role": "ROLE_AGENT", "parts": parts});
            return result(id, &json!({"message": message}));
        }
        let message = &params["message"];
        let task = match message["taskId"].as_str() {
            None => self.create(params, tenant),
            Some(task) => {
                let known = self.lock().get(task).filter(|t| t.tenant == tenant).map(|t| (t.state, t.context.clone()));
                let Some((state, context)) = known else { return error(id, -32001, Some("TASK_NOT_FOUND")) };
                if message["contextId"].as_str().is_some_and(|given| given != context) {
                    return error(id, -32602, Some("INVALID_PARAMS"));
                }
                if state != "TASK_STATE_INPUT_REQUIRED" {
                    return error(id, -32004, Some("UNSUPPORTED_OPERATION"));
                }
                self.go_on(task, message);
                task.to_owned()
            }
        };
        let push = &params["configuration"]["taskPushNotificationConfig"];
        let pushes = self.card["capabilities"]["pushNotifications"] == true;
        if pushes && push.is_object() && self.keep(&task, push).is_none() {
            return error(id, -32602, None);
        }
        if params["configuration"]["returnImmediately"] != true {
            if self.lock()[&task].wish.is_long() {
                return Answer { waits: Some((task, id.clone())), ..Answer::of(200, "application/json", Vec::new()) };
            }
            self.run(&task);
        }
        let history = params["configuration"]["historyLength"].as_u64();
        result(id, &json!({"task": self.show(&task, history)}))
    }

    pub(super) fn stream(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
        if !self.makes_tasks {
            let whole = self.send(id, params, tenant).frames.remove(0);
            return Answer::of(200, "text/event-stream", vec![event(&whole)]);
        }
        let task = self.create(params, tenant);
        let mut answer = self.following(id, &task);
        if self.lock()[&task].wish.is_long() {
            return answer;
        }
        let told = self.lock()[&task].events.len();
        self.run(&task);
        let items = self.lock()[&task].events[told..].to_vec();
        answer.frames.extend(items.iter().map(|i| event(&envelope(id, "result", i).to_string())));
        answer.follows = None;
        answer
    }
}
