//! How the task of a message went on in time: by the events of its stream, or by the looks that were taken at it.

use ostiary_protocol::a2a::{Answer, StreamItem, TaskState, TaskView};
use ostiary_record::{EventRef, MonoNanos, Seq};
use serde_json::Value;

use super::measure::{Moment, Span};
use crate::{
    answers::{self, Answered},
    facts::Facts,
};

/// One message with what came of it.
pub(super) struct Pace<'a> {
    sent: Answered<'a>,
    signs: Vec<Sign>,
    /// When the task was last known not to have gone on, where it had not ended.
    quiet: Option<(MonoNanos, Seq)>,
}

/// A sign that the task went on.
#[derive(Clone, Copy)]
struct Sign {
    moment: Moment,
    /// Whether its status changed; else an artifact came.
    status: bool,
    /// Whether the task stands still from there on.
    end: bool,
}

/// Every message of the recordings that was answered.
pub(super) fn of<'a>(facts: &Facts<'a>) -> Vec<Pace<'a>> {
    let mut out = Vec::new();
    for tape in facts.tapes() {
        let (sends, reads): (Vec<_>, Vec<_>) = answers::all(facts)
            .into_iter()
            .filter(|a| a.tape.index == tape.index)
            .partition(|a| a.operation().starts_with("Send"));
        out.extend(sends.into_iter().filter(|a| a.reply.result().is_some()).map(|a| Pace::of(a, &reads)));
    }
    out
}

// === impl Pace ===

impl<'a> Pace<'a> {
    fn of(sent: Answered<'a>, reads: &[Answered<'a>]) -> Self {
        let told: Vec<Sign> = sent.reply.items.iter().filter_map(told).collect();
        let quiet = sent.exchange.ended.and_then(|(_, seq)| Some((time(&sent, seq)?, seq)));
        let mut pace = Self { sent, signs: told, quiet };
        if !pace.streamed() && pace.end().is_none() {
            pace.look(reads);
        }
        pace
    }

    /// Takes over what later looks at the task show.
    fn look(&mut self, reads: &[Answered<'a>]) {
        let Some((StreamItem::Task(task), _)) = self.sent.first_item() else { return };
        let id = task.id().to_owned();
        let mut known = face(task);
        let mut unchanged = self.sent.exchange.sent.at;
        for read in reads.iter().filter(|r| r.operation() == "GetTask") {
            let Some((task, seq)) = read.task().filter(|(t, _)| t.id() == id) else { continue };
            if face(task) != known {
                let by = time(read, seq).unwrap_or(read.exchange.sent.at);
                let status = face(task).0 != known.0;
                known = face(task);
                let moment = Moment { from: unchanged, by, seq };
                let progress = task.state().is_some_and(|s| s != TaskState::Submitted);
                let end = task.state().is_some_and(still);
                self.signs.extend(progress.then_some(Sign { moment, status, end }));
            }
            unchanged = read.exchange.sent.at;
            self.quiet = Some((unchanged, read.exchange.sent.seq));
        }
    }

    /// Whether the message was not to be waited for.
    fn at_once(&self) -> bool {
        self.sent.request()["configuration"]["returnImmediately"] == true
    }

    fn streamed(&self) -> bool {
        self.sent.reply.streamed
    }

    /// From the request to the first sign of life, where one may come before the end.
    pub(super) fn acknowledged(&self) -> Option<Span> {
        let at_once = self.at_once();
        let (_, _, seq) = self.sent.exchange.head.filter(|_| at_once || self.streamed())?;
        let first = if at_once { self.sent.reply.items.first().map_or(seq, |i| i.seq) } else { seq };
        let moment = Moment::exact(time(&self.sent, first)?, first);
        Some(moment.since(&self.begin(), self.cite(self.sent.exchange.sent.seq, first)))
    }

    /// From the request to the first progress, where it may show before the end.
    pub(super) fn first_progress(&self) -> Option<Span> {
        (self.at_once() || self.streamed()).then(|| self.since_begin(self.signs.first())).flatten()
    }

    /// From the request to where the task stands still.
    pub(super) fn whole(&self) -> Option<Span> {
        self.since_begin(self.end())
    }

    /// From each sign of progress to the next.
    pub(super) fn gaps(&self) -> Vec<Span> {
        self.between(|_| true)
    }

    /// From each change of the status to the next: a step.
    pub(super) fn steps(&self) -> Vec<Span> {
        self.between(|sign| sign.status)
    }

    fn since_begin(&self, sign: Option<&Sign>) -> Option<Span> {
        let (begin, asked) = (self.begin(), self.sent.exchange.sent.seq);
        if let Some(sign) = sign {
            return Some(sign.moment.since(&begin, self.cite(asked, sign.moment.seq)));
        }
        let (quiet, seq) = self.quiet?;
        Some(Span::open(&begin, quiet, self.cite(asked, seq)))
    }

    fn between(&self, counts: impl Fn(&Sign) -> bool) -> Vec<Span> {
        let signs: Vec<&Sign> = self.signs.iter().filter(|s| counts(s)).collect();
        let pair =
            |pair: &[&Sign]| pair[1].moment.since(&pair[0].moment, self.cite(pair[0].moment.seq, pair[1].moment.seq));
        let mut out: Vec<Span> = signs.windows(2).map(pair).collect();
        // a task that has not ended is silent since its last sign
        if let (Some(last), None, Some((quiet, seq))) = (signs.last(), self.end(), self.quiet)
            && quiet > last.moment.by
        {
            out.push(Span::open(&last.moment, quiet, self.cite(last.moment.seq, seq)));
        }
        out
    }

    fn begin(&self) -> Moment {
        Moment::exact(self.sent.exchange.sent.at, self.sent.exchange.sent.seq)
    }

    fn end(&self) -> Option<&Sign> {
        self.signs.iter().find(|s| s.end)
    }

    fn cite(&self, from: Seq, to: Seq) -> Vec<EventRef> {
        vec![self.sent.tape.cite(from), self.sent.tape.cite(to)]
    }
}

/// A sign of progress in an item of an answer: an update, or a task that is past SUBMITTED. A message is all there is.
fn told(item: &ostiary_protocol::a2a::reply::Item) -> Option<Sign> {
    let Answer::Result(value) = &item.answer else { return None };
    let moment = Moment::exact(item.at, item.seq);
    let state = |status: Option<ostiary_protocol::a2a::task::StatusView<'_>>| status.and_then(|s| s.state());
    match StreamItem::read(value).ok()? {
        StreamItem::Message(_) => Some(Sign { moment, status: true, end: true }),
        StreamItem::ArtifactUpdate(_) => Some(Sign { moment, status: false, end: false }),
        read @ (StreamItem::Task(_) | StreamItem::StatusUpdate(_)) => {
            let state = state(read.status()).filter(|s| *s != TaskState::Submitted)?;
            Some(Sign { moment, status: true, end: still(state) })
        }
    }
}

fn still(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// What of a task shows that it went on: its status, and how many artifacts it has.
fn face(task: TaskView<'_>) -> (Value, usize) {
    (task.0.get("status").cloned().unwrap_or_default(), task.artifacts().len())
}

fn time(answered: &Answered<'_>, seq: Seq) -> Option<MonoNanos> {
    answered.tape.recording.events.iter().find(|e| e.seq == seq).map(|e| e.at)
}
