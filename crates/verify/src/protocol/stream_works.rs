//! `a2a.stream.works`: declared streaming really streams, to a state where the task stands still (I-09, A-05).

use ostiary_protocol::a2a::{Answer, StreamItem, TaskState, card::Capability};
use ostiary_record::{End, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::undeclared::declares,
    scenarios::{example, stream},
};

/// The check.
pub(super) struct StreamWorks;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.works",
    version: 1,
    summary: "Declared streaming works: events come as they happen, and an example's stream ends as the example must.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09", "A-05"],
    reads: Reads::Any(&[stream::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[
        ReasonCode::StreamTruncated,
        ReasonCode::StreamNotIncremental,
        ReasonCode::CapabilityNotKept,
        ReasonCode::ResponseMalformed,
    ],
    severity: Severity::Error,
    liar: "a_stream_that_is_cut_is_caught",
};

/// Below this an agent is simply fast, and events that come together prove nothing: 20 ms.
const HELD_BACK_NANOS: u64 = 20_000_000;
/// How many times longer the events were apart when they happened than when they came.
const HELD_BACK_TIMES: u64 = 4;

impl Check for StreamWorks {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        answers::asking(facts, "SendStreamingMessage").iter().flat_map(|a| judge(facts, a)).collect()
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Finding> {
    if let Some(unusable) = answered.unusable(facts) {
        return vec![unusable];
    }
    let x = answered.exchange.id;
    let fail = |reason, expected: &str, observed: String| {
        vec![facts.fail(reason, answered.cite(), expected, observed).at_exchange(x)]
    };
    if answered.credential_refused() {
        let remedy = "the credential was refused";
        return vec![facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy).at_exchange(x)];
    }
    if let Some((error, _)) = answered.reply.error() {
        return fail(ReasonCode::CapabilityNotKept, "the declared stream", error.label());
    }
    if !answered.reply.streamed {
        let media =
            answered.reply.media_type.as_ref().map_or_else(|| "no content type".to_owned(), ToString::to_string);
        return fail(ReasonCode::CapabilityNotKept, "a stream (`text/event-stream`)", media);
    }
    match progress(answered) {
        Err(why) => fail(ReasonCode::ResponseMalformed, "events in the envelope of the binding", why),
        Ok(Progress::Unserved(state)) => vec![unserved(facts, answered, state)],
        Ok(Progress::StandsStill) => {
            let mut out = vec![facts.pass(answered.cite()).at_exchange(x)];
            out.extend(held_back(facts, answered));
            out
        }
        Ok(Progress::Open(last)) => match ended_by_us(answered) {
            Some((reason, remedy)) => {
                vec![facts.inconclusive(reason, "the end of the stream", remedy).at_exchange(x)]
            }
            None => fail(ReasonCode::StreamTruncated, "a terminal or interrupted state before the stream ends", last),
        },
    }
}

/// A stream that only ever says no keeps no promise; what was not promised proves nothing.
fn unserved(facts: &Facts<'_>, answered: &Answered<'_>, state: TaskState) -> Finding {
    let x = answered.exchange.id;
    let example = example::of_variant(&answered.tape.recording.axes, facts.bundle(), facts.card());
    if !example.promised {
        let remedy = format!("add an example to skills.yaml or to the card: the greeting ended as {state}");
        return facts.inconclusive(ReasonCode::ControlFailed, "an example", remedy).at_exchange(x);
    }
    let expected = format!("the stream of the example `{}` to complete", example.name);
    let finding = facts.fail(ReasonCode::CapabilityNotKept, answered.cite(), expected, state.to_string());
    finding.at_exchange(x).with_business(true, "failed")
}

/// Why it was our patience that ended, and not the stream.
pub(super) fn ended_by_us(answered: &Answered<'_>) -> Option<(ReasonCode, String)> {
    match answered.reply.end.as_ref() {
        Some(End::Deadline) => {
            Some((ReasonCode::TargetUnresponsive, "the stream was still open at our deadline".to_owned()))
        }
        Some(End::Limit { which }) => Some((ReasonCode::BudgetExceeded, format!("bound `{which}` was hit"))),
        Some(End::LocalAbort) | None => {
            Some((ReasonCode::ObservationIncomplete, "the exchange was not finished".to_owned()))
        }
        Some(End::Complete | End::PeerReset { .. } | End::NoConnection { .. }) => None,
    }
}

pub(super) enum Progress {
    /// A terminal status came, or the last one is interrupted, or the answer is one message. What comes after a terminal
    /// status is judged by checks of its own.
    StandsStill,
    /// A terminal status came that is no success.
    Unserved(TaskState),
    /// It is not; which it is.
    Open(String),
}

/// Where a stream left its task.
///
/// A cut in the middle of an event is a truncation, not garbage; everything else that cannot be read is garbage.
pub(super) fn progress(answered: &Answered<'_>) -> Result<Progress, String> {
    let mut last = Progress::Open("no event".to_owned());
    let count = answered.reply.items.len();
    for (n, item) in answered.reply.items.iter().enumerate() {
        let value = match &item.answer {
            Answer::Result(value) => value,
            Answer::Malformed(why) if n + 1 == count && answered.reply.cut => {
                return Ok(Progress::Open(why.clone()));
            }
            Answer::Malformed(why) => return Err(why.clone()),
            Answer::Error(error) => return Ok(Progress::Open(error.label())),
        };
        if !item.echoes_id {
            return Err("an event does not carry the id of the request".to_owned());
        }
        let read = StreamItem::read(value).map_err(|problem| problem.to_string())?;
        match (&read, read.status().map(ostiary_protocol::a2a::task::StatusView::written)) {
            (StreamItem::Message(_), _) => last = Progress::StandsStill,
            (_, Some(state)) => match state.state() {
                Some(TaskState::Completed) => return Ok(Progress::StandsStill),
                Some(known) if known.is_terminal() => return Ok(Progress::Unserved(known)),
                Some(known) if known.is_interrupted() => last = Progress::StandsStill,
                Some(_) | None => last = Progress::Open(state.to_string()),
            },
            (_, None) => {}
        }
    }
    Ok(last)
}

/// A warning where the events' own times lie far apart and they came all at once: they were held back.
fn held_back(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    let items: Vec<_> = answered.reply.stream_items().filter_map(|(seq, i)| Some((seq, i.ok()?))).collect();
    let times = items.iter().filter_map(|(_, i)| i.status()?.timestamp());
    let stamps: Vec<i128> = times.map(|t| t.as_nanosecond()).collect();
    let happened = u64::try_from(stamps.iter().max()? - stamps.iter().min()?).unwrap_or(0);
    let first = answered.reply.items.first()?.at.0;
    let last = answered.reply.items.last()?.at.0;
    let came = last.saturating_sub(first);
    if happened < HELD_BACK_NANOS || came.saturating_mul(HELD_BACK_TIMES) > happened {
        return None;
    }
    let millis = |nanos: u64| nanos / 1_000_000;
    let observed = format!("{} events within {} ms", answered.reply.items.len(), millis(came));
    let expected = format!("events as they happen, over some {} ms", millis(happened));
    let finding = facts.fail(ReasonCode::StreamNotIncremental, answered.cite(), expected, observed);
    Some(finding.at_exchange(answered.exchange.id).as_severity(Severity::Warning))
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Kind, MonoNanos, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn streaming(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| if i.operation == "SendStreamingMessage" { change(i) } else { Edit::Keep })
    }

    /// An hour between the events, as the agent's clock in memory has them seconds apart.
    fn spread(driven: &mut Driven) {
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == stream::ID) {
            for event in &mut recording.events {
                if let Kind::Frame { n, .. } = event.kind {
                    event.at = MonoNanos(event.at.0 + u64::from(n) * 1_000_000_000);
                }
            }
        }
    }

    #[test]
    fn an_honest_stream_passes() {
        let mut driven = World::honest().drive();
        spread(&mut driven);
        passes(&StreamWorks, &driven);
        assert_eq!(warnings(&StreamWorks, &driven), []);
    }

    #[test]
    fn a_stream_that_is_cut_is_caught() {
        let cut = streaming(|i| if i.n >= 2 { Edit::Drop } else { Edit::Keep });
        caught(&StreamWorks, &cut, ReasonCode::StreamTruncated);
        let nothing = streaming(|_| Edit::Drop);
        assert_eq!(nothing.verdict(&StreamWorks).0, Outcome::Fail, "an empty stream is a truncated one");
    }

    #[test]
    fn a_stream_that_is_none_is_caught() {
        let refused = streaming(|i| Edit::Replace(i.with_error(json!({"code": -32004, "message": "no"}))));
        caught(&StreamWorks, &refused, ReasonCode::CapabilityNotKept);
        let legacy = streaming(|i| Edit::Replace(i.with_result(json!({"kind": "task", "id": "t"}))));
        caught(&StreamWorks, &legacy, ReasonCode::ResponseMalformed);
    }

    #[test]
    fn a_stream_that_only_says_no_is_caught() {
        for state in ["TASK_STATE_FAILED", "TASK_STATE_REJECTED", "TASK_STATE_CANCELED"] {
            let refused = streaming(|i| match i.n {
                3 => i.changed(|a| a["result"]["statusUpdate"]["status"]["state"] = json!(state)),
                _ => Edit::Keep,
            });
            caught(&StreamWorks, &refused, ReasonCode::CapabilityNotKept);
        }
    }

    #[test]
    fn a_stream_whose_last_event_lacks_its_blank_line_is_caught() {
        let mut driven = World::honest().drive();
        for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == stream::ID) {
            for event in &mut recording.events {
                if let Kind::Frame { n: 3, bytes, .. } = &mut event.kind {
                    *bytes = bytes.as_str().unwrap().trim_end_matches("\r\n").to_owned().into();
                }
            }
        }
        caught(&StreamWorks, &driven, ReasonCode::StreamTruncated);
    }

    #[test]
    fn events_that_were_held_back_are_warned_about() {
        let driven = World::honest().drive();
        passes(&StreamWorks, &driven);
        assert_eq!(warnings(&StreamWorks, &driven), [ReasonCode::StreamNotIncremental]);
    }

    #[test]
    fn a_stream_that_we_gave_up_on_is_unknown() {
        for how in [End::Deadline, End::Limit { which: "frames".to_owned() }] {
            let mut driven = streaming(|i| if i.n >= 2 { Edit::Drop } else { Edit::Keep });
            for recording in driven.run.recordings.iter_mut().filter(|r| r.scenario.0 == stream::ID) {
                let first = recording.events.iter_mut().find_map(|e| match &mut e.kind {
                    Kind::Ended { how, .. } => Some(how),
                    _ => None,
                });
                *first.unwrap() = how.clone();
            }
            is(&StreamWorks, &driven, Outcome::Inconclusive);
        }
    }

    #[test]
    fn a_stream_may_end_where_the_task_waits() {
        let waits = streaming(|i| match i.n {
            3 => i.changed(|a| a["result"]["statusUpdate"]["status"]["state"] = json!("TASK_STATE_INPUT_REQUIRED")),
            _ => Edit::Keep,
        });
        passes(&StreamWorks, &waits);
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&StreamWorks, &World::without_streaming().drive(), Outcome::NotApplicable);
    }
}
