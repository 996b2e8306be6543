//! Whatever somebody serves, reading it ends, and ends without a panic.

use ostiary_protocol::a2a::{
    Card, StreamItem, TaskView,
    leak::{LeakRules, leaks},
    sse::SseParser,
    {digest, jsonrpc},
};
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

proptest! {
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
