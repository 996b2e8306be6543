//! What came back in the recordings, decoded: checks speak of answers and refusals, whatever the binding was.

use std::sync::Arc;

use ostiary_protocol::a2a::{
    Answer, Binding, ErrorKind, Reply, StreamItem, TaskView, codec,
    reply::Silence,
    trace::{Origin, Traces},
};
use ostiary_record::{EventRef, Finding, ReasonCode, Route, Seq, view::ExchangeView};

use crate::facts::{Facts, Tape};

pub(crate) use kept::Kept;

mod kept;

/// One recorded exchange with its decoded answer.
pub(crate) struct Answered<'a> {
    /// Its recording.
    pub(crate) tape: Tape<'a>,
    /// The exchange.
    pub(crate) exchange: ExchangeView<'a>,
    /// The answer.
    pub(crate) reply: Arc<Reply>,
    binding: Binding,
}

/// All exchanges of the check's recordings, in order.
pub(crate) fn all<'a>(facts: &Facts<'a>) -> Vec<Answered<'a>> {
    facts.tapes().iter().flat_map(|tape| on(facts, *tape)).collect()
}

/// The exchanges of one recording.
pub(crate) fn on<'a>(facts: &Facts<'a>, tape: Tape<'a>) -> Vec<Answered<'a>> {
    let binding = binding_of(facts, tape);
    let replies = facts.scene.answers.answers(tape.index, tape.recording, &binding);
    let answered = |(exchange, reply): (ExchangeView<'a>, &Option<Arc<Reply>>)| {
        Some(Answered { tape, exchange, reply: reply.clone()?, binding: binding.clone() })
    };
    let all: Vec<Answered<'a>> = tape.exchanges().into_iter().zip(replies.iter()).filter_map(answered).collect();
    let asked_otherwise: Vec<bool> = (0..all.len()).map(|n| is_asked_otherwise(&all[n..])).collect();
    all.into_iter().zip(asked_otherwise).filter(|(_, otherwise)| !otherwise).map(|(answered, _)| answered).collect()
}

/// Whether the first exchange found no such route, and the next one asked for the same in the other form that the
/// specification has.
fn is_asked_otherwise(from: &[Answered<'_>]) -> bool {
    let [first, next, ..] = from else { return false };
    let path = |a: &Answered<'_>| match a.exchange.route {
        Route::Http { method, path } => Some((method.clone(), path.clone())),
        _ => None,
    };
    let ((Some((verb, asked)), Some((other, again))), true) =
        ((path(first), path(next)), first.tape.index == next.tape.index)
    else {
        return false;
    };
    first.operation() == "SubscribeToTask"
        && next.operation() == "SubscribeToTask"
        && matches!(first.reply.status, Some(404 | 405))
        && (verb.as_str(), other.as_str()) == ("POST", "GET")
        && asked == again
}

/// The exchanges of a recording that went over several bindings: how each was addressed says over which.
pub(crate) fn by_route<'a>(tape: Tape<'a>) -> Vec<Answered<'a>> {
    let read = |exchange: ExchangeView<'a>| {
        let binding = match exchange.route {
            Route::Grpc { .. } => Binding::Grpc,
            Route::Http { path, .. } if !path.is_empty() => Binding::HttpJson,
            Route::Http { .. } | Route::Stdio => Binding::JsonRpc,
        };
        let reply = Arc::new(codec::read(&binding, &exchange).ok()?);
        Some(Answered { tape, exchange, reply, binding })
    };
    tape.exchanges().into_iter().filter_map(read).collect()
}

/// The exchanges of one scenario.
pub(crate) fn of<'a>(facts: &Facts<'a>, scenario: &str) -> Vec<Answered<'a>> {
    facts.tapes_of(scenario).flat_map(|tape| on(facts, tape)).collect()
}

/// The exchanges that meant one operation.
pub(crate) fn asking<'a>(facts: &Facts<'a>, operation: &str) -> Vec<Answered<'a>> {
    all(facts).into_iter().filter(|a| a.operation() == operation).collect()
}

/// The binding of the judged profile.
pub(crate) fn binding(facts: &Facts<'_>) -> Binding {
    let interface = facts.profile().and_then(|p| facts.discovered().interface(p));
    interface.map_or(Binding::JsonRpc, |i| Binding::parse(&i.binding))
}

/// The binding that a recording was driven over.
fn binding_of(facts: &Facts<'_>, tape: Tape<'_>) -> Binding {
    let profile = tape.recording.axes.profile.as_deref().and_then(|p| p.parse().ok());
    let interface = profile.as_ref().and_then(|p| facts.discovered().interface(p));
    interface.map_or(Binding::JsonRpc, |i| Binding::parse(&i.binding))
}

