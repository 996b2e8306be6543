//! `a2a.stream.disconnect`: a task goes on when the connection of its stream is lost, and can be found again.

use ostiary_protocol::a2a::{ErrorKind, TaskState, card::Capability};
use ostiary_record::{EventRef, Finding, Gate, Layer, MonoNanos, ReasonCode, Seq, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{subscribe_works::nothing_followed, undeclared::declares},
    scenarios::subscribe,
    story::{self, Story},
};

/// The check.
pub(super) struct Disconnect;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.disconnect",
    version: 1,
    summary: "A task whose stream is lost goes on to its end, and can be read meanwhile.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-05"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::DisconnectEndsTask, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "a_task_that_is_canceled_by_a_lost_connection_is_caught",
};

/// How many times as long a task may take that lost its stream as one that did not, before it counts as one that stopped.
const PATIENCE: u64 = 3;

impl Check for Disconnect {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let Some(story) = story::of(facts, subscribe::ALONE) else { return vec![answers::no_task(facts)] };
        let Some((_, lost)) = story.tape.recording.mark(subscribe::LOST) else {
            return vec![nothing_followed(facts, &story)];
        };
        vec![judge(facts, &story, lost)]
    }
}

fn judge(facts: &Facts<'_>, story: &Story<'_>, lost: Seq) -> Finding {
    let cite = |seq: Seq| vec![story.tape.cite(lost), story.tape.cite(seq)];
    let expected = "the task to go on to its end although its stream was lost";
    let fail = |at: Seq, observed: String| facts.fail(ReasonCode::DisconnectEndsTask, cite(at), expected, observed);
    let gone = |a: &answers::Answered<'_>| {
        let (error, at) = a.reply.error()?;
        error.may_mean(ErrorKind::TaskNotFound).then(|| (at, error.label()))
    };
    if let Some((at, label)) = story.reads.iter().find_map(gone) {
        return fail(at, label);
    }
    let Some((at, state)) = ended(story, lost).or_else(|| story.last_state_after(lost)) else {
        let remedy = "the task was not read after the connection was lost";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "the task", remedy);
    };
    match state {
        TaskState::Completed | TaskState::InputRequired | TaskState::AuthRequired => facts.pass(cite(at)),
        ended if ended.is_terminal() => {
            let unheard = control(facts, ended);
            unheard.unwrap_or_else(|| fail(at, format!("the task is {ended}")))
        }
        open => stopped(facts, story, (lost, at, open)),
    }
}

/// The first end that was read or told after the connection was lost. That it is taken back is judged elsewhere.
fn ended(story: &Story<'_>, lost: Seq) -> Option<(Seq, TaskState)> {
    let told = story.subscriptions.iter().filter_map(story::end_of);
    let read = story.reads.iter().filter_map(answers::Answered::task);
    let read = read.filter_map(|(task, seq)| Some((seq, task.state().filter(|s| s.is_terminal())?)));
    told.chain(read).filter(|(seq, _)| *seq > lost).min_by_key(|(seq, _)| *seq)
}

/// The same task with its streams kept: where it ends in the same way, the lost connection is not to blame.
fn control(facts: &Facts<'_>, state: TaskState) -> Option<Finding> {
    let kept = story::of(facts, subscribe::TOGETHER)?;
    let end = kept.origin.as_ref().and_then(story::end_of);
    if end.is_some_and(|(_, kept)| kept != state) {
        return None;
    }
    let remedy = format!("with its streams kept the task does not complete either; it is {state}");
    Some(facts.inconclusive(ReasonCode::ControlFailed, "a task that completes", remedy))
}

