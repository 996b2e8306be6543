//! An honest agent in a hundred lines: tasks by tenant, versions, a stream, a card.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body_util::{BodyExt, Full, StreamBody, combinators::UnsyncBoxBody};
use hyper::{
    body::{Frame, Incoming},
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::{net::TcpListener, sync::Notify, task::JoinSet};

pub const CARD: &str = r#"{"name": "planner",  "description":"Plans.", "capabilities": {"streaming": true},
  "supportedInterfaces": [{"url": "https://agents.example.com/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}]}"#;

type Body = UnsyncBoxBody<Bytes, Infallible>;

pub struct Agent {
    pub addr: SocketAddr,
    pub gate: Arc<Gate>,
    _serving: JoinSet<()>,
}

/// Holds streams back between events while it is shut.
#[derive(Default)]
pub struct Gate {
    pub shut: Mutex<bool>,
    pub opened: Notify,
}

#[derive(Default)]
struct State {
    /// Owner and task.
    tasks: BTreeMap<String, (String, Value)>,
}

impl Agent {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let gate = Arc::new(Gate::default());
        let mut serving = JoinSet::new();
        let shared = Arc::clone(&gate);
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((tcp, _)) = listener.accept().await {
                let (state, gate) = (Arc::clone(&state), Arc::clone(&shared));
                let service = service_fn(move |r| handle(r, Arc::clone(&state), Arc::clone(&gate)));
                let connection =
                    hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(tcp), service);
                connections.spawn(async move {
                    let _ = connection.await;
                });
            }
        });
        Self { addr, gate, _serving: serving }
    }
}

async fn handle(
    request: Request<Incoming>,
    state: Arc<Mutex<State>>,
    gate: Arc<Gate>,
) -> Result<Response<Body>, Infallible> {
    if request.uri().path() == "/.well-known/agent-card.json" {
        return Ok(answer(200, "application/json", CARD.into()));
    }
    if request.uri().path() == "/file" {
        return Ok(answer(200, "application/octet-stream", "\u{1}\u{2}raw".into()));
    }
    let field = |name: &str| request.headers().get(name).and_then(|v| v.to_str().ok()).map(str::to_owned);
    let (caller, version) = (field("authorization"), field("a2a-version"));
    let body = request.into_body().collect().await.unwrap().to_bytes();
    let call: Value = serde_json::from_slice(&body).unwrap();
    let Some(caller) = caller else {
        return Ok(answer(401, "text/plain", Bytes::new()));
    };
    let id = &call["id"];
    if version.as_deref() != Some("1.0") {
        return Ok(reply(id, Err((-32009, "version"))));
    }
    let stream = call["method"] == "SendStreamingMessage";
    match state.lock().unwrap().call(&caller, &call) {
        Ok(task) if stream => Ok(streamed(id, &task, gate)),
        result => Ok(reply(id, result)),
    }
}

impl State {
    fn call(&mut self, caller: &str, call: &Value) -> Result<Value, (i64, &'static str)> {
        let params = &call["params"];
        let known = |id: &Value| {
            let entry = self.tasks.get(id.as_str().unwrap_or_default());
            entry.filter(|(owner, _)| owner == caller).map(|(_, task)| task).ok_or((-32001, "no such task"))
        };
        match call["method"].as_str().unwrap() {
            "GetTask" => known(&params["id"]).cloned(),
            "CancelTask" => known(&params["id"]).and(Err((-32002, "finished already"))),
            "SubscribeToTask" => known(&params["id"]).and(Err((-32004, "finished already"))),
            "SendMessage" | "SendStreamingMessage" if params["message"].get("taskId").is_some() => {
                known(&params["message"]["taskId"]).and(Err((-32004, "finished already")))
            }
            method => {
                let id = format!("task-{}", self.tasks.len() + 1);
                let task = json!({
                    "id": id, "contextId": "context-1",
                    "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-03-01T10:00:02.000Z"},
                    "artifacts": [{"artifactId": "a", "parts": [{"data": {"plan_id": "p-1"}, "mediaType": "application/json"}]}],
                });
                self.tasks.insert(id, (caller.to_owned(), task.clone()));
                Ok(if method == "SendMessage" { json!({"task": task}) } else { task })
            }
        }
    }
}

fn streamed(id: &Value, task: &Value, gate: Arc<Gate>) -> Response<Body> {
    let update = |state: &str, second: u32| {
        let status = json!({"state": state, "timestamp": format!("2026-03-01T10:00:0{second}.000Z")});
        json!({"statusUpdate": {"taskId": task["id"], "contextId": task["contextId"], "status": status}})
    };
    let submitted = json!({"task": {"id": task["id"], "contextId": task["contextId"], "status": update("TASK_STATE_SUBMITTED", 0)["statusUpdate"]["status"]}});
    let artifact = json!({"artifactUpdate": {"taskId": task["id"], "contextId": task["contextId"], "artifact": task["artifacts"][0]}});
    let items = [submitted, update("TASK_STATE_WORKING", 1), artifact, update("TASK_STATE_COMPLETED", 2)];
    let mut blocks = vec![Bytes::from(": hello\r\n\r\n")];
    for (n, item) in items.iter().enumerate() {
        let envelope = json!({"jsonrpc": "2.0", "id": id, "result": item});
        blocks.push(format!("id: {n}\r\nevent: message\r\ndata: {envelope}\r\n\r\n").into());
    }
    let frames = stream::unfold((blocks.into_iter(), gate), |(mut blocks, gate)| async move {
        let block = blocks.next()?;
        let shut = *gate.shut.lock().unwrap();
        if shut {
            gate.opened.notified().await;
        }
        Some((Ok::<_, Infallible>(Frame::data(block)), (blocks, gate)))
    });
    let mut response = Response::new(StreamBody::new(frames).boxed_unsync());
    response.headers_mut().insert("content-type", "text/event-stream".parse().unwrap());
    response
}

fn reply(id: &Value, result: Result<Value, (i64, &'static str)>) -> Response<Body> {
    let envelope = match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
    };
    // Spaces that no serialiser of ours would write: passing as it is must keep them.
    answer(200, "application/json", format!("{envelope:#}").into())
}

fn answer(status: u16, media_type: &str, body: Bytes) -> Response<Body> {
    let mut response =
        Response::builder().status(status).header("content-type", media_type).header("X-Agent", "planner");
    if status == 401 {
        response = response.header("www-authenticate", "Bearer");
    }
    response.body(Full::new(body).boxed_unsync()).unwrap()
}
