//! The gRPC binding (§10): one message out, messages in, and an ending in the trailers.
//!
//! Bodies and frames are the bytes of DATA as they are on the wire: each message with its five bytes of prefix. So a
//! request can lie about its length, and an answer that does is seen.

use std::cell::Cell;

use bytes::Bytes;
use ostiary_record::{
    End, OpName, Route,
    ports::Outbound,
    view::{ExchangeView, FrameView},
};

use crate::{
    a2a::{
        call::Call,
        codec::{VALUES, too_many_values},
        error::A2aError,
        reply::{Answer, Item, Reply},
    },
    media_type::MediaType,
};

pub use read::{ReadError, read, read_within};
pub use schema::Method;
pub use status::Ending;
pub use write::{WriteError, write};

mod read;
pub mod schema;
pub mod status;
pub mod wire;
mod write;

/// The service.
pub const SERVICE: &str = "lf.a2a.v1.A2AService";
/// Bytes before each message: whether it is compressed, and its length.
pub const PREFIX: usize = 5;

/// The request of a call.
///
/// # Errors
/// When the request holds what its message has no room for.
pub fn encode(call: &Call) -> Result<Outbound, WriteError> {
    let name = call.operation.name();
    let method = Method::named(name).expect("every operation is a method, as a test shows");
    let message = write(method.request, &call.operation.request(call.tenant.as_deref()))?;
    Ok(raw(call, method.path(), framed(&message), Some(OpName::from(name))))
}

/// A request whose path and bytes are given: for what is wrong on purpose.
#[must_use]
pub fn raw(call: &Call, path: String, body: Bytes, intent: Option<OpName>) -> Outbound {
    let plain = [("content-type", "application/grpc"), ("te", "trailers")];
    let mut headers: Vec<_> = plain.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
    headers.extend(call.service_headers().into_iter().map(|(n, v)| (n.to_ascii_lowercase(), v)));
    Outbound { route: Route::Grpc { path }, headers, body, intent }
}

/// A message with its prefix.
#[must_use]
pub fn framed(message: &[u8]) -> Bytes {
    let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
    let mut out = Vec::with_capacity(PREFIX + message.len());
    out.push(0);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(message);
    Bytes::from(out)
}

/// The message behind its prefix.
///
/// # Errors
/// When the prefix says something else than what is there; why, for people.
pub fn unframed(frame: &[u8]) -> Result<&[u8], String> {
    let Some((prefix, message)) = frame.split_first_chunk::<PREFIX>() else {
        return Err(format!("the stream ended within the {PREFIX} bytes before a message"));
    };
    let [flag, length @ ..] = *prefix;
    let length = u32::from_be_bytes(length);
    match flag {
        0 => {}
        1 => return Err("a message is compressed, and no compression was agreed on".to_owned()),
        other => return Err(format!("a message begins with {other}, which is no flag of gRPC")),
    }
    if usize::try_from(length) == Ok(message.len()) {
        return Ok(message);
    }
    Err(format!("a message of {length} bytes ended after {}", message.len()))
}

/// Whether less came than a message's prefix announces, or not even all of a prefix.
fn is_cut(frame: &[u8]) -> bool {
    let Some(([_, length @ ..], message)) = frame.split_first_chunk::<PREFIX>() else { return true };
    usize::try_from(u32::from_be_bytes(*length)).is_ok_and(|length| message.len() < length)
}

/// The operation and the request message of a recorded request; `None` where it is none.
#[must_use]
pub fn asked(path: &str, body: &[u8]) -> Option<(&'static str, serde_json::Value)> {
    let method = Method::named(path.rsplit_once('/')?.1)?;
    Some((method.name, read(method.request, unframed(body).ok()?).ok()?))
}

/// What came back for a recorded call.
pub(super) fn reply(exchange: &ExchangeView<'_>) -> Reply {
    let media_type = exchange.header("content-type").and_then(MediaType::parse);
    let reading = Reading { exchange, method: method_of(exchange), values: Cell::new(VALUES) };
    let (items, streamed) = reading.items(media_type.as_ref());
    let beyond = reading.values.get() == 0;
    Reply {
        status: exchange.status(),
        media_type,
        streamed,
        items,
        cut: reading.cut(),
        end: if beyond { Some(too_many_values()) } else { exchange.ended.map(|(end, _)| end.clone()) },
        decisive: exchange.trailers.map_or_else(|| exchange.decisive(), |(_, seq)| seq),
    }
}

struct Reading<'v, 'a> {
    exchange: &'v ExchangeView<'a>,
    method: Option<&'static Method>,
    /// How many values its messages may still have.
    values: Cell<u32>,
}

// === impl Reading ===

