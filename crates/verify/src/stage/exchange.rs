//! What comes back on a channel, kept by exchange, since exchanges may overlap.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostiary_record::{
    ActorId, Blob, End, Event, ExchangeId, Kind,
    ports::{Carrier, Channel},
};

/// One exchange as far as it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exchange {
    /// HTTP status, if a head came.
    pub status: Option<u16>,
    /// Answer header fields as text.
    pub headers: Vec<(String, String)>,
    /// The pieces of the answer.
    pub frames: Vec<Bytes>,
    /// How it ended; `None` = it has not.
    pub end: Option<End>,
}

/// A channel with all that came back on it.
pub(crate) struct OpenChannel {
    pub(super) channel: Box<dyn Channel>,
    pub(super) actor: ActorId,
    pub(super) target: String,
    pub(super) carrier: Carrier,
    pub(super) exchanges: BTreeMap<ExchangeId, Running>,
    pub(super) closed: bool,
}

/// An exchange with how much of it the scenario has taken.
#[derive(Default)]
pub(super) struct Running {
    pub(super) exchange: Exchange,
    pub(super) delivered: usize,
    /// What it takes in memory.
    pub(super) weight: u64,
}

// === impl Exchange ===

impl Exchange {
    /// The answer's pieces as one byte string.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        self.frames.concat()
    }

    /// The first answer header field of that name, in any case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.as_str())
    }
}

// === impl OpenChannel ===

impl OpenChannel {
    /// Takes in what the channel reported.
    pub(super) fn take(&mut self, event: &Event) {
        match &event.kind {
            Kind::Head { x, status, headers } => {
                let exchange = &mut self.exchanges.entry(*x).or_default().exchange;
                exchange.status = Some(*status);
                let text = |v: &Blob| String::from_utf8_lossy(v.as_bytes()).into_owned();
                exchange.headers = headers.iter().map(|(n, v)| (n.clone(), text(v))).collect();
            }
            Kind::Frame { x, bytes, .. } => {
                self.exchanges.entry(*x).or_default().exchange.frames.push(bytes.0.clone());
            }
            Kind::Ended { x, how } => self.exchanges.entry(*x).or_default().exchange.end = Some(how.clone()),
            _ => {}
        }
    }
}
