//! `a2a.stream.independent`: to close one stream of a task changes nothing for the others (A-05; §3.5.2).

use ostiary_protocol::a2a::card::Capability;
use ostiary_record::{End, Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{stream_fan_out::nothing_beside, undeclared::declares},
    scenarios::subscribe,
    story::{self, Story},
};

/// The check.
pub(super) struct Independent;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.independent",
    version: 1,
    summary: "When one stream of a task is closed, the others go on to its end.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-05", "A-03"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::StreamClosedWithAnother, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "a_stream_that_ends_with_another_is_caught",
};

impl Check for Independent {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let Some(story) = story::of(facts, subscribe::TOGETHER) else { return vec![answers::no_task(facts)] };
        let Some((_, closed)) = story.tape.recording.mark(subscribe::CLOSED) else {
            return vec![nothing_beside(facts, &story)];
        };
        if ends_early_alone(facts) {
            let remedy = "streams end too early also where none is closed; see a2a.subscribe.works";
            return vec![facts.inconclusive(ReasonCode::ControlFailed, "a stream that goes to the end", remedy)];
        }
        story.origin.iter().chain(&story.subscriptions).filter_map(|a| judge(facts, &story, a, closed)).collect()
    }
}

/// The control: whether the only stream of a task ends before the task does.
fn ends_early_alone(facts: &Facts<'_>) -> bool {
    let alone = story::of(facts, subscribe::ALONE);
    let only = alone.and_then(|s| s.subscriptions.into_iter().next());
    only.is_some_and(|a| a.reply.streamed && story::end_of(&a).is_none())
}

/// The streams that stayed; not the one that was closed.
fn judge(facts: &Facts<'_>, story: &Story<'_>, answered: &Answered<'_>, closed: Seq) -> Option<Finding> {
    let x = answered.exchange.id;
    let (how, ended) = answered.exchange.ended?;
    if ended < closed || matches!(how, End::LocalAbort) || !answered.reply.streamed {
        return None;
    }
    if let Some((seq, _)) = story::end_of(answered) {
        return Some(facts.pass(vec![answered.tape.cite(closed), answered.tape.cite(seq)]).at_exchange(x));
    }
    if matches!(how, End::Deadline | End::Limit { .. }) {
        let remedy = "the stream was still open at our bound";
        let finding = facts.inconclusive(ReasonCode::TargetUnresponsive, "the end of the stream", remedy);
        return Some(finding.at_exchange(x));
    }
    let last = story.last_state_after(closed).map_or_else(|| "unknown".to_owned(), |(_, state)| state.to_string());
    let expected = "the stream to go on to the task's end after another one was closed";
    let observed = format!("it ended without one; the task was last seen {last}");
    let at = vec![answered.tape.cite(closed), answered.tape.cite(ended)];
    Some(facts.fail(ReasonCode::StreamClosedWithAnother, at, expected, observed).at_exchange(x))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    /// Every stream of these stories ends before it tells of the end.
    fn cut(stories: &'static [&'static str]) -> Driven {
        World::honest().drive().edit(|i: &Item<'_>| {
            let story = i.axes.get(subscribe::AXIS).is_some_and(|s| stories.contains(&s.as_str()));
            let end = i.answer["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED";
            if story && end { Edit::Drop } else { Edit::Keep }
        })
    }

    #[test]
    fn streams_that_go_on_pass() {
        passes(&Independent, &World::honest().drive());
    }

    #[test]
    fn a_stream_that_ends_with_another_is_caught() {
        caught(&Independent, &cut(&[subscribe::TOGETHER]), ReasonCode::StreamClosedWithAnother);
    }

    #[test]
    fn streams_that_always_end_early_show_nothing_of_each_other() {
        is(&Independent, &cut(&[subscribe::TOGETHER, subscribe::ALONE]), Outcome::Inconclusive);
    }
}
