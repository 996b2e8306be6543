//! One operation, several bindings: encodes a call for an interface's binding and reads what came back.
//!
//! Scenarios and checks speak of calls and replies only. HTTP+JSON and gRPC are further arms here.

use ostiary_record::{
    MonoNanos, Seq,
    ports::Outbound,
    view::{ExchangeView, FrameView},
};

use crate::{
    a2a::{
        binding::Binding,
        call::Call,
        error::A2aError,
        jsonrpc,
        reply::{Answer, Item, Reply},
        sse::{SseEvent, SseParser},
    },
    media_type::MediaType,
};

/// A binding that calls cannot be encoded for yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("calls over the binding `{0}` are not supported; supported is JSONRPC")]
pub struct UnsupportedBinding(pub String);

/// Most bytes of one streamed event that are read; the drivers' frame bound is the same.
pub const EVENT_BYTES: usize = 4 << 20;

/// The bindings that calls can be encoded for.
pub const SUPPORTED: [Binding; 1] = [Binding::JsonRpc];

/// The bytes of a call.
///
/// # Errors
/// When the binding has no codec yet.
pub fn encode(binding: &Binding, call: &Call) -> Result<Outbound, UnsupportedBinding> {
    match binding {
        Binding::JsonRpc => Ok(jsonrpc::encode(call)),
        Binding::HttpJson | Binding::Grpc | Binding::Custom(_) => Err(UnsupportedBinding(binding.as_str().to_owned())),
    }
}

/// What came back in a recorded exchange.
///
/// # Errors
/// When the binding has no codec yet.
pub fn read(binding: &Binding, exchange: &ExchangeView<'_>) -> Result<Reply, UnsupportedBinding> {
    match binding {
        Binding::JsonRpc => Ok(read_jsonrpc(exchange)),
        Binding::HttpJson | Binding::Grpc | Binding::Custom(_) => Err(UnsupportedBinding(binding.as_str().to_owned())),
    }
}

fn read_jsonrpc(exchange: &ExchangeView<'_>) -> Reply {
    let media_type = exchange.header("content-type").and_then(MediaType::parse);
    let streamed = media_type.as_ref().is_some_and(MediaType::is_event_stream);
    let asked = jsonrpc::request_id(exchange.request.as_bytes());
    let item = |seq, at, envelope: jsonrpc::Envelope| {
        let echoes_id = asked.as_ref().is_none_or(|asked| envelope.echoes(asked));
        Item { seq, at, answer: envelope.answer, echoes_id, event_id: None }
    };
    let items =
        if streamed { streamed_items(exchange, item) } else { whole_item(exchange, item).into_iter().collect() };
    Reply {
        status: exchange.status(),
        media_type,
        streamed,
        items,
        end: exchange.ended.map(|(end, _)| end.clone()),
        decisive: exchange.decisive(),
    }
}

/// The one answer of a body that is no stream. A client error without an envelope is a refusal of another shape (a
/// gateway's, an authenticating proxy's); a server error without one is garbage.
fn whole_item(exchange: &ExchangeView<'_>, item: impl Fn(Seq, MonoNanos, jsonrpc::Envelope) -> Item) -> Option<Item> {
    let body = exchange.body();
    let status = exchange.status();
    let refused = status.filter(|s| (400..500).contains(s));
    let last = exchange.frames.last();
    let (seq, at) = last.map_or((exchange.decisive(), exchange.sent.at), |f| (f.seq, f.at));
    let bare =
        |status| Item { seq, at, answer: Answer::Error(A2aError::of_status(status)), echoes_id: true, event_id: None };
    if body.is_empty() {
        return refused.map(bare);
    }
    if !exchange.complete() {
        return (exchange.ended.is_some()).then(|| {
            let why = "the body was cut off".to_owned();
            item(seq, at, jsonrpc::Envelope { id: None, answer: Answer::Malformed(why) })
        });
    }
    let envelope = jsonrpc::decode(&body, status);
    match (&envelope.answer, refused) {
        (Answer::Malformed(_), Some(status)) => Some(bare(status)),
        (Answer::Malformed(why), None) => {
            let media = exchange.header("content-type").unwrap_or("no content type");
            let why = format!("HTTP {}, {media}: {why}", status.unwrap_or_default());
            Some(item(seq, at, jsonrpc::Envelope { id: envelope.id, answer: Answer::Malformed(why) }))
        }
        _ => Some(item(seq, at, envelope)),
    }
}

fn streamed_items(exchange: &ExchangeView<'_>, item: impl Fn(Seq, MonoNanos, jsonrpc::Envelope) -> Item) -> Vec<Item> {
    let mut parser = SseParser::new(EVENT_BYTES);
    let mut out = Vec::new();
    let read = |frame: &FrameView<'_>, event: SseEvent| {
        let item = item(frame.seq, frame.at, of_event(&event, exchange));
        Item { event_id: event.id, ..item }
    };
    for frame in &exchange.frames {
        match parser.push(frame.bytes.as_bytes()) {
            Ok(events) => out.extend(events.into_iter().map(|e| read(frame, e))),
            Err(error) => {
                let answer = Answer::Malformed(error.to_string());
                out.push(item(frame.seq, frame.at, jsonrpc::Envelope { id: None, answer }));
                return out;
            }
        }
    }
    if let (Some(event), Some(last)) = (parser.finish(), exchange.frames.last()) {
        out.push(read(last, event));
    }
    out
}

fn of_event(event: &SseEvent, exchange: &ExchangeView<'_>) -> jsonrpc::Envelope {
    if event.text().is_none() {
        let answer = Answer::Malformed("an event is not UTF-8".to_owned());
        return jsonrpc::Envelope { id: None, answer };
    }
    // without its blank line an event is dispatched to nobody who reads by the rules, even where its data is whole
    if event.unterminated {
        let answer = Answer::Malformed("the stream ended in the middle of an event".to_owned());
        return jsonrpc::Envelope { id: None, answer };
    }
    jsonrpc::decode(&event.data, exchange.status())
}

#[cfg(test)]
mod tests;
