//! One story with an agent, driven through the real driver and recorded.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use ostiary_drivers::{AddressGuard, HttpTransport, Settings};
use ostiary_record::{
    ActorId, Axes, Blob, DocumentName, Kind, MonoNanos, Monotonic, Recording, Route, ScenarioId, Source, Tape,
    TargetId,
    ports::{Actor, Carrier, Channel, Deadline, Fetch, Limits, Next, Outbound, Target, Transport},
    view::ExchangeView,
};
use serde_json::{Value, json};

struct Clock(Instant);

impl Monotonic for Clock {
    fn now(&self) -> MonoNanos {
        MonoNanos(self.0.elapsed().as_nanos() as u64)
    }
}

pub fn tape() -> Tape {
    #[expect(clippy::disallowed_methods, reason = "the tests' one clock")]
    let start = Instant::now();
    Tape::new(Arc::new(Clock(start)))
}

pub fn transport() -> HttpTransport {
    let settings = Settings { allow_insecure_http: true, guard: AddressGuard::off(), ..Settings::default() };
    HttpTransport::new(settings).unwrap()
}

/// The steps of the story, in order: who, with which version, does what.
pub const STEPS: [&str; 10] = [
    "send",
    "stream",
    "get",
    "send_to_finished",
    "get_unknown",
    "send_without_version",
    "foreign_get",
    "foreign_cancel",
    "anonymous_send",
    "subscribe_finished",
];

fn call(method: &str, params: &Value, version: Option<&str>) -> Outbound {
    let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
    headers.extend(version.map(|v| ("A2A-Version".to_owned(), v.to_owned())));
    let body = json!({"jsonrpc": "2.0", "id": "7", "method": method, "params": params});
    let route = Route::Http { method: "POST".into(), path: String::new() };
    Outbound { route, headers, body: Bytes::from(body.to_string()), intent: None }
}

fn step(name: &str) -> (&'static str, Outbound) {
    let message = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "plan"}]}});
    let finished = json!({"message": {"messageId": "m", "taskId": "task-1", "role": "ROLE_USER", "parts": []}});
    let task = json!({"id": "task-1"});
    match name {
        "send" => ("a", call("SendMessage", &message, Some("1.0"))),
        "stream" => ("a", call("SendStreamingMessage", &message, Some("1.0"))),
        "get" => ("a", call("GetTask", &task, Some("1.0"))),
        "send_to_finished" => ("a", call("SendMessage", &finished, Some("1.0"))),
        "get_unknown" => ("a", call("GetTask", &json!({"id": "task-none"}), Some("1.0"))),
        "send_without_version" => ("a", call("SendMessage", &message, None)),
        "foreign_get" => ("b", call("GetTask", &task, Some("1.0"))),
        "foreign_cancel" => ("b", call("CancelTask", &task, Some("1.0"))),
        "anonymous_send" => ("anonymous", call("SendMessage", &message, Some("1.0"))),
        "subscribe_finished" => ("a", call("SubscribeToTask", &task, Some("1.0"))),
        other => panic!("no step {other}"),
    }
}

/// Opens a channel as an actor.
pub async fn open(tape: &Tape, addr: &str, actor: &str) -> Box<dyn Channel> {
    let credential = ("Authorization".to_owned(), format!("Bearer token-{actor}"));
    let credentials = if actor == "anonymous" { vec![] } else { vec![credential] };
    let actor = Actor { id: ActorId::from(actor), credentials };
    let target =
        Target { id: TargetId::from("interface-0"), url: format!("http://{addr}/a2a"), carrier: Carrier::Http };
    transport().open(tape, &target, &actor, Limits::default()).await.unwrap()
}

/// One step on an open tape, to its end.
pub async fn play(tape: &Tape, addr: &str, name: &str) {
    let (actor, out) = step(name);
    let mut channel = open(tape, addr, actor).await;
    let x = channel.start(out);
    loop {
        match channel.next(Deadline(MonoNanos(tape.now().0 + 10_000_000_000))).await {
            Next::Event(event) if matches!(&event.kind, Kind::Ended { x: at, .. } if *at == x) => return,
            Next::Event(_) => {}
            other => panic!("{name}: {other:?}"),
        }
    }
}

/// Starts the streaming step and gives its open channel.
pub async fn start_stream(tape: &Tape, addr: &str) -> Box<dyn Channel> {
    let mut channel = open(tape, addr, "a").await;
    channel.start(step("stream").1);
    channel
}

pub fn recorded(tape: &Tape) -> Recording {
    Recording { scenario: ScenarioId::from("story"), axes: Axes::default(), seed: 1, events: tape.events() }
}

/// The whole story, with the card as a document.
pub async fn drive(addr: &str) -> Recording {
    let tape = tape();
    let url = format!("http://{addr}/.well-known/agent-card.json");
    let card = transport().get(&url, &[], Limits::default()).await.unwrap();
    tape.push(Source::Script, Kind::Document { name: DocumentName::from("agent-card.json"), bytes: Blob(card.body) });
    for name in STEPS {
        play(&tape, addr, name).await;
    }
    recorded(&tape)
}

/// One exchange of the story.
#[derive(Debug, PartialEq)]
pub struct Told {
    pub status: u16,
    pub media_type: String,
    pub frames: Vec<String>,
    pub complete: bool,
}

impl Told {
    fn of(view: &ExchangeView<'_>) -> Self {
        Self {
            status: view.status().unwrap_or_default(),
            media_type: view.header("content-type").unwrap_or_default().to_owned(),
            frames: view.frames.iter().map(|f| f.bytes.as_str().unwrap().to_owned()).collect(),
            complete: view.complete(),
        }
    }

    /// The JSON of each piece that has some.
    pub fn values(&self) -> Vec<Value> {
        let data = |frame: &String| {
            let line = frame.lines().find_map(|l| l.strip_prefix("data: "));
            serde_json::from_str(line.unwrap_or(frame)).ok()
        };
        self.frames.iter().filter_map(data).collect()
    }

    pub fn result(&self) -> Value {
        self.values()[0]["result"].clone()
    }

    /// The states that a stream goes through.
    pub fn states(&self) -> Vec<String> {
        let status = |v: &Value| {
            let status = v.pointer("/result/statusUpdate/status").or_else(|| v.pointer("/result/task/status"))?;
            Some(status["state"].as_str()?.trim_start_matches("TASK_STATE_").to_owned())
        };
        self.values().iter().filter_map(status).collect()
    }
}

pub fn tell(recording: &Recording) -> Vec<Told> {
    recording.exchanges().iter().map(Told::of).collect()
}

pub fn of<'a>(told: &'a [Told], step: &str) -> &'a Told {
    &told[STEPS.iter().position(|s| *s == step).unwrap()]
}

pub fn card(recording: &Recording) -> Value {
    serde_json::from_slice(recording.document("agent-card.json").unwrap().0.as_bytes()).unwrap()
}
