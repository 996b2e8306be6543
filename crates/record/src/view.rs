//! Reading a recording by exchange: the judge's lens.

use crate::{
    blob::Blob,
    event::{End, Event, EventRef, ExchangeId, Kind, MonoNanos, OpName, RawHeaders, Recording, Route, Seq, Source},
};

/// One request with all that came back, in order.
#[derive(Clone, Debug)]
pub struct ExchangeView<'a> {
    /// Its id.
    pub id: ExchangeId,
    /// The actor of the channel it went over.
    pub actor: Option<&'a str>,
    /// The `Sent` event.
    pub sent: &'a Event,
    /// How it was addressed.
    pub route: &'a Route,
    /// Request header fields.
    pub request_headers: &'a RawHeaders,
    /// The request body.
    pub request: &'a Blob,
    /// The operation meant.
    pub intent: Option<&'a OpName>,
    /// Status, header fields and the event that brought them.
    pub head: Option<(u16, &'a RawHeaders, Seq)>,
    /// The pieces of the answer.
    pub frames: Vec<FrameView<'a>>,
    /// The fields behind the body, and the event that brought them.
    pub trailers: Option<(&'a RawHeaders, Seq)>,
    /// How it ended, and which event says so.
    pub ended: Option<(&'a End, Seq)>,
}

/// One piece of an answer.
#[derive(Clone, Copy, Debug)]
pub struct FrameView<'a> {
    /// Its event.
    pub seq: Seq,
    /// When it came.
    pub at: MonoNanos,
    /// Its bytes.
    pub bytes: &'a Blob,
}

// === impl ExchangeView ===

impl ExchangeView<'_> {
    /// The answer's pieces as one byte string.
    #[must_use]
    pub fn body(&self) -> Vec<u8> {
        self.frames.iter().flat_map(|f| f.bytes.as_bytes().iter().copied()).collect()
    }

    /// The first answer header field of that name, in any case, as text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let (_, headers, _) = self.head?;
        let found = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
        found.and_then(|(_, value)| value.as_str())
    }

    /// The HTTP status, if one came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.head.map(|(status, ..)| status)
    }

    /// The event that shows most of the answer: last frame, else head, else end, else the request.
    #[must_use]
    pub fn decisive(&self) -> Seq {
        let last = self.frames.last().map(|f| f.seq);
        let head = self.head.map(|(_, _, seq)| seq);
        last.or(head).or(self.ended.map(|(_, seq)| seq)).unwrap_or(self.sent.seq)
    }

    /// Whether the exchange ended as the protocol wants it.
    #[must_use]
    pub fn complete(&self) -> bool {
        matches!(self.ended, Some((End::Complete, _)))
    }
}

// === impl Recording ===

impl Recording {
    /// All exchanges, in the order of their requests.
    #[must_use]
    pub fn exchanges(&self) -> Vec<ExchangeView<'_>> {
        let mut opened: Vec<(&Source, &str)> = Vec::new();
        let mut out: Vec<ExchangeView<'_>> = Vec::new();
        for event in &self.events {
            if let Kind::Opened { actor, .. } = &event.kind {
                opened.push((&event.from, actor.0.as_str()));
            }
            if let Kind::Sent { x, route, headers, bytes, intent } = &event.kind {
                out.push(ExchangeView {
                    id: *x,
                    actor: opened.iter().rev().find(|(from, _)| **from == event.from).map(|(_, actor)| *actor),
                    sent: event,
                    route,
                    request_headers: headers,
                    request: bytes,
                    intent: intent.as_ref(),
                    head: None,
                    frames: Vec::new(),
                    trailers: None,
                    ended: None,
                });
            } else {
                attach(&mut out, event);
            }
        }
        out
    }

    /// The bytes of a document on the tape, with the event that holds it.
    #[must_use]
    pub fn document(&self, name: &str) -> Option<(&Blob, Seq)> {
        self.events.iter().find_map(|e| match &e.kind {
            Kind::Document { name: n, bytes } if n.0 == name => Some((bytes, e.seq)),
            _ => None,
        })
    }

    /// The first mark of that name, with its value.
    #[must_use]
    pub fn mark(&self, label: &str) -> Option<(Option<&str>, Seq)> {
        self.events.iter().find_map(|e| match &e.kind {
            Kind::Mark { label: l, value } if l.0 == label => Some((value.as_deref(), e.seq)),
            _ => None,
        })
    }

    /// A citation of one event of this recording, whose place in the run is `index`.
    #[must_use]
    pub const fn cite(index: u32, seq: Seq) -> EventRef {
        EventRef { recording: index, seq }
    }
}

fn attach<'a>(out: &mut [ExchangeView<'a>], event: &'a Event) {
    let Some(x) = event.kind.exchange() else { return };
    let Some(view) = out.iter_mut().rev().find(|v| v.id == x) else {
        return;
    };
    match &event.kind {
        Kind::Head { status, headers, .. } => view.head = Some((*status, headers, event.seq)),
        Kind::Frame { bytes, .. } => {
            view.frames.push(FrameView { seq: event.seq, at: event.at, bytes });
        }
        Kind::Trailers { headers, .. } => view.trailers = Some((headers, event.seq)),
        Kind::Ended { how, .. } => view.ended = Some((how, event.seq)),
        _ => {}
    }
}
