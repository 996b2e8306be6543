use ostiary_record::{
    ActorId, Axes, Blob, ChannelId, Event, ExchangeId, Kind, MonoNanos, Recording, Seq, Source, TargetId,
    event::RawHeaders,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::a2a::{
    error::ErrorKind,
    operation::{Operation, SendMessage, UserMessage},
    reply::Silence,
};

/// What came back: head fields beside the content type, frames, trailers, and how it ended.
struct Came {
    status: Option<u16>,
    media: &'static str,
    head: Vec<(&'static str, &'static str)>,
    frames: Vec<Vec<u8>>,
    trailers: Option<Vec<(&'static str, &'static str)>>,
    end: Option<End>,
}

impl Default for Came {
    fn default() -> Self {
        let trailers = Some(vec![("grpc-status", "0")]);
        let (head, frames) = (vec![], vec![]);
        Self { status: Some(200), media: "application/grpc+proto", head, frames, trailers, end: Some(End::Complete) }
    }
}

fn fields(list: &[(&str, &str)]) -> RawHeaders {
    list.iter().map(|(n, v)| ((*n).to_owned(), Blob::from((*v).to_owned()))).collect()
}

fn reply(method: &str, came: &Came) -> Reply {
    let x = ExchangeId(0);
    let route = Route::Grpc { path: format!("/{SERVICE}/{method}") };
    let mut kinds = vec![
        Kind::Opened { target: TargetId("t".into()), actor: ActorId("a".into()) },
        Kind::Sent { x, route, headers: vec![], bytes: Blob::from(Bytes::new()), intent: Some(method.into()) },
    ];
    if let Some(status) = came.status {
        let mut headers = fields(&[("content-type", came.media)]);
        headers.extend(fields(&came.head));
        kinds.push(Kind::Head { x, status, headers });
    }
    for (n, frame) in (0..).zip(&came.frames) {
        kinds.push(Kind::Frame { x, n, bytes: Blob::from(frame.clone()) });
    }
    kinds.extend(came.trailers.as_ref().map(|list| Kind::Trailers { x, headers: fields(list) }));
    kinds.extend(came.end.clone().map(|how| Kind::Ended { x, how }));
    let event = |(n, kind)| {
        let from = Source::Wire(ChannelId("c".into()));
        Event { seq: Seq(n), at: MonoNanos(n * 10), from, kind }
    };
    let events = (0..).zip(kinds).map(event).collect();
    let recording = Recording { scenario: "s".into(), axes: Axes::default(), seed: 0, events };
    super::reply(&recording.exchanges()[0])
}

fn task(state: &str) -> Value {
    json!({"id": "t", "contextId": "c", "status": {"state": state, "timestamp": "2026-11-30T09:52:29.752361Z"}})
}

fn frame(message: &schema::Message, value: &Value) -> Vec<u8> {
    framed(&write(message, value).unwrap()).to_vec()
}

fn response(method: &str, value: &Value) -> Vec<u8> {
    frame(Method::named(method).unwrap().response, value)
}

#[test]
fn a_call_is_one_message_with_its_prefix_and_the_version_in_lower_case() {
    let message = UserMessage { message_id: "m".into(), parts: vec![json!({"text": "hi"})], ..UserMessage::default() };
    let call = Call {
        tenant: Some("acme".into()),
        ..Call::new(Operation::SendMessage(SendMessage { message, ..SendMessage::default() }))
    };
    let out = encode(&call).unwrap();
    assert_eq!(out.route, Route::Grpc { path: "/lf.a2a.v1.A2AService/SendMessage".into() });
    assert!(out.headers.contains(&("a2a-version".to_owned(), "1.0".to_owned())));
    assert!(out.headers.contains(&("te".to_owned(), "trailers".to_owned())));
    // tenant = 1, message = 2 {messageId = 1, role = 4, parts = 5 {text = 1}}
    let bytes = b"\x0a\x04acme\x12\x0b\x0a\x01m\x20\x01\x2a\x04\x0a\x02hi";
    assert_eq!(unframed(&out.body), Ok(&bytes[..]));
    let (operation, request) = asked("/lf.a2a.v1.A2AService/SendMessage", &out.body).unwrap();
    assert_eq!((operation, &request["message"]["parts"][0]), ("SendMessage", &json!({"text": "hi"})));
}

#[test]
fn every_operation_can_be_said_and_is_read_back() {
    for name in Operation::NAMES {
        let method = Method::named(name).unwrap();
        let members = method.request.fields.iter().filter_map(|f| match f.kind {
            schema::Kind::Text if f.rule != schema::Rule::List => Some((f.json.to_owned(), json!("x"))),
            schema::Kind::Int32 => Some((f.json.to_owned(), json!(0))),
            _ => None,
        });
        let request = Value::Object(members.collect());
        let body = frame(method.request, &request);
        let (operation, read) = asked(&method.path(), &body).unwrap();
        assert_eq!(operation, name);
        for (member, value) in request.as_object().unwrap() {
            let default = method.request.named(member).unwrap().rule == schema::Rule::Plain && *value == json!(0);
            assert!(read[member] == *value || default, "{name}.{member}: {read}");
        }
    }
}

#[test]
fn what_has_no_room_in_a_message_is_refused_with_its_place() {
    let odd = UserMessage { parts: vec![json!({"kind": "text", "text": "x"})], ..UserMessage::default() };
    let call = Call::new(Operation::SendMessage(SendMessage { message: odd, ..SendMessage::default() }));
    let error = encode(&call).unwrap_err();
    assert_eq!((error.path.as_str(), error.why.as_str()), ("message.parts.0", "Part has no member `kind`"));
}

#[test]
fn all_kinds_of_values_survive_the_way_there_and_back() {
    let metadata =
        json!({"n": null, "yes": true, "i": 3, "f": 0.5, "s": "é", "l": [1, [], {}], "o": {"deep": [{"x": -1}]}});
    let part = |part: Value| json!({"artifactId": "a", "parts": [part], "metadata": metadata});
    let parts =
        [json!({"text": ""}), json!({"raw": "AP8="}), json!({"url": "u", "filename": "f"}), json!({"data": null})];
    for one in parts {
        let value = json!({"taskId": "t", "contextId": "c", "artifact": part(one), "append": true});
        let message = schema::ALL.iter().find(|m| m.name == "TaskArtifactUpdateEvent").unwrap();
        assert_eq!(read(message, &write(message, &value).unwrap()).unwrap(), value);
    }
    let card = schema::ALL.iter().find(|m| m.name == "AgentCard").unwrap();
    let value = json!({
        "name": "n", "description": "", "version": "1", "supportedInterfaces": [], "defaultInputModes": [],
        "defaultOutputModes": [], "skills": [], "capabilities": {"streaming": false},
        "securitySchemes": {"b": {"httpAuthSecurityScheme": {"scheme": "Bearer"}}},
        "securityRequirements": [{"schemes": {"b": {"list": ["s"]}, "c": {}}}],
    });
    assert_eq!(read(card, &write(card, &value).unwrap()).unwrap(), value, "`false` that is said stays said");
}

#[test]
fn states_and_times_are_read_as_protojson_writes_them() {
    let message = Method::named("GetTask").unwrap().response;
    let read = |status: &[u8]| {
        let mut bytes = b"\x0a\x01t".to_vec();
        wire::put_bytes(&mut bytes, 3, status);
        read(message, &bytes).map(|v| v["status"].clone())
    };
    assert_eq!(read(b"\x08\x03").unwrap(), json!({"state": "TASK_STATE_COMPLETED"}));
    assert_eq!(read(b"\x08\x63").unwrap(), json!({"state": 99}));
    assert_eq!(read(b"").unwrap(), json!({"state": "TASK_STATE_UNSPECIFIED"}), "on this binding absent is the default");
    assert_eq!(read(b"\x1a\x02\x08\x01").unwrap()["timestamp"], json!("1970-01-01T00:00:01Z"));
    assert!(read(b"\x1a\x06\x08\x80\x80\x80\x80\x10").is_ok_and(|s| s["timestamp"].is_string()));
    let far = read(b"\x1a\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x01").unwrap_err();
    assert_eq!(far.path, "status.timestamp");
    assert_eq!(
        read(b"\x0a\x01x").unwrap_err().to_string(),
        "status.state: it is bytes with a length, which this field cannot be"
    );
}

#[test]
fn pieces_of_one_message_are_one_message() {
    let message = Method::named("GetTask").unwrap().response;
    // status in two pieces: its state, then its time
    let value = read(message, b"\x0a\x01t\x1a\x02\x08\x03\x1a\x04\x1a\x02\x08\x01").unwrap();
    assert_eq!(value["status"], json!({"state": "TASK_STATE_COMPLETED", "timestamp": "1970-01-01T00:00:01Z"}));
}

#[test]
fn a_unary_answer_is_its_message() {
    let wrapped = json!({"task": task("TASK_STATE_COMPLETED")});
    let got = reply("SendMessage", &Came { frames: vec![response("SendMessage", &wrapped)], ..Came::default() });
    assert_eq!(got.result(), Some((&wrapped, Seq(3))));
    assert!(!got.streamed);
    let empty =
        reply("DeleteTaskPushNotificationConfig", &Came { frames: vec![framed(b"").to_vec()], ..Came::default() });
    assert_eq!(empty.result().unwrap().0, &json!({}));
}

#[test]
fn messages_of_a_stream_cite_their_own_events() {
    let update = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": "TASK_STATE_WORKING"}}});
    let frames = vec![
        response("SendStreamingMessage", &json!({"task": task("TASK_STATE_SUBMITTED")})),
        response("SendStreamingMessage", &update),
    ];
    let got = reply("SendStreamingMessage", &Came { frames: frames.clone(), ..Came::default() });
    assert!(got.streamed);
    assert_eq!(got.items.iter().map(|i| i.seq).collect::<Vec<_>>(), [Seq(3), Seq(4)]);
    assert!(got.stream_items().all(|(_, item)| item.is_ok()));
    let failed = Came { frames, trailers: Some(vec![("grpc-status", "13")]), ..Came::default() };
    let got = reply("SendStreamingMessage", &failed);
    assert_eq!(
        (got.items.len(), got.error().unwrap().0.label()),
        (3, "INTERNAL (no error of the specification)".into())
    );
    let none = reply("SendStreamingMessage", &Came::default());
    assert!(none.streamed && none.silence() == Some(Silence::Empty));
}

#[test]
fn an_error_in_the_head_alone_is_an_error() {
    let head = vec![("grpc-status", "5"), ("grpc-message", "no")];
    let only = || Came { head: head.clone(), trailers: None, ..Came::default() };
    let got = reply("GetTask", &only());
    assert_eq!(got.error().unwrap().0.kind(), Some(ErrorKind::TaskNotFound));
    assert_eq!(got.error().unwrap().1, Seq(2));
    assert!(!reply("SendStreamingMessage", &only()).streamed, "an error before the first event is no stream");
    let busy = Came { head: vec![("grpc-status", "8")], trailers: None, ..Came::default() };
    assert!(reply("GetTask", &busy).is_rate_limited());
}

#[test]
fn what_is_no_answer_of_grpc_is_named() {
    let why = |came: &Came| reply("GetTask", came).malformed().map(|(why, _)| why.to_owned()).unwrap_or_default();
    let task = || response("GetTask", &task("TASK_STATE_WORKING"));
    let with = |frames: Vec<Vec<u8>>| Came { frames, ..Came::default() };
    assert!(why(&Came { trailers: None, ..with(vec![task()]) }).contains("without `grpc-status`"));
    assert!(why(&with(vec![])).contains("no message came"));
    assert!(why(&with(vec![task(), task()])).contains("2 messages"));
    let status = |text| Came { trailers: Some(vec![("grpc-status", text)]), ..with(vec![task()]) };
    let malformed = reply("GetTask", &status("many"));
    assert!(malformed.malformed().unwrap().0.contains("no number"));
    assert!(why(&Came { media: "application/json", ..Came::default() }).contains("HTTP 200, application/json"));
    assert!(why(&Came { status: Some(502), media: "text/html", ..Came::default() }).contains("HTTP 502"));
    let gateway = reply("GetTask", &Came { status: Some(401), media: "text/html", ..Came::default() });
    assert_eq!(gateway.error().unwrap().0.kind(), Some(ErrorKind::Unauthenticated));
    assert!(why(&with(vec![b"\x01\0\0\0\x01x".to_vec()])).contains("compressed"));
    assert!(why(&with(vec![b"\x07\0\0\0\x01x".to_vec()])).contains("no flag"));
    assert!(why(&with(vec![b"\0\0\0\0\x09x".to_vec()])).contains("9 bytes ended after 1"));
    assert!(why(&with(vec![b"\0\0".to_vec()])).contains("before a message"));
    assert!(why(&with(vec![framed(b"\x0a\x02\xff\xff").to_vec()])).contains("Task: id: the text is not UTF-8"));
}

#[test]
fn what_we_cut_off_is_not_the_agents_fault() {
    let half = || vec![b"\0\x40\0\0\0x".to_vec()];
    let came = |end| Came { frames: half(), trailers: None, end, ..Came::default() };
    let limit = reply("SendStreamingMessage", &came(Some(End::Limit { which: "frame_bytes".into() })));
    assert_eq!(limit.silence(), Some(Silence::Limit("frame_bytes".into())));
    let reset = reply("SendStreamingMessage", &came(Some(End::PeerReset { why: "RST_STREAM".into() })));
    assert!(reset.malformed().unwrap().0.contains("ended after"));
    let broken = Came { frames: vec![response("GetTask", &task("TASK_STATE_WORKING"))], ..came(Some(End::Deadline)) };
    assert_eq!(
        reply("GetTask", &broken).silence(),
        Some(Silence::Deadline),
        "a unary call without an ending has no answer"
    );
}

proptest! {
    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for message in schema::ALL {
            let _ = read(message, &bytes);
        }
    }

    #[test]
    fn what_is_read_can_be_written_and_read_again(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let message = Method::named("SendMessage").unwrap().request;
        if let Ok(value) = read(message, &bytes)
            && let Ok(again) = write(message, &value)
        {
            prop_assert_eq!(read(message, &again).unwrap(), value);
        }
    }
}

