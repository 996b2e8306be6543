//! What came back for a request: a body, an event stream, lines; read leniently, each thing with its place.

use ostiary_record::{
    End, Seq,
    view::{ExchangeView, FrameView},
};
use serde_json::Value;

use super::{
    error::RpcError,
    message::{Flaw, Message},
};
use crate::{a2a::sse::SseParser, media_type::MediaType};

/// Most bytes of one event; the drivers' frame bound is the same.
const EVENT_BYTES: usize = 4 << 20;

/// What came back for one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// HTTP status; none over stdio.
    pub status: Option<u16>,
    /// Everything that was said, in order.
    pub items: Vec<Item>,
    /// What it comes to.
    pub answer: Answer,
    /// The last event id, from which a stream may be resumed.
    pub last_event: Option<String>,
}

/// One thing that was said.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The event that brought its end.
    pub seq: Seq,
    /// What it says.
    pub message: Message,
}

/// What a reply comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A result.
    Result(Value),
    /// A JSON-RPC error.
    Error(RpcError),
    /// An answer to another request, or to none: the id that came instead.
    WrongId(String),
    /// Something that is no JSON-RPC answer.
    Malformed(String),
    /// Accepted, with nothing to say: notifications.
    Accepted,
    /// Nothing.
    Nothing(String),
}

/// What a reply is read from; the same on a tape and while it comes.
#[derive(Clone, Copy, Debug)]
pub struct Heard<'a> {
    /// HTTP status; none over stdio.
    pub status: Option<u16>,
    /// The media type of the body.
    pub content_type: Option<&'a str>,
    /// How it ended, if it has.
    pub end: Option<&'a End>,
}

// === impl Reply ===

impl Reply {
    /// Reads a recorded exchange.
    #[must_use]
    pub fn of(exchange: &ExchangeView<'_>) -> Self {
        let heard = Heard {
            status: exchange.status(),
            content_type: exchange.header("content-type"),
            end: exchange.ended.map(|(end, _)| end),
        };
        let frames = exchange.frames.iter().map(|FrameView { seq, bytes, .. }| (*seq, bytes.as_bytes()));
        Self::read(request_id(exchange.request.as_bytes()).as_ref(), heard, frames)
    }

    /// Reads what came for the request with this id; `None` = a notification, or what has no readable id.
    #[must_use]
    pub fn read<'f>(id: Option<&Value>, heard: Heard<'_>, frames: impl Iterator<Item = (Seq, &'f [u8])>) -> Self {
        let streamed = heard.content_type.and_then(MediaType::parse).is_some_and(|m| m.is_event_stream());
        let mut last_event = None;
        let items = match heard.status {
            None => frames.map(|(seq, line)| Item { seq, message: Message::read(line) }).collect(),
            Some(_) if streamed => events(frames, &mut last_event),
            Some(_) => whole(frames).into_iter().collect(),
        };
        let answer = answer(id, heard, &items);
        Self { status: heard.status, items, answer, last_event }
    }

    /// What is wrong with the envelope of the answer.
    #[must_use]
    pub fn flaws(&self) -> Vec<Flaw> {
        let flaws = |item: &Item| if let Message::Response(r) = &item.message { r.flaws.clone() } else { Vec::new() };
        self.items.iter().flat_map(flaws).collect()
    }
}

// === impl Answer ===

impl Answer {
    /// What it is, for people: `an error -32601 (Method not found)`.
    #[must_use]
    pub fn describe(&self) -> String {
        match self {
            Self::Result(_) => "a result".to_owned(),
            Self::Error(error) => {
                let code = error.code.map_or_else(|| "without code".to_owned(), |code| code.to_string());
                let text = error.message.as_deref().unwrap_or("no message");
                format!("an error {code} ({})", text.chars().take(200).collect::<String>())
            }
            Self::WrongId(id) => format!("an answer with the id {id}, which nothing was asked with"),
            Self::Malformed(why) => format!("no JSON-RPC answer: {why}"),
            Self::Accepted => "nothing but acceptance".to_owned(),
            Self::Nothing(why) => format!("no answer: {why}"),
        }
    }
}

/// The `id` of a request body, as sent.
#[must_use]
pub fn request_id(body: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(body).ok()?.get("id").cloned()
}

fn whole<'f>(frames: impl Iterator<Item = (Seq, &'f [u8])>) -> Option<Item> {
    let (mut body, mut last) = (Vec::new(), None);
    for (seq, bytes) in frames {
        body.extend_from_slice(bytes);
        last = Some(seq);
    }
    Some(Item { seq: last?, message: Message::read(&body) })
}

fn events<'f>(frames: impl Iterator<Item = (Seq, &'f [u8])>, last_event: &mut Option<String>) -> Vec<Item> {
    let mut parser = SseParser::new(EVENT_BYTES);
    let (mut items, mut last) = (Vec::new(), Seq(0));
    let mut take = |event: crate::a2a::sse::SseEvent, seq: Seq| {
        if let Some(id) = event.id.filter(|id| !id.is_empty()) {
            *last_event = Some(id);
        }
        // a priming event of 2025-11-25 has an id and nothing else to say
        (!event.data.is_empty()).then(|| Item { seq, message: Message::read(&event.data) })
    };
    for (seq, bytes) in frames {
        last = seq;
        match parser.push(bytes) {
            Ok(events) => items.extend(events.into_iter().filter_map(|event| take(event, seq))),
            Err(error) => {
                items.push(Item { seq, message: Message::Malformed { why: error.to_string() } });
                return items;
            }
        }
    }
    items.extend(parser.finish().and_then(|event| take(event, last)));
    items
}