/// The states that tasks were seen in, all recordings of one tape together.
pub(crate) fn traces<'a>(facts: &Facts<'a>) -> Vec<(Tape<'a>, Traces)> {
    let mut out: Vec<(Tape<'a>, Traces)> = facts.tapes().iter().map(|t| (*t, Traces::default())).collect();
    for answered in all(facts) {
        if let Some((_, traces)) = out.iter_mut().find(|(t, _)| t.index == answered.tape.index) {
            answered.trace_into(traces);
        }
    }
    out
}

/// As many citations as people and stored reports can bear: the first and the last ones.
pub(crate) fn some_of(mut seen: Vec<EventRef>) -> Vec<EventRef> {
    const MOST: usize = 64;
    seen.dedup();
    if seen.len() > MOST {
        seen.drain(MOST / 2..seen.len() - MOST / 2);
    }
    seen
}

/// The finding where no task was seen: void where the agent answers with messages only, else unknown.
pub(crate) fn no_task(facts: &Facts<'_>) -> Finding {
    let sent = all(facts).into_iter().filter(|a| a.operation().starts_with("Send"));
    // what was refused says nothing of what is answered: scenarios send what must be refused, too
    let served: Vec<Answered<'_>> = sent.filter(|a| a.reply.error().is_none()).collect();
    let is_message = |a: &Answered<'_>| matches!(a.first_item(), Some((StreamItem::Message(_), _)));
    if !served.is_empty() && served.iter().all(is_message) {
        return facts.not_applicable("answer to SendMessage", "/message");
    }
    facts.inconclusive(ReasonCode::ObservationIncomplete, "a task", "no task was seen")
}

/// Why an answer to a streaming call shows nothing of a stream; `None` when it is one with an item that can be read. What
/// is wrong with such an answer is judged by `a2a.stream.works` alone.
pub(crate) fn no_stream(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    if let Some(unusable) = answered.unusable(facts) {
        return Some(unusable);
    }
    let (what, remedy) = if !answered.reply.streamed {
        ("a stream (`text/event-stream`)", "the answer is no stream; see a2a.stream.works")
    } else if answered.reply.stream_items().all(|(_, item)| item.is_err()) {
        ("events", "no event of the stream could be read; see a2a.stream.works")
    } else {
        return None;
    };
    let finding = facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy);
    Some(finding.at_exchange(answered.exchange.id))
}

/// The finding on a stream that is one message, where a promise is about tasks.
pub(crate) fn message_only(facts: &Facts<'_>) -> Finding {
    facts.not_applicable("answer to SendStreamingMessage", "/message")
}

// === impl Answered ===

impl Answered<'_> {
    /// The operation meant; empty for a raw request.
    pub(crate) fn operation(&self) -> &str {
        self.exchange.intent.map_or("", |op| op.0.as_str())
    }

    /// The binding it went over.
    pub(crate) const fn binding(&self) -> &Binding {
        &self.binding
    }

    /// The request message in ProtoJSON, whatever the binding; null where the request is none.
    pub(crate) fn request(&self) -> serde_json::Value {
        codec::asked(&self.binding, &self.exchange).map(|(_, request)| request).unwrap_or_default()
    }

    /// Citations of request and decisive answer.
    pub(crate) fn cite(&self) -> Vec<EventRef> {
        self.tape.cite_exchange(&self.exchange)
    }

    /// A citation of one event of it.
    pub(crate) fn at(&self, seq: Seq) -> Vec<EventRef> {
        vec![self.tape.cite(seq)]
    }

    /// The value of an axis of the variant.
    pub(crate) fn axis(&self, name: &str) -> &str {
        self.tape.recording.axes.values.get(name).map_or("", String::as_str)
    }

    /// Whether the answer is one to judge by its content: something came, and it was no request for patience.
    pub(crate) fn unusable(&self, facts: &Facts<'_>) -> Option<Finding> {
        let what = format!("answer:{}", if self.operation().is_empty() { "raw" } else { self.operation() });
        let inconclusive =
            |reason, why: String| Some(facts.inconclusive(reason, what.clone(), why).at_exchange(self.exchange.id));
        if self.reply.is_rate_limited() {
            return inconclusive(ReasonCode::TargetRateLimited, "the candidate asked for patience".to_owned());
        }
        match self.reply.silence()? {
            Silence::Deadline => {
                inconclusive(ReasonCode::TargetUnresponsive, "no answer before our deadline".to_owned())
            }
            Silence::Broken(why) => inconclusive(ReasonCode::TargetUnreachable, format!("no answer: {why}")),
            Silence::Limit(which) => inconclusive(ReasonCode::BudgetExceeded, format!("bound `{which}` was hit")),
            Silence::Unfinished => {
                inconclusive(ReasonCode::ObservationIncomplete, "the exchange was not finished".to_owned())
            }
            Silence::Empty => None,
        }
    }

    /// Whether the credential was refused, so that nothing else can be told from the answer.
    pub(crate) fn credential_refused(&self) -> bool {
        let kind = self.reply.error().and_then(|(e, _)| e.kind());
        matches!(kind, Some(ErrorKind::Unauthenticated | ErrorKind::Forbidden))
    }

    /// A task in the answer to a read or cancel.
    pub(crate) fn task(&self) -> Option<(TaskView<'_>, Seq)> {
        let (value, seq) = self.reply.result()?;
        TaskView::of(value).map(|task| (task, seq))
    }

    /// The first item, where it reads as one.
    pub(crate) fn first_item(&self) -> Option<(StreamItem<'_>, Seq)> {
        let (seq, item) = self.reply.stream_items().next()?;
        item.ok().map(|item| (item, seq))
    }

    fn trace_into(&self, traces: &mut Traces) {
        let bare_task = matches!(self.operation(), "GetTask" | "CancelTask");
        let origin =
            |seq| Origin { at: self.tape.cite(seq), exchange: self.exchange.id, asked: self.exchange.sent.seq };
        for item in &self.reply.items {
            let Answer::Result(value) = &item.answer else { continue };
            if bare_task {
                if let Some(task) = TaskView::of(value) {
                    traces.see_task(task, origin(item.seq));
                }
            } else if let Ok(read) = StreamItem::read(value) {
                traces.see_item(&read, origin(item.seq));
            }
        }
    }
}
