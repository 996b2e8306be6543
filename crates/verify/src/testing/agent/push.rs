//! Push notifications: configurations kept, changes told, sent once more where the receiver could not take them.

use serde_json::{Value, json};

use super::{Agent, Answer, error, result};

/// A configuration of a task.
#[derive(Clone)]
pub(super) struct Config {
    task: String,
    value: Value,
}

/// The only receiver that this agent calls; everything else may be somebody's own network.
pub(crate) const RECEIVER: &str = "https://hooks.example.test";
/// How often it tries.
const ATTEMPTS: usize = 2;

// === impl Agent ===

impl Agent {
    pub(super) fn on_push(&self, id: &Value, method: &str, params: &Value, tenant: &str) -> Answer {
        if self.card["capabilities"]["pushNotifications"] != true {
            return error(id, -32003, Some("PUSH_NOTIFICATION_NOT_SUPPORTED"));
        }
        let task = params["taskId"].as_str().unwrap_or_default();
        if self.lock().get(task).is_none_or(|t| t.tenant != tenant) {
            return error(id, -32001, Some("TASK_NOT_FOUND"));
        }
        let named = |config: &Config| config.task == task && config.value["id"] == params["id"];
        let of_task = |config: &&Config| config.task == task;
        match method {
            "CreateTaskPushNotificationConfig" => match self.keep(task, params) {
                Some(kept) => result(id, &kept),
                None => error(id, -32602, None),
            },
            "GetTaskPushNotificationConfig" => match self.configs().iter().find(|c| named(c)) {
                Some(config) => result(id, &config.value),
                None => error(id, -32001, Some("TASK_NOT_FOUND")),
            },
            "ListTaskPushNotificationConfigs" => {
                let configs: Vec<Value> = self.configs().iter().filter(of_task).map(|c| c.value.clone()).collect();
                result(id, &json!({"configs": configs}))
            }
            _ => {
                self.configs().retain(|c| !named(c));
                result(id, &Value::Null)
            }
        }
    }

    /// Keeps a configuration, as it is told; `None` = its address is refused.
    pub(super) fn keep(&self, task: &str, config: &Value) -> Option<Value> {
        if !config["url"].as_str()?.starts_with(&format!("{RECEIVER}/")) {
            return None;
        }
        let mut value = config.clone();
        value["taskId"] = json!(task);
        let mut configs = self.configs();
        if value.get("id").is_none() {
            value["id"] = json!(format!("push-{}", configs.len() + 1));
        }
        configs.push(Config { task: task.to_owned(), value: value.clone() });
        Some(value)
    }

    /// Tells everybody who asked for it.
    pub(super) fn tell(&self, task: &str, item: &Value) {
        let of_task: Vec<Config> = self.configs().iter().filter(|c| c.task == task).cloned().collect();
        for config in of_task {
            for _ in 0..ATTEMPTS {
                if self.post.take(&config.value, item) == Some(200) {
                    break;
                }
            }
        }
    }

    /// Time passes for tasks at work: each reports its progress.
    pub(super) fn tick(&self) {
        let at_work: Vec<String> =
            self.lock().iter().filter(|(_, t)| t.state == "TASK_STATE_WORKING").map(|(id, _)| id.clone()).collect();
        at_work.iter().for_each(|task| self.set(task, "TASK_STATE_WORKING"));
    }

    fn configs(&self) -> std::sync::MutexGuard<'_, Vec<Config>> {
        self.configs.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