fn answer(id: Option<&Value>, heard: Heard<'_>, items: &[Item]) -> Answer {
    let responses = || items.iter().filter_map(|i| if let Message::Response(r) = &i.message { Some(r) } else { None });
    let outcome = |outcome: &Result<Value, RpcError>| match outcome {
        Ok(result) => Answer::Result(result.clone()),
        Err(error) => Answer::Error(error.clone()),
    };
    if let Some(own) = responses().find(|r| id.is_none() || same(r.id.as_ref(), id)) {
        return outcome(&own.outcome);
    }
    // an error about a request that could not be read has no id to repeat (JSON-RPC 2.0 §5)
    let unnamed = |r: &&super::message::Response| r.outcome.is_err() && r.id.as_ref().is_none_or(Value::is_null);
    if let Some(unread) = responses().find(unnamed) {
        return outcome(&unread.outcome);
    }
    if let Some(other) = responses().next() {
        return Answer::WrongId(other.id.as_ref().map_or_else(|| "(none)".to_owned(), Value::to_string));
    }
    let wrong = items.iter().find_map(|i| match &i.message {
        Message::Malformed { why } | Message::Noise { why } => Some(why.clone()),
        _ => None,
    });
    // what was cut off, by them or by a bound of ours, is no answer however it reads
    let cut = heard.end.is_some_and(|end| *end != End::Complete);
    match (wrong.filter(|_| !cut), heard.status) {
        (Some(why), Some(status)) => Answer::Malformed(format!("HTTP {status}, {why}")),
        (Some(why), None) => Answer::Malformed(why),
        (None, Some(status)) if id.is_none() && (200..300).contains(&status) => Answer::Accepted,
        (None, None) if id.is_none() && heard.end == Some(&End::Complete) => Answer::Accepted,
        (None, status) => Answer::Nothing(absent(status, heard.end)),
    }
}

/// Ids are compared as JSON, a number as a number: `1.0` is `1`.
fn same(got: Option<&Value>, asked: Option<&Value>) -> bool {
    match (got, asked) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => a == b || a.as_f64() == b.as_f64(),
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

fn absent(status: Option<u16>, end: Option<&End>) -> String {
    let how = match end {
        None => "it has not ended".to_owned(),
        Some(End::Complete) => "it ended without an answer".to_owned(),
        Some(End::Deadline) => "nothing came within the time".to_owned(),
        Some(End::LocalAbort) => "we broke off".to_owned(),
        Some(End::Limit { which }) => format!("the bound `{which}` was hit"),
        Some(End::PeerReset { why } | End::NoConnection { why }) => why.clone(),
    };
    status.map_or_else(|| how.clone(), |status| format!("HTTP {status}, {how}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn http(status: u16, kind: &str, frames: &[&str]) -> Reply {
        let heard = Heard { status: Some(status), content_type: Some(kind), end: Some(&End::Complete) };
        read(heard, frames)
    }

    fn read(heard: Heard<'_>, frames: &[&str]) -> Reply {
        let frames = frames.iter().enumerate().map(|(n, text)| (Seq(n as u64), text.as_bytes()));
        Reply::read(Some(&json!(1)), heard, frames)
    }

    const OK: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#;

    #[test]
    fn a_body_a_stream_and_a_line_say_the_same() {
        let expect = Answer::Result(json!({"a": 1}));
        assert_eq!(http(200, "application/json", &[&OK[..9], &OK[9..]]).answer, expect);
        let note = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\n\n";
        let reply = http(
            200,
            "text/event-stream; charset=utf-8",
            &[": hi\n\n", "id: 7\ndata:\n\n", note, &format!("data: {OK}\n\n")],
        );
        assert_eq!((reply.answer, reply.items.len(), reply.last_event.as_deref()), (expect.clone(), 2, Some("7")));
        let lines = Heard { status: None, content_type: None, end: Some(&End::Complete) };
        assert_eq!(read(lines, &[&format!("{OK}\n")]).answer, expect);
    }

    #[test]
    fn an_answer_to_something_else_is_no_answer() {
        let other = r#"{"jsonrpc":"2.0","id":"1","result":{}}"#;
        assert_eq!(http(200, "application/json", &[other]).answer, Answer::WrongId("\"1\"".to_owned()));
        let unread = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#;
        assert!(matches!(http(400, "application/json", &[unread]).answer, Answer::Error(e) if e.code == Some(-32700)));
        let double = r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#;
        assert_eq!(http(200, "application/json", &[double]).answer, Answer::Result(json!({})));
    }

    #[test]
    fn what_is_no_answer_is_named_with_its_status() {
        assert_eq!(http(404, "text/html", &[]).answer.describe(), "no answer: HTTP 404, it ended without an answer");
        let page = http(502, "text/html", &["<html>"]).answer;
        assert!(matches!(&page, Answer::Malformed(why) if why.starts_with("HTTP 502")), "{page:?}");
        let cut = Heard { status: Some(200), content_type: Some("text/event-stream"), end: Some(&End::Deadline) };
        assert_eq!(read(cut, &[]).answer.describe(), "no answer: HTTP 200, nothing came within the time");
        let bound = End::Limit { which: "frame_bytes".to_owned() };
        let cut = Heard { status: Some(200), content_type: Some("application/json"), end: Some(&bound) };
        assert_eq!(read(cut, &[&OK[..9]]).answer.describe(), "no answer: HTTP 200, the bound `frame_bytes` was hit");
    }

    #[test]
    fn a_notification_is_accepted_by_a_status() {
        let heard = Heard { status: Some(202), content_type: None, end: Some(&End::Complete) };
        assert_eq!(Reply::read(None, heard, std::iter::empty()).answer, Answer::Accepted);
    }
}