impl Reading<'_, '_> {
    fn items(&self, media_type: Option<&MediaType>) -> (Vec<Item>, bool) {
        let exchange = self.exchange;
        let Some(status) = exchange.status() else { return (Vec::new(), false) };
        let is_grpc = media_type.is_some_and(|m| m.to_string().starts_with("application/grpc"));
        if status != 200 || !is_grpc {
            return (vec![self.item(no_grpc(status, media_type))], false);
        }
        let mut items = self.messages();
        if self.values.get() == 0 {
            return (items, self.method.is_some_and(|m| m.streams));
        }
        let streams = self.method.is_some_and(|m| m.streams);
        let mut well = !items.is_empty();
        match self.ending() {
            Some(Ending::Ok) if streams => well = true,
            Some(Ending::Ok) => self.unary(&mut items),
            Some(Ending::Error(error)) if streams => items.push(self.item(Answer::Error(error))),
            // whatever came before it: a call that is no stream is answered by its error
            Some(Ending::Error(error)) => items = vec![self.item(Answer::Error(error))],
            Some(Ending::Malformed(why)) => items.push(self.item(Answer::Malformed(why))),
            // a message that is cut off says as much
            None if exchange.complete() && self.cut() => {}
            None if exchange.complete() => {
                let why = "the call ended without `grpc-status`".to_owned();
                items.push(self.item(Answer::Malformed(why)));
            }
            None if streams => {}
            // broken off before its ending: the message is no answer yet
            None => items.clear(),
        }
        (items, streams && well)
    }

    /// Whether the last message is not whole.
    fn cut(&self) -> bool {
        self.exchange.frames.last().is_some_and(|f| is_cut(f.bytes.as_bytes()))
    }

    fn messages(&self) -> Vec<Item> {
        let message = |bytes: &[u8]| {
            let message = unframed(bytes)?;
            let Some(method) = self.method else { return Err("a message of a method that is not known".to_owned()) };
            let mut left = self.values.get();
            let read = read_within(method.response, message, &mut left);
            self.values.set(left);
            read.map_err(|e| format!("{}: {e}", method.response.name))
        };
        let item = |frame: &FrameView<'_>| {
            let answer = message(frame.bytes.as_bytes()).map_or_else(Answer::Malformed, Answer::Result);
            Item { seq: frame.seq, at: frame.at, answer, echoes_id: true, event_id: None }
        };
        let frames = &self.exchange.frames;
        let cut_by_us =
            matches!(self.exchange.ended, Some((End::Limit { .. } | End::LocalAbort | End::Deadline, _)) | None);
        let whole = frames.iter().rposition(|f| !cut_by_us || unframed(f.bytes.as_bytes()).is_ok());
        let read = frames[..whole.map_or(0, |last| last + 1)].iter().map(item);
        // what our bound kept from being read is nothing that the agent said wrong
        read.take_while(|_| self.values.get() > 0).collect()
    }

    /// A call that is no stream has one message where it ends well.
    fn unary(&self, items: &mut Vec<Item>) {
        match items.len() {
            1 => {}
            0 => items.push(self.item(Answer::Malformed("`grpc-status` is OK, and no message came".to_owned()))),
            n => *items = vec![self.item(Answer::Malformed(format!("{n} messages came, where one is the answer")))],
        }
    }

    /// In the trailers, or in the head where nothing but that came (trailers-only).
    fn ending(&self) -> Option<Ending> {
        let trailers = self.exchange.trailers.and_then(|(fields, _)| status::ending(fields));
        trailers.or_else(|| self.exchange.head.and_then(|(_, fields, _)| status::ending(fields)))
    }

    fn item(&self, answer: Answer) -> Item {
        let last = self.exchange.frames.last().map_or(self.exchange.sent.at, |f| f.at);
        let head = self.exchange.head.map(|(_, _, seq)| seq);
        let (seq, at) = match self.exchange.trailers {
            Some((_, seq)) => (seq, last),
            None => (head.unwrap_or_else(|| self.exchange.decisive()), last),
        };
        Item { seq, at, answer, echoes_id: true, event_id: None }
    }
}

/// What is no answer of gRPC: a gateway's refusal, or a server of another protocol.
fn no_grpc(status: u16, media_type: Option<&MediaType>) -> Answer {
    if (400..500).contains(&status) {
        return Answer::Error(A2aError::of_status(status));
    }
    let media = media_type.map_or_else(|| "no content type".to_owned(), MediaType::to_string);
    Answer::Malformed(format!("HTTP {status}, {media}: no answer of gRPC"))
}

fn method_of(exchange: &ExchangeView<'_>) -> Option<&'static Method> {
    let Route::Grpc { path } = exchange.route else { return None };
    Method::named(path.rsplit_once('/')?.1)
}

#[cfg(test)]
mod tests;
