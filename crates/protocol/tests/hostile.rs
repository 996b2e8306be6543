//! Whatever somebody serves, reading it ends, and ends without a panic.

use ostiary_protocol::a2a::{
    Binding, Card, StreamItem, TaskView, codec,
    leak::{LeakRules, leaks},
    sse::SseParser,
    {digest, jsonrpc},
};
use ostiary_record::{Axes, Blob, ChannelId, End, Event, ExchangeId, Kind, MonoNanos, Recording, Route, Seq, Source};
use proptest::prelude::*;
use serde_json::{Map, Value};

/// Names that cards, tasks and envelopes give meaning to, so that wrong types meet the code that reads them.
const NAMES: [&str; 24] = [
    "name",
    "skills",
    "capabilities",
    "supportedInterfaces",
    "url",
    "protocolVersion",
    "protocolBinding",
    "id",
    "tags",
    "securitySchemes",
    "securityRequirements",
    "schemes",
    "extensions",
    "task",
    "status",
    "state",
    "artifacts",
    "parts",
    "message",
    "statusUpdate",
    "error",
    "result",
    "data",
    "jsonrpc",
];

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-zA-Z0-9 ./:~_-]{0,12}".prop_map(Value::from),
        Just(Value::from("1.0")),
        Just(Value::from("TASK_STATE_WORKING")),
    ];
    leaf.prop_recursive(5, 48, 6, |inner| {
        let member = (prop::sample::select(NAMES.to_vec()), inner.clone());
        prop_oneof![
            prop::collection::vec(inner, 0..5).prop_map(Value::from),
            prop::collection::vec(member, 0..7)
                .prop_map(|m| Value::Object(m.into_iter().map(|(n, v)| (n.to_owned(), v)).collect::<Map<_, _>>())),
        ]
    })
}

/// Pieces of answers, good and bad, and noise.
fn frame() -> impl Strategy<Value = Vec<u8>> {
    let known: Vec<&[u8]> = vec![
        b"data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"task\":{\"id\":\"t\"}}}\n\n",
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32001,\"data\":[1]}}",
        b"{\"task\":{\"id\":\"t\",\"status\":{\"state\":7}}}",
        b"\xef\xbb\xbfdata: {}\r\r",
        b"data\n\nid: \0\n: x\n\ndata:",
        b"\0\0\0\0\x04\x0a\x02\x0a\0",
        b"\x01\xff\xff\xff\xff",
        b"\0\0\0",
        b"",
    ];
    let noise = prop::collection::vec(any::<u8>(), 0..60);
    prop_oneof![prop::sample::select(known).prop_map(<[u8]>::to_vec), noise]
}

fn end() -> impl Strategy<Value = Option<End>> {
    prop::sample::select(vec![
        None,
        Some(End::Complete),
        Some(End::Deadline),
        Some(End::LocalAbort),
        Some(End::PeerReset { why: String::new() }),
        Some(End::Limit { which: "frames".to_owned() }),
    ])
}

fn field() -> impl Strategy<Value = (String, Blob)> {
    let names = ["content-type", "content-encoding", "grpc-status", "grpc-message", "grpc-status-details-bin"];
    let values = ["text/event-stream", "application/json", "application/grpc", "0", "5", "99", "%zz", "CAUSAA"];
    let value = prop_oneof![
        prop::sample::select(values.to_vec()).prop_map(Blob::from),
        prop::collection::vec(any::<u8>(), 0..12).prop_map(Blob::from),
    ];
    (prop::sample::select(names.to_vec()).prop_map(str::to_owned), value)
}

proptest! {
    #[test]
    fn any_frames_and_fields_can_be_read_over_any_binding(
        status in prop::option::of(prop::sample::select(vec![100_u16, 200, 204, 302, 404, 429, 503, 999])),
        head in prop::collection::vec(field(), 0..4),
        frames in prop::collection::vec(frame(), 0..5),
        trailers in prop::option::of(prop::collection::vec(field(), 0..4)),
        end in end(),
        method in prop::sample::select(vec!["SendMessage", "SendStreamingMessage", "ListTasks", "Nothing"]),
    ) {
        let x = ExchangeId(0);
        for binding in codec::SUPPORTED {
            let route = match binding {
                Binding::Grpc => Route::Grpc { path: format!("/lf.a2a.v1.A2AService/{method}") },
                _ => Route::Http { method: "POST".to_owned(), path: String::new() },
            };
            let bytes = Blob::from(frames.concat());
            let mut kinds = vec![Kind::Sent { x, route, headers: vec![], bytes, intent: Some(method.into()) }];
            kinds.extend(status.map(|status| Kind::Head { x, status, headers: head.clone() }));
            kinds.extend((0..).zip(&frames).map(|(n, f)| Kind::Frame { x, n, bytes: Blob::from(f.clone()) }));
            kinds.extend(trailers.clone().map(|headers| Kind::Trailers { x, headers }));
            kinds.extend(end.clone().map(|how| Kind::Ended { x, how }));
            let event = |(n, kind)| Event {
                seq: Seq(n), at: MonoNanos(n), from: Source::Wire(ChannelId(String::new())), kind,
            };
            let events = (0..).zip(kinds).map(event).collect();
            let recording = Recording { scenario: "s".into(), axes: Axes::default(), seed: 0, events };
            let exchanges = recording.exchanges();
            let reply = codec::read(&binding, &exchanges[0]).expect("the binding has a codec");
            let (_, _) = (codec::asked(&binding, &exchanges[0]), reply.is_rate_limited());
            prop_assert!(reply.silence().is_some() != reply.first().is_some());
            for (_, item) in reply.stream_items() {
                let _ = item.map(|item| item.task_id().map(str::len));
            }
        }
    }

    #[test]
    fn any_json_can_be_judged_as_a_card(value in json()) {
        let card = Card::new(value);
        let _ = card.format();
        for problem in card.problems() {
            prop_assert!(problem.pointer.is_empty() || problem.pointer.starts_with('/'));
            prop_assert!(!problem.what.is_empty());
        }
        let (_, _, _) = (card.interfaces(), card.skills(), card.extensions());
        prop_assert!(card.declares_security() || !card.demands_credential());
        let _ = digest::card_digest(card.value());
    }

    #[test]
    fn any_json_can_be_read_as_an_answer(value in json()) {
        let envelope = jsonrpc::decode(value.to_string().as_bytes(), Some(200));
        let _ = envelope.echoes(&Value::from(1));
        if let Ok(item) = StreamItem::read(&value) {
            let _ = (item.task_id(), item.status().map(|s| (s.written(), s.timestamp())));
        }
        if let Some(task) = TaskView::of(&value) {
            let _ = (task.state(), task.artifacts(), task.history());
        }
        let _ = leaks(&value, &LeakRules::default());
        let error = jsonrpc::error_of(&value, None);
        let _ = (error.kind(), error.label(), error.contradicts_itself());
    }

    #[test]
    fn any_bytes_can_be_read_as_a_stream(bytes in prop::collection::vec(any::<u8>(), 0..400), cut in 0_usize..400) {
        let cut = cut.min(bytes.len());
        let read = |pieces: &[&[u8]]| {
            let mut parser = SseParser::new(1 << 12);
            let mut out = Vec::new();
            for piece in pieces {
                out.extend(parser.push(piece).expect("the bytes are below the bound"));
            }
            out.extend(parser.finish());
            out
        };
        prop_assert_eq!(read(&[&bytes]), read(&[&bytes[..cut], &bytes[cut..]]));
        let _ = jsonrpc::decode(&bytes, None);
    }
}
