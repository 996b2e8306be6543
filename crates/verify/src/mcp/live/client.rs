//! A conversation over one channel: a request and all that comes until its answer; what the server asks is answered.

use std::time::Duration;

use bytes::Bytes;
use ostiary_protocol::{
    a2a::sse::SseParser,
    mcp::{Answer, Message, Reply, Speech, Wire, reply::Heard},
    media_type::MediaType,
};
use ostiary_record::{
    End, Event, ExchangeId, Kind, MonoNanos, Seq, Tape,
    event::RawHeaders,
    ports::{Abort, Carrier, Channel, Deadline, Next, Outbound, Timer},
};
use serde_json::{Value, json};

use crate::meter::Meter;

/// How long a stream may go on once the answer has come: it SHOULD be closed then.
const AFTER_ANSWER: Duration = Duration::from_secs(1);
/// How often a stream that was cut before the answer is taken up again (2025-11-25, "Resumability").
const RESUMES: u32 = 3;
/// Most requests of a server's own that are answered.
const MOST_ASKED: u32 = 100;
/// Most bytes of one event; the drivers' frame bound is the same.
const EVENT_BYTES: usize = 4 << 20;
/// JSON-RPC's code for a method that there is not.
const NO_METHOD: i64 = -32601;

/// A conversation with one server.
pub(super) struct Client<'a> {
    channel: Box<dyn Channel>,
    tape: &'a Tape,
    pub(super) speech: Speech,
    pace: Option<(&'a Meter, &'a dyn Timer)>,
    next_id: u64,
    asked: u32,
    /// Bytes of the last answer.
    pub(super) bytes: usize,
}

/// What came for one request so far.
#[derive(Default)]
struct Came {
    status: Option<u16>,
    content_type: Option<String>,
    session: Option<String>,
    frames: Vec<(Seq, Bytes)>,
    end: Option<End>,
}

// === impl Client ===

impl<'a> Client<'a> {
    pub(super) fn new(
        channel: Box<dyn Channel>,
        tape: &'a Tape,
        speech: Speech,
        pace: Option<(&'a Meter, &'a dyn Timer)>,
    ) -> Self {
        Self { channel, tape, speech, pace, next_id: 1, asked: 0, bytes: 0 }
    }

    /// Makes a request and waits for its answer.
    pub(super) async fn ask(&mut self, say: impl FnOnce(&Speech, u64) -> Outbound, within: Duration) -> Reply {
        let id = Value::from(self.next_id);
        let out = say(&self.speech, self.next_id);
        self.next_id += 1;
        let mut reply = self.exchange(Some(&id), out, within).await;
        for _ in 0..RESUMES {
            let cut = matches!(reply.answer, Answer::Nothing(_));
            let last = reply.last_event.clone().filter(|_| cut);
            let Some(listen) = last.and_then(|last| self.speech.listen(Some(&last))) else { break };
            reply = self.exchange(Some(&id), listen, within).await;
        }
        reply
    }

    /// Says something that has no answer.
    pub(super) async fn tell(&mut self, out: Outbound, within: Duration) -> Reply {
        self.exchange(None, out, within).await
    }

    /// Ends the conversation as its revision wants it.
    pub(super) async fn end(mut self, within: Duration) {
        if let Some(out) = self.speech.end_session() {
            self.exchange(None, out, within).await;
        }
        self.channel.close(within).await;
    }

    async fn exchange(&mut self, id: Option<&Value>, out: Outbound, within: Duration) -> Reply {
        if let Some((meter, timer)) = self.pace
            && let Err(problem) = meter.admit(self.tape, timer, "the MCP server").await
        {
            let answer = Answer::Nothing(problem.to_string());
            return Reply { status: None, items: Vec::new(), answer, last_event: None };
        }
        let mut weight = out.body.len() as u64;
        let x = self.channel.start(out);
        let mut came = Came::default();
        let mut until = self.after(within);
        while came.end.is_none() {
            let Next::Event(event) = self.channel.next(until).await else { break };
            if let Some((meter, _)) = self.pace {
                meter.note(&event, carrier(self.speech.wire), &mut weight);
            }
            let Some(text) = came.take(x, &event, self.speech.wire) else { continue };
            match Message::read(&text) {
                Message::Request { id, method, .. } => self.answer(&id, &method),
                Message::Response(response) if response.id.as_ref() == id => {
                    until = until.min(self.after(AFTER_ANSWER));
                }
                _ => {}
            }
        }
        if came.end.is_none() {
            self.channel.abort(x, Abort::Drop);
            came.end = Some(End::Deadline);
        }
        if came.session.is_some() && self.speech.session.is_none() && !self.speech.revision.is_stateless() {
            self.speech.session.clone_from(&came.session);
        }
        self.bytes = came.frames.iter().map(|(_, bytes)| bytes.len()).sum();
        came.read(id)
    }

    /// Servers of the older era may ask; who can do nothing says so. In the stateless era the request itself is the fault,
    /// and is on the tape.
    fn answer(&mut self, id: &Value, method: &str) {
        self.asked += 1;
        if self.speech.revision.is_stateless() || self.asked > MOST_ASKED {
            return;
        }
        let outcome =
            if method == "ping" { Ok(json!({})) } else { Err((NO_METHOD, "not a capability of this client")) };
        self.channel.start(self.speech.answer(id, outcome));
    }

    pub(super) fn now(&self) -> MonoNanos {
        self.tape.now()
    }

    fn after(&self, within: Duration) -> Deadline {
        let nanos = u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        Deadline(MonoNanos(self.tape.now().0.saturating_add(nanos)))
    }
}

// === impl Came ===

impl Came {
    /// Takes in what the channel reported; gives a message that may want something of us.
    fn take(&mut self, x: ExchangeId, event: &Event, wire: Wire) -> Option<Bytes> {
        match &event.kind {
            Kind::Head { x: of, status, headers } if *of == x => {
                self.status = Some(*status);
                self.content_type = field(headers, "content-type");
                self.session = field(headers, "mcp-session-id");
                None
            }
            Kind::Frame { x: of, bytes, .. } if *of == x => {
                self.frames.push((event.seq, bytes.0.clone()));
                if wire == Wire::Stdio { Some(bytes.0.clone()) } else { self.event(&bytes.0) }
            }
            Kind::Inbound { bytes, .. } if wire == Wire::Stdio => Some(bytes.0.clone()),
            Kind::Ended { x: of, how } if *of == x => {
                self.end = Some(how.clone());
                None
            }
            _ => None,
        }
    }

    /// The data of one event block.
    fn event(&self, block: &[u8]) -> Option<Bytes> {
        let streamed = self.content_type.as_deref().and_then(MediaType::parse)?.is_event_stream();
        let events = SseParser::new(EVENT_BYTES).push(block).ok().filter(|_| streamed)?;
        events.into_iter().map(|event| Bytes::from(event.data)).find(|data| !data.is_empty())
    }

    fn read(&self, id: Option<&Value>) -> Reply {
        let heard = Heard { status: self.status, content_type: self.content_type.as_deref(), end: self.end.as_ref() };
        Reply::read(id, heard, self.frames.iter().map(|(seq, bytes)| (*seq, &bytes[..])))
    }
}

const fn carrier(wire: Wire) -> Carrier {
    match wire {
        Wire::Http => Carrier::Http,
        Wire::Stdio => Carrier::Stdio,
    }
}

fn field(headers: &RawHeaders, name: &str) -> Option<String> {
    let found = headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name));
    found.and_then(|(_, value)| value.as_str()).map(str::to_owned)
}