#[test]
fn messages_that_lie_too_deep_are_refused() {
    let mut value = b"\x08\x00".to_vec();
    for _ in 0..400 {
        let (mut list, mut outer) = (Vec::new(), Vec::new());
        wire::put_bytes(&mut list, 1, &value);
        wire::put_bytes(&mut outer, 6, &list);
        value = outer;
    }
    let part = schema::ALL.iter().find(|m| m.name == "Part").unwrap();
    let mut bytes = Vec::new();
    wire::put_bytes(&mut bytes, 4, &value);
    assert!(read(part, &bytes).unwrap_err().why.contains("too deep"));
}

#[test]
fn more_values_than_are_read_are_a_bound_of_ours() {
    // `tasks` is field 1: two bytes each, and each is a task with all that it must have
    let list = [&framed(&[0x0a, 0].repeat(60_000))[..]].concat();
    let got = reply("ListTasks", &Came { frames: vec![list], ..Came::default() });
    assert_eq!(got.silence(), Some(Silence::Limit("values".into())));
}

#[test]
fn a_stream_that_ends_within_a_message_is_cut() {
    let whole = response("SubscribeToTask", &json!({"task": task("TASK_STATE_WORKING")}));
    for end in [End::Complete, End::PeerReset { why: "reset".to_owned() }] {
        for half in [whole[..whole.len() - 3].to_vec(), whole[..2].to_vec()] {
            let came =
                Came { frames: vec![whole.clone(), half], trailers: None, end: Some(end.clone()), ..Came::default() };
            let got = reply("SubscribeToTask", &came);
            assert!(got.cut);
            assert_eq!(got.items.len(), 2);
            assert!(matches!(got.items[1].answer, Answer::Malformed(_)));
        }
    }
    assert!(!reply("SubscribeToTask", &Came { frames: vec![whole], ..Came::default() }).cut);
}
