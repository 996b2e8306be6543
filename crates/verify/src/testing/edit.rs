//! Changes recorded answers: what a liar would have said in an honest agent's place.

use bytes::Bytes;
use ostiary_record::{Blob, Event, ExchangeId, Kind, Recording, Run, Seq};
use serde_json::Value;

/// One JSON answer or streamed item, with where it stands.
pub(crate) struct Item<'a> {
    /// The scenario.
    pub(crate) scenario: &'a str,
    /// The operation asked; empty for a raw request.
    pub(crate) operation: &'a str,
    /// The actor of the channel.
    pub(crate) actor: &'a str,
    /// The request's JSON; null where it is none.
    pub(crate) request: Value,
    /// The answer's JSON.
    pub(crate) answer: Value,
    /// Its place among the frames of the exchange.
    pub(crate) n: u32,
    /// The value of an axis of the variant, by name.
    pub(crate) axes: &'a std::collections::BTreeMap<String, String>,
}

/// What becomes of an item.
pub(crate) enum Edit {
    /// Nothing.
    Keep,
    /// It is gone.
    Drop,
    /// It is another.
    Replace(Value),
    /// It is followed by these.
    Then(Vec<Value>),
    /// These come in its place.
    Instead(Vec<Value>),
}

// === impl Item ===

impl Item<'_> {
    /// The item with its answer changed.
    pub(crate) fn changed(&self, change: impl FnOnce(&mut Value)) -> Edit {
        let mut answer = self.answer.clone();
        change(&mut answer);
        Edit::Replace(answer)
    }

    /// The member of a streamed item: `task`, `statusUpdate`, …
    pub(crate) fn is(&self, member: &str) -> bool {
        self.answer["result"].get(member).is_some()
    }

    /// The envelope of this item around another result.
    pub(crate) fn with_result(&self, result: Value) -> Value {
        let mut answer = self.answer.clone();
        let members = answer.as_object_mut().expect("an envelope is an object");
        members.remove("error");
        members.insert("result".to_owned(), result);
        answer
    }

    /// The envelope of this item around an error.
    pub(crate) fn with_error(&self, error: Value) -> Value {
        let mut answer = self.answer.clone();
        let members = answer.as_object_mut().expect("an envelope is an object");
        members.remove("result");
        members.insert("error".to_owned(), error);
        answer
    }
}

/// Offers every JSON answer of every scenario to `change`.
pub(crate) fn edit_answers(run: &mut Run, mut change: impl FnMut(&Item<'_>) -> Edit) {
    for recording in &mut run.recordings {
        let events: Vec<Event> = recording.events.iter().flat_map(|e| edited(recording, e, &mut change)).collect();
        recording.events = events;
        renumber(recording);
    }
}

/// Replaces a document of the discovery tape.
pub(crate) fn edit_document(run: &mut Run, name: &str, content: &[u8]) {
    for event in &mut run.recordings[0].events {
        if let Kind::Document { name: n, bytes } = &mut event.kind
            && n.0 == name
        {
            *bytes = Blob(Bytes::copy_from_slice(content));
        }
    }
}

/// Puts another HTTP answer in the place of every answer to an operation.
pub(crate) fn replace_answers(run: &mut Run, operation: &str, status: u16, media: &str, body: &str) {
    for recording in &mut run.recordings {
        let asked = recording.exchanges();
        let asked: Vec<ExchangeId> =
            asked.iter().filter(|x| x.intent.is_some_and(|op| op.0 == operation)).map(|x| x.id).collect();
        let stays = |e: &Event| !matches!(&e.kind, Kind::Frame { x, n, .. } if asked.contains(x) && *n > 0);
        recording.events.retain(stays);
        for event in &mut recording.events {
            match &mut event.kind {
                Kind::Head { x, status: s, headers } if asked.contains(x) => {
                    *s = status;
                    *headers = vec![("content-type".to_owned(), Blob::from(media.to_owned()))];
                }
                Kind::Frame { x, bytes, .. } if asked.contains(x) => *bytes = Blob::from(body.to_owned()),
                _ => {}
            }
        }
        renumber(recording);
    }
}

/// Makes plain JSON answers of all streams of a story that are no stream any more: a refusal.
pub(crate) fn unstream(run: &mut Run, story: &str) {
    for recording in run.recordings.iter_mut().filter(|r| r.axes.values.values().any(|v| v == story)) {
        let refused = |e: &Event| match &e.kind {
            Kind::Frame { x, bytes, .. } if bytes.as_str().is_some_and(|t| t.contains("\"error\"")) => Some(*x),
            _ => None,
        };
        let refused: Vec<ExchangeId> = recording.events.iter().filter_map(refused).collect();
        for event in &mut recording.events {
            match &mut event.kind {
                Kind::Head { x, headers, .. } if refused.contains(x) => {
                    *headers = vec![("content-type".to_owned(), Blob::from("application/json"))];
                }
                Kind::Frame { x, bytes, .. } if refused.contains(x) => {
                    let text = bytes.as_str().unwrap_or_default().trim_start_matches("data: ").trim().to_owned();
                    *bytes = Blob::from(text);
                }
                _ => {}
            }
        }
    }
}

fn edited(recording: &Recording, event: &Event, change: &mut impl FnMut(&Item<'_>) -> Edit) -> Vec<Event> {
    let Kind::Frame { x, n, bytes } = &event.kind else { return vec![event.clone()] };
    let text = bytes.as_str().unwrap_or_default();
    let streamed = text.starts_with("data: ");
    let Ok(answer) = serde_json::from_str::<Value>(text.trim_start_matches("data: ").trim()) else {
        return vec![event.clone()];
    };
    let frame = |value: &Value| {
        let text = if streamed { format!("data: {value}\r\n\r\n") } else { value.to_string() };
        Event { kind: Kind::Frame { x: *x, n: *n, bytes: Blob::from(text) }, ..event.clone() }
    };
    let exchange = exchange(recording, *x);
    let item = Item {
        scenario: &recording.scenario.0,
        operation: exchange.0,
        actor: exchange.1,
        request: exchange.2,
        answer,
        n: *n,
        axes: &recording.axes.values,
    };
    match change(&item) {
        Edit::Keep => vec![event.clone()],
        Edit::Drop => Vec::new(),
        Edit::Replace(value) => vec![frame(&value)],
        Edit::Instead(these) => these.iter().map(frame).collect(),
        Edit::Then(more) => std::iter::once(event.clone()).chain(more.iter().map(frame)).collect(),
    }
}

fn exchange(recording: &Recording, x: ExchangeId) -> (&str, &str, Value) {
    let view = recording.exchanges().into_iter().find(|v| v.id == x).expect("each frame has its exchange");
    let request = serde_json::from_slice(view.request.as_bytes()).unwrap_or_default();
    (view.intent.map_or("", |op| op.0.as_str()), view.actor.unwrap_or_default(), request)
}

/// Places in order again, after events were added or taken out.
pub(super) fn renumber(recording: &mut Recording) {
    for (n, event) in (0..).zip(&mut recording.events) {
        event.seq = Seq(n);
    }
}
