//! `a2a.request.dropped`: a task lives on when the request that is waited for is dropped.

use ostiary_protocol::a2a::{ErrorKind, TaskState};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::{Facts, Tape},
    scenarios::{conversation::LISTED, lost},
};

/// The check.
pub(super) struct Dropped;

static SPEC: CheckSpec = CheckSpec {
    id: lost::DROPPED,
    version: 1,
    summary: "To drop a request cancels nothing: its task is found, and goes on to its end.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-14", "A-05"],
    reads: Reads::Any(&[lost::DROPPED]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::DisconnectEndsTask],
    severity: Severity::Error,
    liar: "a_task_that_is_canceled_with_its_request_is_caught",
};

impl Check for Dropped {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        judge_all(facts, ReasonCode::DisconnectEndsTask)
    }
}

/// What became of the tasks whose answers were lost; `reason` is what it is called where one did not go on.
pub(crate) fn judge_all(facts: &Facts<'_>, reason: ReasonCode) -> Vec<Finding> {
    let all = answers::all(facts);
    facts.tapes().iter().map(|tape| judge(facts, *tape, &all, reason)).collect()
}

fn judge(facts: &Facts<'_>, tape: Tape<'_>, all: &[Answered<'_>], reason: ReasonCode) -> Finding {
    let own: Vec<&Answered<'_>> = all.iter().filter(|a| a.tape.index == tape.index).collect();
    let Some((task, lost)) = tape.recording.mark(lost::LOST) else { return unfound(facts, &own) };
    let reads: Vec<&Answered<'_>> =
        own.iter().copied().filter(|a| a.operation() == "GetTask" && a.exchange.sent.seq > lost).collect();
    let cite = |seq: Seq| -> Vec<EventRef> { vec![tape.cite(lost), tape.cite(seq)] };
    let expected = "the task to go on to its end although nobody waits for it any more";
    let fail = |seq: Seq, observed: String| facts.fail(reason, cite(seq), expected, observed);
    let gone = |a: &&Answered<'_>| {
        let (error, seq) = a.reply.error()?;
        error.may_mean(ErrorKind::TaskNotFound).then(|| (error.label(), seq))
    };
    if let Some((label, seq)) = reads.iter().find_map(gone) {
        return fail(seq, label);
    }
    let mut states = reads.iter().filter_map(|a| a.task()).filter_map(|(task, seq)| Some((task.state()?, seq)));
    match states.next_back() {
        Some((TaskState::Canceled, seq)) => fail(seq, "TASK_STATE_CANCELED, and nobody canceled it".to_owned()),
        Some((TaskState::Completed | TaskState::InputRequired | TaskState::AuthRequired, seq)) => facts.pass(cite(seq)),
        Some((state, _)) if state.is_terminal() => {
            let remedy = format!("the task is {state}, and not known to complete otherwise");
            facts.inconclusive(ReasonCode::ControlFailed, "a task that completes", remedy)
        }
        Some((state, _)) => {
            let remedy = format!("the task was still {state} when the last look was taken");
            facts.inconclusive(ReasonCode::TargetUnresponsive, "the end of the task", remedy)
        }
        // a request that is dropped at once need not have made a task
        None if task.is_none() => nothing_made(facts, tape, &own, lost),
        None => {
            let remedy = "the task was not read after its answer was lost";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "the task", remedy)
        }
    }
}

/// No task shows after a request was dropped at once: right, as long as the list can be relied on.
fn nothing_made(facts: &Facts<'_>, tape: Tape<'_>, own: &[&Answered<'_>], lost: Seq) -> Finding {
    let mut lists = own.iter().filter(|a| a.operation() == "ListTasks" && a.exchange.sent.seq > lost);
    match lists.next_back() {
        Some(list) if tape.recording.mark(LISTED).is_some() => facts.pass(list.cite()),
        _ => unfound(facts, own),
    }
}

fn unfound(facts: &Facts<'_>, own: &[&Answered<'_>]) -> Finding {
    if own.iter().all(|a| a.operation() != "ListTasks") {
        return answers::no_task(facts);
    }
    let remedy = "the task of the message was not found by ListTasks with its contextId";
    facts.inconclusive(ReasonCode::ObservationIncomplete, "the task of a message that is waited for", remedy)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn reading(state: &'static str) -> Driven {
        World::honest().drive().edit(|i| {
            if i.scenario == lost::DROPPED && i.operation == "GetTask" {
                return i.changed(|a| a["result"]["status"]["state"] = json!(state));
            }
            Edit::Keep
        })
    }

    #[test]
    fn a_task_that_outlives_its_request_passes() {
        passes(&Dropped, &World::honest().drive());
        passes(&Dropped, &World::without_streaming().drive());
    }

    #[test]
    fn a_task_that_is_canceled_with_its_request_is_caught() {
        caught(&Dropped, &reading("TASK_STATE_CANCELED"), ReasonCode::DisconnectEndsTask);
        is(&Dropped, &reading("TASK_STATE_FAILED"), Outcome::Inconclusive);
    }

    #[test]
    fn a_task_that_is_gone_with_its_request_is_caught() {
        let gone = World::honest().drive().edit(|i| {
            let error = json!({"code": -32001, "message": "no"});
            let read = i.scenario == lost::DROPPED && i.operation == "GetTask";
            if read { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        });
        caught(&Dropped, &gone, ReasonCode::DisconnectEndsTask);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_tasks_to_lose() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&Dropped, &world.drive(), Outcome::NotApplicable);
    }
}
