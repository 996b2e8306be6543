//! `a2a.stream.closes`: a task's stream ends with its terminal state.

use ostiary_protocol::a2a::{StreamItem, card::Capability};
use ostiary_record::{End, EventRef, Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::undeclared::declares,
    scenarios::stream,
};

/// The check.
pub(super) struct StreamCloses;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.closes",
    version: 1,
    summary: "A task's stream closes at its terminal state, with nothing after it.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-03"],
    reads: Reads::Any(&[stream::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::StreamNotClosed],
    severity: Severity::Error,
    liar: "an_event_after_the_terminal_state_is_caught",
};

impl Check for StreamCloses {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let asked = answers::asking(facts, "SendStreamingMessage");
        asked.iter().map(|a| judge(facts, a).at_exchange(a.exchange.id)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(nothing) = answers::no_stream(facts, answered) {
        return nothing;
    }
    let items: Vec<_> = answered.reply.stream_items().filter_map(|(seq, i)| Some((seq, i.ok()?))).collect();
    let ends = |i: &StreamItem<'_>| {
        matches!(i, StreamItem::Message(_))
            || i.status().and_then(ostiary_protocol::a2a::task::StatusView::state).is_some_and(|s| s.is_terminal())
    };
    let Some(at) = items.iter().position(|(_, i)| ends(i)) else {
        let remedy = "the stream brought no terminal state; see a2a.stream.works";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "a terminal state", remedy);
    };
    let expected = "nothing after the terminal state, and the stream closed";
    let fail = |seq: Seq, observed: String| {
        let seen: Vec<EventRef> = vec![answered.tape.cite(items[at].0), answered.tape.cite(seq)];
        facts.fail(ReasonCode::StreamNotClosed, seen, expected, observed)
    };
    let news = |(n, (_, item)): &(usize, &(Seq, StreamItem<'_>))| {
        let snapshot = matches!(item, StreamItem::Task(_)) && ends(item);
        !snapshot && !repeats_earlier(answered, at + 1 + n)
    };
    let late = items[at + 1..].iter().enumerate().find(news).map(|(_, late)| late);
    match late {
        Some((_, item)) if item.status().is_some() && !ends(item) => {
            let remedy = "the task was reopened; see a2a.task.terminal_reopened";
            return facts.inconclusive(ReasonCode::ObservationIncomplete, "a task that stays ended", remedy);
        }
        Some((seq, item)) => return fail(*seq, format!("`{}` after it", item.member())),
        None => {}
    }
    match answered.exchange.ended {
        Some((End::Deadline, seq)) => fail(seq, "still open at our deadline".to_owned()),
        Some(_) if matches!(items[at].1, StreamItem::Message(_)) => answers::message_only(facts),
        Some((_, seq)) => facts.pass(vec![answered.tape.cite(items[at].0), answered.tape.cite(seq)]),
        None => facts.inconclusive(ReasonCode::ObservationIncomplete, "the end", "the exchange was not finished"),
    }
}

/// Whether an item says what one before it said: that is judged as a repetition, and is no news.
fn repeats_earlier(answered: &Answered<'_>, n: usize) -> bool {
    let items = &answered.reply.items;
    items.get(n).is_some_and(|item| items[..n].iter().any(|earlier| earlier.answer == item.answer))
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Kind, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes, unstreamed};

    #[test]
    fn a_stream_that_closes_passes_also_with_a_last_snapshot() {
        passes(&StreamCloses, &World::honest().drive());
        let snapshot = World::honest().drive().edit(|i| {
            let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_COMPLETED"}}});
            if i.operation == "SendStreamingMessage" && i.n == 3 {
                Edit::Then(vec![i.with_result(task)])
            } else {
                Edit::Keep
            }
        });
        passes(&StreamCloses, &snapshot);
    }

    #[test]
    fn an_event_after_the_terminal_state_is_caught() {
        let goes_on = World::honest().drive().edit(|i| {
            let artifact = json!({"artifactId": "late", "parts": [{"data": {}}]});
            let update = json!({"artifactUpdate": {"taskId": "t", "contextId": "c1", "artifact": artifact}});
            let late = Edit::Then(vec![i.with_result(update)]);
            if i.operation == "SendStreamingMessage" && i.n == 3 { late } else { Edit::Keep }
        });
        caught(&StreamCloses, &goes_on, ReasonCode::StreamNotClosed);
    }

    #[test]
    fn what_is_no_stream_of_a_task_shows_nothing() {
        for driven in unstreamed() {
            is(&StreamCloses, &driven, Outcome::Inconclusive);
        }
        let mut messages = World::honest();
        messages.makes_tasks = false;
        is(&StreamCloses, &messages.drive(), Outcome::NotApplicable);
    }

    #[test]
    fn what_other_checks_catch_is_left_to_them() {
        let after = |change: fn(&mut serde_json::Value)| {
            World::honest().drive().edit(|i| {
                let mut more = i.answer.clone();
                change(&mut more);
                if i.operation == "SendStreamingMessage" && i.n == 3 { Edit::Then(vec![more]) } else { Edit::Keep }
            })
        };
        passes(&StreamCloses, &after(|_| {}));
        let reopened = after(|a| a["result"]["statusUpdate"]["status"]["state"] = json!("TASK_STATE_WORKING"));
        is(&StreamCloses, &reopened, Outcome::Inconclusive);
    }

    #[test]
    fn a_stream_that_stays_open_is_caught() {
        let mut open = World::honest().drive();
        for recording in open.run.recordings.iter_mut().filter(|r| r.scenario.0 == stream::ID) {
            let ended = recording.events.iter_mut().find_map(|e| match &mut e.kind {
                Kind::Ended { how, .. } => Some(how),
                _ => None,
            });
            *ended.unwrap() = End::Deadline;
        }
        caught(&StreamCloses, &open, ReasonCode::StreamNotClosed);
    }
}
