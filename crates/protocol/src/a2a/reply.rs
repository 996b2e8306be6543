//! What came back for one request, the same for every binding: items in order, each a result, an error or garbage.

use ostiary_record::{End, MonoNanos, Seq};
use serde_json::Value;

use crate::{
    a2a::{
        error::A2aError,
        stream::{StreamItem, StreamItemError},
    },
    media_type::MediaType,
};

/// One item of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The operation's response message.
    Result(Value),
    /// A refusal or failure.
    Error(A2aError),
    /// Nothing that the binding allows, and why.
    Malformed(String),
}

/// An item with the event that brought it.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The event.
    pub seq: Seq,
    /// When it came.
    pub at: MonoNanos,
    /// What it was.
    pub answer: Answer,
    /// Whether it names the request that it answers; bindings without ids always do.
    pub echoes_id: bool,
    /// The id that the stream gave to the event, by which a receiver can tell a repetition.
    pub event_id: Option<String>,
}

/// Everything that came back for one request.
#[derive(Clone, Debug, PartialEq)]
pub struct Reply {
    /// The HTTP status, where there is one.
    pub status: Option<u16>,
    /// The media type of the answer.
    pub media_type: Option<MediaType>,
    /// Whether it came as a stream.
    pub streamed: bool,
    /// The items in order.
    pub items: Vec<Item>,
    /// Whether the last item was cut off in its middle: by the other side, or by the end of the connection.
    pub cut: bool,
    /// How the exchange ended; `None` = it had not when the recording stopped.
    pub end: Option<End>,
    /// The event that shows most of it: what to cite when there is no item.
    pub decisive: Seq,
}

/// Why there is no answer to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// The other side did not answer in time.
    Deadline,
    /// The connection was refused or broke before an answer.
    Broken(String),
    /// A bound of ours was hit.
    Limit(String),
    /// The answer was complete and empty.
    Empty,
    /// We broke off, or the recording stopped.
    Unfinished,
}

// === impl Reply ===

impl Reply {
    /// The first item: the answer of a call that is not streamed.
    #[must_use]
    pub fn first(&self) -> Option<&Item> {
        self.items.first()
    }

    /// The first error among the items.
    #[must_use]
    pub fn error(&self) -> Option<(&A2aError, Seq)> {
        self.items.iter().find_map(|i| match &i.answer {
            Answer::Error(error) => Some((error, i.seq)),
            Answer::Result(_) | Answer::Malformed(_) => None,
        })
    }

    /// The first item that the binding does not allow.
    #[must_use]
    pub fn malformed(&self) -> Option<(&str, Seq)> {
        self.items.iter().find_map(|i| match &i.answer {
            Answer::Malformed(why) => Some((why.as_str(), i.seq)),
            Answer::Result(_) | Answer::Error(_) => None,
        })
    }

    /// The result of the first item.
    #[must_use]
    pub fn result(&self) -> Option<(&Value, Seq)> {
        match self.items.first() {
            Some(Item { answer: Answer::Result(value), seq, .. }) => Some((value, *seq)),
            _ => None,
        }
    }

    /// All results, read as stream items, with their events.
    pub fn stream_items(&self) -> impl Iterator<Item = (Seq, Result<StreamItem<'_>, StreamItemError>)> {
        self.items.iter().filter_map(|i| match &i.answer {
            Answer::Result(value) => Some((i.seq, StreamItem::read(value))),
            Answer::Error(_) | Answer::Malformed(_) => None,
        })
    }

    /// Why nothing came back; `None` when something did.
    #[must_use]
    pub fn silence(&self) -> Option<Silence> {
        if !self.items.is_empty() {
            return None;
        }
        Some(match &self.end {
            Some(End::Deadline) => Silence::Deadline,
            Some(End::PeerReset { why } | End::NoConnection { why }) => Silence::Broken(why.clone()),
            Some(End::Limit { which }) => Silence::Limit(which.clone()),
            Some(End::Complete) => Silence::Empty,
            Some(End::LocalAbort) | None => Silence::Unfinished,
        })
    }

    /// Whether the candidate asked for patience: HTTP 429, or 503 with nothing of the binding in it, or gRPC's names for
    /// the two.
    #[must_use]
    pub fn is_rate_limited(&self) -> bool {
        let status = self.error().filter(|(e, _)| e.http_status.is_none()).and_then(|(e, _)| e.status.as_deref());
        if matches!(status, Some("RESOURCE_EXHAUSTED" | "UNAVAILABLE")) {
            return true;
        }
        self.status == Some(429) || (self.status == Some(503) && self.result().is_none())
    }
}
