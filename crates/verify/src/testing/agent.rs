//! An honest A2A agent in memory: a transport that answers at once, in the shapes of the Python SDK.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

use ostiary_record::{
    ActorId, Blob, ChannelId, End, Event, ExchangeId, Kind, Source, Tape,
    ports::{
        Abort, Actor, BoxFuture, Channel, CouldNotRun, Deadline, Identity, Limits, Next, Outbound, Target, Transport,
    },
};
use serde_json::{Value, json};

/// The agent behind its ports.
pub(crate) struct Honest(Arc<Agent>);

struct Agent {
    card: Value,
    makes_tasks: bool,
    tasks: Mutex<BTreeMap<String, Task>>,
    ticks: Mutex<u32>,
}

#[derive(Clone)]
struct Task {
    tenant: String,
    state: &'static str,
    status: Value,
    artifacts: Value,
    history: Value,
}

/// An answer before it is on the tape.
struct Answer {
    status: u16,
    media: &'static str,
    frames: Vec<String>,
}

struct Connection {
    agent: Arc<Agent>,
    tape: Tape,
    source: Source,
    credentials: Vec<(String, String)>,
    queue: VecDeque<Event>,
}

const TOKENS: [(&str, &str, &str); 4] = [
    ("allowed-user-a", "token-of-user-a", "tenant-a"),
    ("allowed-user-b", "token-of-user-b", "tenant-b"),
    ("expired-a", "token-expired", ""),
    ("foreign-a", "token-foreign", ""),
];

// === impl Honest ===

impl Honest {
    pub(crate) fn new(card: Value, makes_tasks: bool) -> Self {
        Self(Arc::new(Agent { card, makes_tasks, tasks: Mutex::default(), ticks: Mutex::default() }))
    }
}

// === impl Agent ===

