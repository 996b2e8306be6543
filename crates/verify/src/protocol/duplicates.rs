//! `a2a.stream.duplicates`: no event of a stream is delivered twice as if it were new (T-07).

use ostiary_protocol::a2a::{Answer, StreamItem, card::Capability, reply::Item};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::undeclared::declares,
    scenarios::stream,
};

/// The check.
pub(super) struct Duplicates;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.duplicates",
    version: 1,
    summary: "No event of a stream is delivered twice as if it were new.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-07"],
    reads: Reads::Any(&[stream::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::DuplicateEventMishandled],
    severity: Severity::Error,
    liar: "a_repeated_event_is_caught",
};

/// How many events back a repetition is looked for where the contract says nothing.
const WINDOW: usize = 10;

impl Check for Duplicates {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let window = facts.bundle().temporal.duplicate_event_window.and_then(|w| usize::try_from(w).ok());
        let window = window.unwrap_or(WINDOW);
        let asked = answers::asking(facts, "SendStreamingMessage");
        asked.iter().flat_map(|a| judge(facts, a, window)).map(|f| f.1.at_exchange(f.0)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>, window: usize) -> Vec<(ostiary_record::ExchangeId, Finding)> {
    let x = answered.exchange.id;
    if let Some(nothing) = answers::no_stream(facts, answered) {
        return vec![(x, nothing)];
    }
    let items = &answered.reply.items;
    let mut out = Vec::new();
    for (n, item) in items.iter().enumerate() {
        let before = &items[n.saturating_sub(window)..n];
        let Some(severity) = severity(item) else { continue };
        if let Some(earlier) = before.iter().rev().find(|earlier| repeats(earlier, item)) {
            let at = vec![answered.tape.cite(earlier.seq), answered.tape.cite(item.seq)];
            let expected = "each event once, or the repetition marked by the event id";
            let finding = facts.fail(ReasonCode::DuplicateEventMishandled, at, expected, "the same event again");
            out.push((x, finding.as_severity(severity)));
        }
    }
    if out.iter().all(|(_, f)| f.severity != Severity::Error) {
        let seen: Vec<EventRef> = items.iter().map(|i| answered.tape.cite(i.seq)).collect();
        out.push((x, facts.pass(answers::some_of(seen))));
    }
    out
}

/// How grave it is when the event comes again.
///
/// A status with a time is one moment and cannot happen twice. An artifact that is replaced by itself does no harm, so
/// it is a warning. A piece that is appended, or a status without time that is not terminal, may truly repeat.
fn severity(item: &Item) -> Option<Severity> {
    let Answer::Result(value) = &item.answer else { return None };
    match StreamItem::read(value).ok()? {
        StreamItem::StatusUpdate(update) => {
            let status = update.status();
            let once = status.timestamp_text().is_some() || status.state().is_some_and(|s| s.is_terminal());
            once.then_some(Severity::Error)
        }
        StreamItem::ArtifactUpdate(update) => (!update.appends()).then_some(Severity::Warning),
        StreamItem::Task(_) | StreamItem::Message(_) => None,
    }
}

/// Whether a later item says exactly what an earlier one said, without being marked as the same by its event id.
fn repeats(earlier: &Item, later: &Item) -> bool {
    let marked = earlier.event_id.is_some() && earlier.event_id == later.event_id;
    !marked && earlier.answer == later.answer
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, unstreamed, warnings};

    fn twice(n: u32, change: impl Fn(&Item<'_>) -> serde_json::Value) -> Driven {
        World::honest().drive().edit(|i| {
            let this = i.operation == "SendStreamingMessage" && i.n == n;
            if this { Edit::Then(vec![change(i)]) } else { Edit::Keep }
        })
    }

    #[test]
    fn events_that_come_once_pass() {
        passes(&Duplicates, &World::honest().drive());
    }

    #[test]
    fn a_repeated_event_is_caught() {
        caught(&Duplicates, &twice(1, |i| i.answer.clone()), ReasonCode::DuplicateEventMishandled);
        caught(&Duplicates, &twice(3, |i| i.answer.clone()), ReasonCode::DuplicateEventMishandled);
    }

    #[test]
    fn what_is_no_stream_shows_nothing() {
        for driven in unstreamed() {
            is(&Duplicates, &driven, Outcome::Inconclusive);
        }
    }

    #[test]
    fn the_same_state_at_another_time_is_news() {
        let later = twice(1, |i| {
            let mut answer = i.answer.clone();
            answer["result"]["statusUpdate"]["status"]["timestamp"] = json!("2026-11-30T09:59:59Z");
            answer
        });
        passes(&Duplicates, &later);
    }

    #[test]
    fn an_artifact_that_replaces_itself_is_warned_about() {
        let again = twice(2, |i| i.answer.clone());
        passes(&Duplicates, &again);
        assert_eq!(warnings(&Duplicates, &again), [ReasonCode::DuplicateEventMishandled]);
    }
}