/// A task that is still open where it should long have ended has stopped.
fn stopped(facts: &Facts<'_>, story: &Story<'_>, (lost, at, state): (Seq, Seq, TaskState)) -> Finding {
    let open = |from: MonoNanos, to: MonoNanos| to.0.saturating_sub(from.0);
    let when = |seq: Seq| story.tape.recording.events.iter().find(|e| e.seq == seq).map(|e| e.at);
    let last = story.reads.iter().map(|r| r.reply.decisive).max().unwrap_or(at);
    let waited = when(lost).zip(when(last)).map(|(from, to)| open(from, to));
    let usual = story::of(facts, subscribe::TOGETHER).and_then(|kept| {
        let origin = kept.origin?;
        let (end, _) = story::end_of(&origin)?;
        let end = kept.tape.recording.events.iter().find(|e| e.seq == end)?.at;
        Some(open(origin.exchange.sent.at, end))
    });
    let millis = |nanos: u64| nanos / 1_000_000;
    match waited.zip(usual) {
        Some((waited, usual)) if waited > usual.saturating_mul(PATIENCE) => {
            let expected = format!("the task to end as it does in {} ms where its stream is kept", millis(usual));
            let observed = format!("still {state} after {} ms", millis(waited));
            let cited: Vec<EventRef> = vec![story.tape.cite(lost), story.tape.cite(last)];
            facts.fail(ReasonCode::DisconnectEndsTask, cited, expected, observed)
        }
        _ => {
            let remedy = format!("the task was still {state} when the last look was taken");
            facts.inconclusive(ReasonCode::TargetUnresponsive, "the end of the task", remedy)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    fn alone(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| {
            let alone = i.axes.get(subscribe::AXIS).is_some_and(|s| s == subscribe::ALONE);
            if alone && i.operation != "SendStreamingMessage" { change(i) } else { Edit::Keep }
        })
    }

    fn always(state: &'static str) -> Driven {
        alone(move |i| {
            i.changed(|a| {
                for at in ["/result/status", "/result/task/status", "/result/statusUpdate/status"] {
                    if let Some(status) = a.pointer_mut(at) {
                        status["state"] = json!(state);
                    }
                }
            })
        })
    }

    #[test]
    fn a_task_that_goes_on_passes() {
        passes(&Disconnect, &World::honest().drive());
    }

    #[test]
    fn a_task_that_is_canceled_by_a_lost_connection_is_caught() {
        for state in ["TASK_STATE_CANCELED", "TASK_STATE_FAILED"] {
            caught(&Disconnect, &always(state), ReasonCode::DisconnectEndsTask);
        }
    }

    #[test]
    fn a_task_that_is_gone_is_caught() {
        let gone = alone(|i| {
            let refusal = json!({"code": -32001, "message": "no"});
            if i.operation == "GetTask" { Edit::Replace(i.with_error(refusal)) } else { Edit::Keep }
        });
        caught(&Disconnect, &gone, ReasonCode::DisconnectEndsTask);
    }

    #[test]
    fn a_task_that_stops_is_caught_once_that_is_sure() {
        let mut stops = always("TASK_STATE_WORKING");
        caught(&Disconnect, &stops, ReasonCode::DisconnectEndsTask);
        let of = |r: &&mut ostiary_record::Recording| {
            r.scenario.0 == subscribe::ID && r.axes.values.get(subscribe::AXIS).is_some_and(|s| s == subscribe::ALONE)
        };
        for event in stops.run.recordings.iter_mut().filter(of).flat_map(|r| &mut r.events) {
            event.at = MonoNanos(0);
        }
        is(&Disconnect, &stops, Outcome::Inconclusive);
    }

    #[test]
    fn a_task_that_fails_with_its_streams_kept_proves_nothing() {
        let fails = always("TASK_STATE_FAILED").edit(|i| {
            let kept = i.axes.get(subscribe::AXIS).is_some_and(|s| s == subscribe::TOGETHER);
            let end = i.answer["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED";
            if kept && end {
                return i.changed(|a| a["result"]["statusUpdate"]["status"]["state"] = json!("TASK_STATE_FAILED"));
            }
            Edit::Keep
        });
        is(&Disconnect, &fails, Outcome::Inconclusive);
    }
}