impl Agent {
    fn answer(&self, headers: &[(String, String)], body: &[u8], token: Option<&str>) -> Answer {
        let tenant = match self.tenant(token) {
            Some(tenant) => tenant,
            None => {
                return Answer { status: 401, media: "application/json", frames: vec![r#"{"detail":"no"}"#.into()] };
            }
        };
        let Ok(request) = serde_json::from_slice::<Value>(body) else {
            return error(&Value::Null, -32700, None);
        };
        let id = request["id"].clone();
        let Some(method) = request["method"].as_str() else { return error(&id, -32600, None) };
        let version = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case("a2a-version"));
        if version.is_none_or(|(_, v)| v != "1.0") {
            return error(&id, -32009, Some("VERSION_NOT_SUPPORTED"));
        }
        self.dispatch(&id, method, &request["params"], &tenant)
    }

    fn dispatch(&self, id: &Value, method: &str, params: &Value, tenant: &str) -> Answer {
        match method {
            "SendMessage" => self.send(id, params, tenant),
            "SendStreamingMessage" if self.card["capabilities"]["streaming"] == true => self.stream(id, params, tenant),
            "SendStreamingMessage" => error(id, -32004, Some("UNSUPPORTED_OPERATION")),
            "CreateTaskPushNotificationConfig" => error(id, -32003, Some("PUSH_NOTIFICATION_NOT_SUPPORTED")),
            "GetExtendedAgentCard" => error(id, -32004, Some("UNSUPPORTED_OPERATION")),
            "GetTask" | "CancelTask" => self.on_task(id, method, params, tenant),
            _ => error(id, -32601, None),
        }
    }

    fn send(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
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
        if params["configuration"]["returnImmediately"] != true {
            self.advance(&task);
            self.advance(&task);
        }
        result(id, &json!({"task": self.show(&task)}))
    }

    fn stream(&self, id: &Value, params: &Value, tenant: &str) -> Answer {
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

    fn on_task(&self, id: &Value, method: &str, params: &Value, tenant: &str) -> Answer {
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

    fn create(&self, params: &Value, tenant: &str) -> String {
        let mut tasks = self.lock();
        let task = format!("3512472e-9b1c-4c55-8d60-{:012x}", tasks.len() + 1);
        let (history, artifacts) = (json!([params["message"]]), json!([]));
        let new = Task { tenant: tenant.to_owned(), state: "", status: json!({}), artifacts, history };
        tasks.insert(task.clone(), new);
        drop(tasks);
        self.set(&task, "TASK_STATE_SUBMITTED");
        task
    }

    fn advance(&self, task: &str) {
        let state = self.lock()[task].state;
        if state == "TASK_STATE_SUBMITTED" {
            return self.set(task, "TASK_STATE_WORKING");
        }
        let data = json!({"plan_id": "plan-1", "status": "draft"});
        let artifact = json!({"artifactId": "a1", "name": "plan", "parts": [{"data": data}]});
        self.lock().get_mut(task).expect("made by this agent").artifacts = json!([artifact]);
        self.set(task, "TASK_STATE_COMPLETED");
    }

    fn set(&self, task: &str, state: &'static str) {
        let mut ticks = self.ticks.lock().unwrap_or_else(PoisonError::into_inner);
        *ticks += 1;
        let timestamp = format!("2026-11-30T09:{:02}:{:02}.752361Z", *ticks / 60 % 60, *ticks % 60);
        let mut tasks = self.lock();
        let task = tasks.get_mut(task).expect("made by this agent");
        task.state = state;
        task.status = json!({"state": state, "timestamp": timestamp});
    }

    fn show(&self, id: &str) -> Value {
        let task = self.lock()[id].clone();
        let mut out = json!({"id": id, "contextId": "c1", "status": task.status, "history": task.history});
        if task.artifacts != json!([]) {
            out["artifacts"] = task.artifacts;
        }
        out
    }

    /// The caller's tenant; `None` = not let in.
    fn tenant(&self, token: Option<&str>) -> Option<String> {
        if self.card.get("securitySchemes").is_none() {
            return Some("public".to_owned());
        }
        let known = TOKENS.iter().find(|(_, secret, tenant)| token == Some(*secret) && !tenant.is_empty());
        known.map(|(.., tenant)| (*tenant).to_owned())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Transport for Honest {
    fn open<'a>(
        &'a self,
        tape: &'a Tape,
        target: &'a Target,
        actor: &'a Actor,
        _: Limits,
    ) -> BoxFuture<'a, Result<Box<dyn Channel>, CouldNotRun>> {
        let source = Source::Wire(ChannelId(format!("http-{}", actor.id)));
        tape.push(source.clone(), Kind::Opened { target: target.id.clone(), actor: actor.id.clone() });
        let (agent, tape, credentials) = (Arc::clone(&self.0), tape.clone(), actor.credentials.clone());
        let connection = Connection { agent, tape, source, credentials, queue: VecDeque::new() };
        Box::pin(async move { Ok(Box::new(connection) as Box<dyn Channel>) })
    }
}

impl Identity for Honest {
    fn actor<'a>(&'a self, subject: &'a ActorId) -> BoxFuture<'a, Result<Option<Actor>, CouldNotRun>> {
        let token = TOKENS.iter().find(|(name, ..)| *name == subject.0);
        let actor = token.map(|(_, secret, _)| Actor {
            id: subject.clone(),
            credentials: vec![("authorization".to_owned(), format!("Bearer {secret}"))],
        });
        Box::pin(async move { Ok(actor) })
    }
}

// === impl Connection ===

impl Connection {
    fn push(&mut self, kind: Kind) {
        let event = self.tape.push(self.source.clone(), kind);
        self.queue.push_back(event);
    }
}

impl Channel for Connection {
    fn start(&mut self, out: Outbound) -> ExchangeId {
        let x = self.tape.next_exchange();
        let headers = out.headers.iter().chain(&self.credentials);
        let headers = headers.map(|(n, v)| (n.clone(), Blob::from(v.clone()))).collect();
        let bytes = Blob(out.body.clone());
        self.tape.push(self.source.clone(), Kind::Sent { x, route: out.route, headers, bytes, intent: out.intent });
        let token = self.credentials.first().map(|(_, v)| v.trim_start_matches("Bearer ").to_owned());
        let answer = self.agent.answer(&out.headers, &out.body, token.as_deref());
        let headers = vec![("content-type".to_owned(), Blob::from(answer.media))];
        self.push(Kind::Head { x, status: answer.status, headers });
        for (n, frame) in (0..).zip(answer.frames) {
            self.push(Kind::Frame { x, n, bytes: Blob::from(frame) });
        }
        self.push(Kind::Ended { x, how: End::Complete });
        x
    }

    fn next(&mut self, _: Deadline) -> BoxFuture<'_, Next> {
        let next = self.queue.pop_front().map_or(Next::Idle, Next::Event);
        Box::pin(async move { next })
    }

    fn abort(&mut self, _: ExchangeId, _: Abort) {}
}

fn envelope(id: &Value, member: &str, value: &Value) -> Value {
    json!({member: value, "id": id, "jsonrpc": "2.0"})
}

fn event(data: &str) -> String {
    format!("data: {data}\r\n\r\n")
}

fn result(id: &Value, value: &Value) -> Answer {
    Answer { status: 200, media: "application/json", frames: vec![envelope(id, "result", value).to_string()] }
}

fn error(id: &Value, code: i64, reason: Option<&str>) -> Answer {
    let mut object = json!({"code": code, "message": "refused"});
    if let Some(reason) = reason {
        let kind = "type.googleapis.com/google.rpc.ErrorInfo";
        object["data"] = json!([{"@type": kind, "reason": reason, "domain": "a2a-protocol.org", "metadata": {}}]);
    }
    Answer { status: 200, media: "application/json", frames: vec![envelope(id, "error", &object).to_string()] }
}

fn is_terminal(state: &str) -> bool {
    matches!(state, "TASK_STATE_COMPLETED" | "TASK_STATE_CANCELED")
}
