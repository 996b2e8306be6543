//! The same lies told about recordings, as a pure function: the judge's liar tests need no agent.

use std::collections::BTreeMap;

use ostiary_canon::json::{Limits, parse_strict};
use ostiary_record::{
    Blob, Event, ExchangeId, Kind, MonoNanos, Recording, Route, Seq, Source, event::RawHeaders, view::ExchangeView,
};

use super::{
    ask::Ask,
    block, card,
    lie::Lie,
    memory::Memory,
    tell::{self, StreamNotes, Told, Whole},
};

/// The recording as it would be if the agent had told the lie.
///
/// What the lie needs to have been seen before must be in this recording; [`mutate_all`] carries it from one to the next.
#[must_use]
pub fn mutate(recording: &Recording, lie: Lie) -> Recording {
    Liar { lie, memory: Memory::default() }.retell(recording)
}

/// All recordings of a run, in the order in which they were driven: tasks and answers of one are known in the next.
#[must_use]
pub fn mutate_all(recordings: &[Recording], lie: Lie) -> Vec<Recording> {
    let mut liar = Liar { lie, memory: Memory::default() };
    recordings.iter().map(|recording| liar.retell(recording)).collect()
}

struct Liar {
    lie: Lie,
    memory: Memory,
}

/// One exchange on its way into the new recording.
#[derive(Default)]
struct Passing {
    ask: Ask,
    /// The honest body; of a stream it is not used.
    body: Vec<u8>,
    streamed: bool,
    /// What takes the place of a whole answer, until it is written.
    instead: Option<Whole>,
    /// Whether the honest frames that are left are dropped.
    dropped: bool,
    notes: StreamNotes,
    frames: u32,
}

/// The new recording while it is written.
struct Written {
    events: Vec<Event>,
    /// New places by old ones.
    moved: Vec<Seq>,
}

/// The document that the engine records the served card under.
const CARD: &str = "agent-card.json";

// === impl Liar ===

impl Liar {
    fn retell(&mut self, recording: &Recording) -> Recording {
        let mut passing: BTreeMap<ExchangeId, Passing> =
            recording.exchanges().iter().map(|view| (view.id, Passing::of(view))).collect();
        let mut out = Written { events: Vec::new(), moved: Vec::new() };
        for event in &recording.events {
            out.moved.push(Seq(out.events.len() as u64));
            let at = (event.at, &event.from);
            match &event.kind {
                Kind::Head { x, status, headers } if passing.contains_key(x) => {
                    let exchange = passing.entry(*x).or_default();
                    self.head(&mut out, at, exchange, (*x, *status, headers));
                }
                Kind::Frame { x, bytes, .. } if passing.contains_key(x) => {
                    let exchange = passing.entry(*x).or_default();
                    self.frame(&mut out, at, exchange, (*x, bytes));
                }
                Kind::Document { name, bytes } if name.0 == CARD => {
                    let card = parse_strict(bytes.as_bytes(), Limits::DOCUMENT).ok();
                    let told = card.and_then(|card| card::told(self.lie, &card));
                    let bytes = told.map_or_else(|| bytes.clone(), |card| Blob::from(card.to_string()));
                    out.push(at, Kind::Document { name: name.clone(), bytes });
                }
                other => out.push(at, other.clone()),
            }
        }
        out.into_recording(recording)
    }

    fn head(
        &mut self,
        out: &mut Written,
        at: (MonoNanos, &Source),
        exchange: &mut Passing,
        (x, status, headers): (ExchangeId, u16, &RawHeaders),
    ) {
        exchange.streamed = media_type(headers).starts_with("text/event-stream");
        if exchange.streamed {
            out.push(at, Kind::Head { x, status, headers: headers.clone() });
            return;
        }
        let answer = parse_strict(&exchange.body, Limits::WIRE).ok();
        let told = tell::whole(self.lie, &exchange.ask, &self.memory, answer.as_ref(), status);
        if let Some(answer) = &answer {
            self.memory.note(&exchange.ask, answer, status);
        }
        let Some(whole) = told else {
            out.push(at, Kind::Head { x, status, headers: headers.clone() });
            return;
        };
        out.push(at, Kind::Head { x, status: whole.status, headers: headers_of(headers, &whole) });
        exchange.dropped = true;
        exchange.instead = Some(whole);
        if exchange.body.is_empty() {
            exchange.write_instead(out, at, x);
        }
    }

    fn frame(
        &mut self,
        out: &mut Written,
        at: (MonoNanos, &Source),
        exchange: &mut Passing,
        (x, bytes): (ExchangeId, &Blob),
    ) {
        exchange.write_instead(out, at, x);
        if exchange.dropped {
            return;
        }
        let value = exchange.streamed.then(|| block::data(bytes.as_bytes())).flatten();
        let Some(value) = value.and_then(|data| parse_strict(&data, Limits::WIRE).ok()) else {
            exchange.write(out, at, x, bytes.clone());
            return;
        };
        let told = tell::event(self.lie, &exchange.ask, &self.memory, &mut exchange.notes, &value);
        self.memory.note(&exchange.ask, &value, 200);
        match told {
            Told::AsIs => exchange.write(out, at, x, bytes.clone()),
            Told::Cut => exchange.dropped = true,
            Told::Changed(items) => {
                for block in block::retold(&bytes.0, &value, &items) {
                    exchange.write(out, at, x, Blob(block));
                }
            }
        }
    }
}

// === impl Passing ===

impl Passing {
    fn of(view: &ExchangeView<'_>) -> Self {
        let ask = match view.route {
            Route::Http { method, path } => Ask::of(method, path, view.request.as_bytes()),
            Route::Grpc { .. } | Route::Stdio => Ask::default(),
        };
        Self { ask, body: view.body(), ..Self::default() }
    }

