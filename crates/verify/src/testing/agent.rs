//! An honest A2A agent in memory: a transport that answers at once, in the shapes of the Python SDK.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use ostiary_record::Monotonic;
use serde_json::{Value, json};

use super::post::Post;

mod follow;
mod front;
mod list;
mod message;
mod push;
mod shaky;
mod task;
mod tokens;
mod wait;
mod wire;
mod work;

pub(crate) use push::RECEIVER;
pub(crate) use shaky::Shaky;

/// The agent behind its ports.
pub(crate) struct Honest(Arc<Agent>);

struct Agent {
    card: Value,
    makes_tasks: bool,
    tasks: Mutex<BTreeMap<String, Task>>,
    ticks: Mutex<u32>,
    configs: Mutex<Vec<push::Config>>,
    post: Post,
    clock: Arc<dyn Monotonic>,
}

#[derive(Clone)]
struct Task {
    tenant: String,
    context: String,
    wish: work::Wish,
    state: &'static str,
    status: Value,
    artifacts: Value,
    history: Value,
    /// What every stream of it brings, in order.
    events: Vec<Value>,
}

/// An answer before it is on the tape.
struct Answer {
    status: u16,
    media: &'static str,
    frames: Vec<String>,
    /// The task whose further events it brings, and the id of the request; `None` = it is whole.
    follows: Option<(String, Value)>,
    /// The task whose end it waits for, and the id of the request; `None` = it is there.
    waits: Option<(String, Value)>,
}

const TOKENS: [(&str, &str, &str); 4] = [
    ("allowed-user-a", "token-of-user-a", "tenant-a"),
    ("allowed-user-b", "token-of-user-b", "tenant-b"),
    ("expired-a", "token-expired", ""),
    ("foreign-a", "token-foreign", ""),
];

// === impl Honest ===

impl Honest {
    pub(crate) fn new(card: Value, makes_tasks: bool, clock: Arc<dyn Monotonic>) -> Self {
        let (tasks, ticks, configs) = Default::default();
        Self(Arc::new(Agent { card, makes_tasks, tasks, ticks, configs, post: Post::default(), clock }))
    }

    /// Where its push notifications go.
    pub(super) fn post(&self) -> &Post {
        &self.0.post
    }

    /// Lets time pass.
    pub(super) fn tick(&self) {
        self.0.tick();
    }
}

// === impl Answer ===

impl Answer {
    /// A whole one.
    fn of(status: u16, media: &'static str, frames: Vec<String>) -> Self {
        Self { status, media, frames, follows: None, waits: None }
    }
}

// === impl Agent ===

impl Agent {
    fn answer(&self, headers: &[(String, String)], body: &[u8], token: Option<&str>) -> Answer {
        let tenant = match self.tenant(token) {
            Some(tenant) => tenant,
            None => {
                return Answer::of(401, "application/json", vec![r#"{"detail":"no"}"#.into()]);
            }
        };
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            return error(&Value::Null, -32700, None);
        };
        let id = request["id"].clone();
        let Some(method) = request["method"].as_str() else { return error(&id, -32600, None) };
        if let Some(refusal) = self.turned_away(headers, &id) {
            return refusal;
        }
        self.dispatch(&id, method, &request["params"], &tenant)
    }

    fn dispatch(&self, id: &Value, method: &str, params: &Value, tenant: &str) -> Answer {
        if let Some(refusal) = front::no_message(id, params).filter(|_| method.starts_with("Send")) {
            return refusal;
        }
        match method {
            "GetTask" | "CancelTask" if !self.routed(params) => error(id, -32001, Some("TASK_NOT_FOUND")),
            "SendMessage" => self.send(id, params, tenant),
            "SendStreamingMessage" if self.card["capabilities"]["streaming"] == true => self.stream(id, params, tenant),
            "SubscribeToTask" if self.card["capabilities"]["streaming"] == true => self.subscribe(id, params, tenant),
            "SendStreamingMessage" | "SubscribeToTask" => error(id, -32004, Some("UNSUPPORTED_OPERATION")),
            push if push.contains("PushNotificationConfig") => self.on_push(id, push, params, tenant),
            "GetExtendedAgentCard" => self.extended_card(id),
            "ListTasks" => self.list(id, params, tenant),
            "GetTask" | "CancelTask" => self.on_task(id, method, params, tenant),
            _ => error(id, -32601, None),
        }
    }

    /// The caller's tenant; `None` = not let in.
    fn tenant(&self, token: Option<&str>) -> Option<String> {
        if self.card.get("securitySchemes").is_none() {
            return Some("public".to_owned());
        }
        let known = TOKENS.iter().find(|(_, secret, tenant)| token == Some(*secret) && !tenant.is_empty());
        known.map(|(.., tenant)| (*tenant).to_owned()).or_else(|| self.tenant_until(token?))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn envelope(id: &Value, member: &str, value: &Value) -> Value {
    json!({member: value, "id": id, "jsonrpc": "2.0"})
}

fn event(data: &str) -> String {
    format!("data: {data}\r\n\r\n")
}

fn result(id: &Value, value: &Value) -> Answer {
    Answer::of(200, "application/json", vec![envelope(id, "result", value).to_string()])
}

fn error(id: &Value, code: i64, reason: Option<&str>) -> Answer {
    let mut object = json!({"code": code, "message": "refused"});
    if let Some(reason) = reason {
        let kind = "type.googleapis.com/google.rpc.ErrorInfo";
        object["data"] = json!([{"@type": kind, "reason": reason, "domain": "a2a-protocol.org", "metadata": {}}]);
    }
    Answer::of(200, "application/json", vec![envelope(id, "error", &object).to_string()])
}

fn is_terminal(state: &str) -> bool {
    matches!(state, "TASK_STATE_COMPLETED" | "TASK_STATE_CANCELED" | "TASK_STATE_FAILED" | "TASK_STATE_REJECTED")
}
