//! One operation, several bindings: encodes a call for an interface's binding and reads what came back.
//!
//! Scenarios and checks speak of calls and replies only; a further binding is a further arm here.

use ostiary_canon::json::Limits;
use ostiary_record::{
    End, Route,
    ports::Outbound,
    view::{ExchangeView, FrameView},
};
use serde_json::Value;

use crate::{
    a2a::{
        binding::Binding,
        call::Call,
        error::A2aError,
        grpc, http_json, jsonrpc,
        reply::{Answer, Item, Reply},
        sse::{SseEvent, SseParser},
    },
    media_type::MediaType,
};

/// A call that cannot be made over a binding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// The binding has no codec.
    #[error(transparent)]
    Binding(#[from] UnsupportedBinding),
    /// The binding's messages cannot hold what the call says.
    #[error("the request cannot be said over gRPC: {0}")]
    Message(#[from] grpc::WriteError),
}

/// A binding that has no codec.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("calls over the binding `{0}` are not supported; supported are JSONRPC, HTTP+JSON and GRPC")]
pub struct UnsupportedBinding(pub String);

/// Most bytes of one streamed event that are read; the drivers' frame bound is the same.
pub const EVENT_BYTES: usize = 4 << 20;

/// Most values that are read of one answer, all its events together: in memory each takes many times its bytes.
pub const VALUES: u32 = Limits::WIRE.values;
/// What a map counts for: one of a single member has room for eleven.
pub(super) const MAP: u32 = 10;

/// The bindings that calls can be encoded for.
pub const SUPPORTED: [Binding; 3] = [Binding::JsonRpc, Binding::HttpJson, Binding::Grpc];

/// The bytes of a call.
///
/// # Errors
/// When the binding has no codec, or no way to say what the call says.
pub fn encode(binding: &Binding, call: &Call) -> Result<Outbound, EncodeError> {
    match binding {
        Binding::JsonRpc => Ok(jsonrpc::encode(call)),
        Binding::HttpJson => Ok(http_json::encode(call)),
        Binding::Grpc => Ok(grpc::encode(call)?),
        Binding::Custom(name) => Err(UnsupportedBinding(name.clone()).into()),
    }
}

/// The other form of a call, where the specification gives two and an answer of HTTP 404 or 405 says that this one is not
/// the agent's.
#[must_use]
pub fn alternative(binding: &Binding, call: &Call) -> Option<Outbound> {
    if *binding == Binding::HttpJson { http_json::alternative(call) } else { None }
}

/// The operation and the request message (in ProtoJSON) that a recorded request asked for; `None` where it is none.
#[must_use]
pub fn asked(binding: &Binding, exchange: &ExchangeView<'_>) -> Option<(String, Value)> {
    let body = exchange.request.as_bytes();
    match (binding, exchange.route) {
        (Binding::JsonRpc, _) => jsonrpc::asked(body),
        (Binding::HttpJson, Route::Http { method, path }) => {
            http_json::asked(method, path, body).map(|(name, request)| (name.to_owned(), request))
        }
        (Binding::Grpc, Route::Grpc { path }) => {
            grpc::asked(path, body).map(|(name, request)| (name.to_owned(), request))
        }
        _ => None,
    }
}

/// What came back in a recorded exchange.
///
/// # Errors
/// When the binding has no codec.
pub fn read(binding: &Binding, exchange: &ExchangeView<'_>) -> Result<Reply, UnsupportedBinding> {
    match binding {
        Binding::JsonRpc => {
            let asked = jsonrpc::request_id(exchange.request.as_bytes());
            Ok(read_http(exchange, |bytes| {
                let envelope = jsonrpc::decode(bytes, exchange.status());
                let echoes_id = asked.as_ref().is_none_or(|asked| envelope.echoes(asked));
                Decoded { answer: envelope.answer, echoes_id }
            }))
        }
        Binding::HttpJson => {
            let operation = exchange.intent.map(|op| op.0.as_str());
            Ok(read_http(exchange, |bytes| Decoded {
                answer: http_json::decode(bytes, exchange.status(), operation),
                echoes_id: true,
            }))
        }
        Binding::Grpc => Ok(grpc::reply(exchange)),
        Binding::Custom(name) => Err(UnsupportedBinding(name.clone())),
    }
}

/// The end of an answer that has more values than are read.
pub(super) fn too_many_values() -> End {
    End::Limit { which: "values".to_owned() }
}

/// One JSON text of an answer.
struct Decoded {
    answer: Answer,
    echoes_id: bool,
}

/// How many values an answer may still have.
struct Room(u32);

// === impl Room ===

impl Room {
    /// Takes a piece of JSON, if there is room for as many values as it can have: one before each comma, one in each
    /// bracket, and what a map counts for. What stands in texts is counted with them; prose comes nowhere near.
    fn takes(&mut self, json: &[u8]) -> bool {
        let begun = |byte: &u8| match byte {
            b'{' => MAP,
            b',' | b'[' => 1,
            _ => 0,
        };
        self.0 = json.iter().map(begun).fold(self.0, u32::saturating_sub);
        self.0 > 0
    }
}

/// Both bindings whose answers are JSON: one body, or an event stream of them.
fn read_http(exchange: &ExchangeView<'_>, decode: impl Fn(&[u8]) -> Decoded) -> Reply {
    let media_type = exchange.header("content-type").and_then(MediaType::parse);
    let streamed = media_type.as_ref().is_some_and(MediaType::is_event_stream);
    let mut room = Room(VALUES);
    let (items, cut) = if streamed {
        streamed_items(exchange, &mut room, decode)
    } else {
        (whole_item(exchange, &mut room, decode).into_iter().collect(), false)
    };
    Reply {
        status: exchange.status(),
        media_type,
        streamed,
        items,
        cut,
        end: if room.0 == 0 { Some(too_many_values()) } else { exchange.ended.map(|(end, _)| end.clone()) },
        decisive: exchange.decisive(),
    }
}

/// The one answer of a body that is no stream. A client error without an envelope is a refusal of another shape (a
/// gateway's, an authenticating proxy's); a server error without one is garbage.
fn whole_item(exchange: &ExchangeView<'_>, room: &mut Room, decode: impl Fn(&[u8]) -> Decoded) -> Option<Item> {
    let body = exchange.body();
    let status = exchange.status();
    let refused = status.filter(|s| (400..500).contains(s));
    let last = exchange.frames.last();
    let (seq, at) = last.map_or((exchange.decisive(), exchange.sent.at), |f| (f.seq, f.at));
    let item = |answer, echoes_id| Some(Item { seq, at, answer, echoes_id, event_id: None });
    let bare = |status| item(Answer::Error(A2aError::of_status(status)), true);
    if body.is_empty() {
        // of all empty answers one is right, and only the binding knows which
        let answered = exchange.complete().then(|| decode(&body)).filter(|d| matches!(d.answer, Answer::Result(_)));
        return refused.map_or_else(|| answered.and_then(|d| item(d.answer, d.echoes_id)), bare);
    }
    if !exchange.complete() {
        // what our own bound or patience cut off says nothing about the answer
        let theirs = matches!(exchange.ended, Some((End::PeerReset { .. } | End::NoConnection { .. }, _)));
        return theirs.then(|| item(Answer::Malformed("the body was cut off".to_owned()), false))?;
    }
    if !room.takes(&body) {
        return None;
    }
    let Decoded { answer, echoes_id } = decode(&body);
    match (answer, refused) {
        (Answer::Malformed(_), Some(status)) => bare(status),
        (Answer::Malformed(why), None) => item(
            Answer::Malformed(format!("HTTP {}, {}: {why}", status.unwrap_or_default(), media(exchange))),
            echoes_id,
        ),
        (answer, _) => item(answer, echoes_id),
    }
}

/// The content type for people, and the coding that nobody asked for: what is compressed is not unpacked.
fn media(exchange: &ExchangeView<'_>) -> String {
    let media = exchange.header("content-type").unwrap_or("no content type");
    match exchange.header("content-encoding") {
        Some(coding) => format!("{media} in the coding `{coding}`, which was not asked for"),
        None => media.to_owned(),
    }
}

/// The events of a stream, and whether its end cut the last one off.
fn streamed_items(
    exchange: &ExchangeView<'_>,
    room: &mut Room,
    decode: impl Fn(&[u8]) -> Decoded,
) -> (Vec<Item>, bool) {
    let mut parser = SseParser::new(EVENT_BYTES);
    let mut out = Vec::new();
    let malformed = |why: &str| Decoded { answer: Answer::Malformed(why.to_owned()), echoes_id: false };
    let item = |frame: &FrameView<'_>, decoded: Decoded, event_id| {
        let Decoded { answer, echoes_id } = decoded;
        Item { seq: frame.seq, at: frame.at, answer, echoes_id, event_id }
    };
    let read = |frame: &FrameView<'_>, event: SseEvent| {
        let decoded = if event.text().is_none() {
            malformed("an event is not UTF-8")
        } else if event.unterminated {
            // without its blank line an event is dispatched to nobody who reads by the rules, even where its data is whole
            malformed("the stream ended in the middle of an event")
        } else {
            decode(&event.data)
        };
        item(frame, decoded, event.id)
    };
    for frame in &exchange.frames {
        if !room.takes(frame.bytes.as_bytes()) {
            return (out, false);
        }
        match parser.push(frame.bytes.as_bytes()) {
            Ok(events) => out.extend(events.into_iter().map(|e| read(frame, e))),
            Err(error) => {
                out.push(item(frame, malformed(&error.to_string()), None));
                return (out, false);
            }
        }
    }
    let mut cut = false;
    if let (Some(event), Some(last)) = (parser.finish(), exchange.frames.last()) {
        cut = event.unterminated;
        out.push(read(last, event));
    }
    (out, cut)
}

#[cfg(test)]
mod tests;