    fn write(&mut self, out: &mut Written, at: (MonoNanos, &Source), x: ExchangeId, bytes: Blob) {
        out.push(at, Kind::Frame { x, n: self.frames, bytes });
        self.frames += 1;
    }

    fn write_instead(&mut self, out: &mut Written, at: (MonoNanos, &Source), x: ExchangeId) {
        if let Some(whole) = self.instead.take() {
            for frame in whole.frames() {
                self.write(out, at, x, Blob(frame));
            }
        }
    }
}

// === impl Written ===

impl Written {
    fn push(&mut self, (at, from): (MonoNanos, &Source), kind: Kind) {
        let seq = Seq(self.events.len() as u64);
        self.events.push(Event { seq, at, from: from.clone(), kind });
    }

    fn into_recording(mut self, old: &Recording) -> Recording {
        let moved = |seq: Seq| usize::try_from(seq.0).ok().and_then(|n| self.moved.get(n)).copied().unwrap_or(seq);
        for event in &mut self.events {
            if let Kind::Observed { window, .. } = &mut event.kind {
                *window = (moved(window.0), moved(window.1));
            }
        }
        Recording { events: self.events, ..old.clone() }
    }
}

fn media_type(headers: &RawHeaders) -> String {
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_ascii_lowercase()
}

/// The head's fields for another body.
fn headers_of(headers: &RawHeaders, whole: &Whole) -> RawHeaders {
    const ABOUT_THE_BODY: [&str; 3] = ["content-length", "content-type", "www-authenticate"];
    let about = |name: &str| ABOUT_THE_BODY.iter().any(|a| name.eq_ignore_ascii_case(a));
    let mut out: RawHeaders = headers.iter().filter(|(name, _)| !about(name)).cloned().collect();
    out.push(("content-type".to_owned(), Blob::from(whole.media_type())));
    out
}

#[cfg(test)]
mod tests {
    use ostiary_record::{ActorId, Axes, ChannelId, End, ScenarioId, TargetId};

    use super::*;

    fn recording(method: &str, media_type: &str, bodies: &[&str]) -> Recording {
        let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"id":"t","message":7}}}}"#);
        let x = ExchangeId(0);
        let headers = vec![("Content-Type".to_owned(), Blob::from(media_type.to_owned()))];
        let route = Route::Http { method: "POST".into(), path: String::new() };
        let mut kinds = vec![
            Kind::Opened { target: TargetId::from("t"), actor: ActorId::from("a") },
            Kind::Sent { x, route, headers: vec![], bytes: Blob::from(request), intent: None },
            Kind::Head { x, status: 200, headers },
        ];
        let frames =
            bodies.iter().zip(0..).map(|(body, n)| Kind::Frame { x, n, bytes: Blob::from((*body).to_owned()) });
        kinds.extend(frames);
        kinds.push(Kind::Ended { x, how: End::Complete });
        let from = Source::Wire(ChannelId::from("http-0"));
        let event = |(kind, n)| Event { seq: Seq(n), at: MonoNanos(n), from: from.clone(), kind };
        let events = kinds.into_iter().zip(0..).map(event).collect();
        Recording { scenario: ScenarioId::from("s"), axes: Axes::default(), seed: 0, events }
    }

    /// Answers of agents that keep to no shape.
    const ODD: [&str; 16] = [
        "",
        "null",
        "[]",
        "<html>",
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","result":null}"#,
        r#"{"jsonrpc":"2.0","result":7}"#,
        r#"{"jsonrpc":"2.0","error":"no"}"#,
        r#"{"jsonrpc":"2.0","error":{"code":"x","data":7}}"#,
        r#"{"jsonrpc":"2.0","result":{"task":5,"statusUpdate":6,"artifactUpdate":7}}"#,
        r#"{"jsonrpc":"2.0","result":{"statusUpdate":{"taskId":"t","status":"x"}}}"#,
        r#"{"jsonrpc":"2.0","result":{"statusUpdate":{"taskId":"t","status":{"state":3,"timestamp":9}}}}"#,
        r#"{"jsonrpc":"2.0","result":{"task":{"id":"t","status":[],"artifacts":{}}}}"#,
        r#"{"jsonrpc":"2.0","result":{"id":"t","status":{"state":"TASK_STATE_COMPLETED"},"artifacts":[5,{"parts":[7]}]}}"#,
        r#"{"jsonrpc":"2.0","result":{"artifactUpdate":{"taskId":"t","append":true,"artifact":5}}}"#,
        r#"{"jsonrpc":"2.0","result":{"artifactUpdate":{"taskId":"t","artifact":{"parts":5}}}}"#,
    ];

    #[test]
    fn answers_without_shape_are_survived_by_every_lie() {
        let events = ODD.map(|odd| format!("data: {odd}\n\n"));
        let stream = [events.each_ref().map(String::as_str), events.each_ref().map(String::as_str)].concat();
        for &lie in Lie::ALL {
            for method in ["SendMessage", "SendStreamingMessage", "GetTask", "CancelTask", "Strange"] {
                let mut all = vec![recording(method, "text/event-stream", &stream)];
                all.extend(ODD.map(|odd| recording(method, "application/json", &[odd])));
                for told in mutate_all(&all, lie) {
                    assert!(told.events.iter().zip(0..).all(|(event, n)| event.seq == Seq(n)), "{lie} {method}");
                    assert_eq!(told.exchanges().len(), 1);
                }
            }
        }
    }

    #[test]
    fn without_an_occasion_a_lie_leaves_the_recording_alone() {
        let honest = recording("Strange", "application/json", &["{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {}}"]);
        for &lie in Lie::ALL {
            assert_eq!(mutate(&honest, lie), honest, "{lie}");
        }
    }
}
