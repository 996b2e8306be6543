//! `a2a.task.cancel`: a cancel does what its answer says. What is said is held against what is read back.

use ostiary_protocol::a2a::{Answer, ErrorKind, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers,
    cancels::{self, Cancel},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{cancel, example},
    story,
};

/// The check.
pub(super) struct CancelWorks;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.cancel",
    version: 1,
    summary: "A task at work is canceled or the cancel is refused; whatever is answered, the task shows it.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-11", "A-14"],
    reads: Reads::Any(&[cancel::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[
        ReasonCode::CancelNotEffective,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ResponseMalformed,
        ReasonCode::ExampleMissing,
    ],
    severity: Severity::Error,
    liar: "a_cancel_that_is_acknowledged_and_ignored_is_caught",
};

/// How long a task may go on after its cancel was acknowledged without having ended as if nothing had been said, in
/// nanoseconds: success is not guaranteed (§3.1.5), but an end that comes later than this was not under way.
const RACE: u64 = 1_000_000_000;

impl Check for CancelWorks {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let cancels = cancels::of(facts);
        if cancels.is_empty() {
            return vec![answers::no_task(facts)];
        }
        let mut out: Vec<Finding> = cancels.iter().flat_map(|c| judge(facts, c)).collect();
        let points: Vec<&str> = cancels.iter().map(|c| c.point).collect();
        if !points.contains(&cancel::DELIVERY) && promised(facts) {
            let remedy = "the task of a message that is waited for was not found by ListTasks with its contextId";
            out.push(facts.inconclusive(ReasonCode::ObservationIncomplete, "a cancel before delivery", remedy));
        }
        out
    }
}

/// Whether the contract has an example that is long enough at work to be canceled.
fn promised(facts: &Facts<'_>) -> bool {
    example::long_running(facts.bundle(), facts.card()).is_some()
}

fn judge(facts: &Facts<'_>, cancel: &Cancel<'_>) -> Vec<Finding> {
    if let Some(unusable) = cancel.asked.unusable(facts) {
        return vec![unusable];
    }
    let x = cancel.asked.exchange.id;
    match cancel.asked.reply.first().map(|i| &i.answer) {
        Some(Answer::Error(_)) if cancel.asked.credential_refused() => {
            let remedy = "the credential was refused";
            vec![facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy).at_exchange(x)]
        }
        Some(Answer::Error(error)) => {
            let refuses = [ErrorKind::TaskNotCancelable, ErrorKind::UnsupportedOperation];
            if refuses.iter().any(|kind| error.may_mean(*kind)) {
                return refused(facts, cancel, &error.label());
            }
            let expected = "the task as it is, or a refusal with TaskNotCancelableError";
            let finding = facts.fail(ReasonCode::ErrorCodeMismatch, cancel.asked.cite(), expected, error.label());
            vec![finding.at_exchange(x)]
        }
        Some(Answer::Result(_)) if cancel.acknowledged().is_some() => vec![acknowledged(facts, cancel).at_exchange(x)],
        other => {
            let observed = match other {
                Some(Answer::Malformed(why)) => why.clone(),
                Some(_) => "another task, or none".to_owned(),
                None => "an empty answer".to_owned(),
            };
            let expected = format!("the task {}", cancel.task);
            let finding = facts.fail(ReasonCode::ResponseMalformed, cancel.asked.cite(), expected, observed);
            vec![finding.at_exchange(x)]
        }
    }
}

/// A refusal is right for a task that has ended; of one at work the specification lets an agent say so, too.
fn refused(facts: &Facts<'_>, cancel: &Cancel<'_>, label: &str) -> Vec<Finding> {
    let x = cancel.asked.exchange.id;
    let Some((state, seq)) = cancel.states().next() else { return vec![unread(facts, cancel)] };
    if state.is_terminal() {
        return vec![too_late(facts, cancel, seq).at_exchange(x)];
    }
    let expected = "a task at work to be canceled";
    let warning = facts.fail(ReasonCode::CancelNotEffective, cancel.cite_with(Some(seq)), expected, label);
    let pass = facts.pass(cancel.cite_with(Some(seq))).at_exchange(x);
    vec![pass, warning.at_exchange(x).as_severity(Severity::Warning)]
}

fn acknowledged(facts: &Facts<'_>, cancel: &Cancel<'_>) -> Finding {
    let told = cancel.told();
    let Some((last, seq)) = cancel.last() else { return unread(facts, cancel) };
    match told {
        Some(TaskState::Canceled) if last == TaskState::Canceled => facts.pass(cancel.cite_with(Some(seq))),
        Some(state) if state.is_terminal() && state == last => too_late(facts, cancel, seq),
        // that an ended task does not stay as it ended is judged once, elsewhere
        Some(state) if state.is_terminal() => {
            let remedy = "the task does not stay as it ended; see a2a.task.terminal_changed and terminal_reopened";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an end that stays", remedy)
        }
        _ if last == TaskState::Canceled => facts.pass(cancel.cite_with(Some(seq))),
        _ => went_on(facts, cancel),
    }
}

/// The cancel was acknowledged, and the task is not canceled: it lost a race, or nothing was done.
fn went_on(facts: &Facts<'_>, cancel: &Cancel<'_>) -> Finding {
    let (Some((acknowledged, _)), Some((last, at))) = (cancel.acknowledged(), cancel.last()) else {
        return unread(facts, cancel);
    };
    let ended: Option<(TaskState, Seq)> = cancel.states().find(|(state, _)| state.is_terminal());
    let until = ended.map_or(at, |(_, seq)| seq);
    let passed = cancel.time(until).0.saturating_sub(acknowledged.0);
    let seen_at_work = cancel.states().next().is_some_and(|(state, _)| !state.is_terminal());
    if seen_at_work && passed > RACE {
        let observed = format!("{last} {} ms after the cancel was acknowledged", passed / 1_000_000);
        let cited = cancel.cite_with(Some(until));
        return facts.fail(ReasonCode::CancelNotEffective, cited, "the acknowledged cancel to stop the task", observed);
    }
    if ended.is_some() {
        return too_late(facts, cancel, until);
    }
    let remedy = format!("the task was {last} when the last look was taken");
    facts.inconclusive(ReasonCode::TargetUnresponsive, "the end of the task", remedy)
}

/// The task had ended by itself: at two of the points a race that may be lost; right after it was accepted, the example is
/// too brief.
fn too_late(facts: &Facts<'_>, cancel: &Cancel<'_>, seq: Seq) -> Finding {
    if cancel.point != cancel::ACCEPTED {
        return facts.pass(cancel.cite_with(Some(seq)));
    }
    story::too_brief(facts)
}

fn unread(facts: &Facts<'_>, cancel: &Cancel<'_>) -> Finding {
    let remedy = "the task was not read after its cancel";
    facts.inconclusive(ReasonCode::ObservationIncomplete, "the task", remedy).at_exchange(cancel.asked.exchange.id)
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Outcome, Strength, Verdict};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn canceling(world: World, change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let after = |i: &Item<'_>| matches!(i.operation, "CancelTask" | "GetTask") && i.scenario == cancel::ID;
        world.drive().edit(|i| if after(i) { change(i) } else { Edit::Keep })
    }

    fn reads(i: &Item<'_>, state: &str) -> Edit {
        if i.answer.get("error").is_some() {
            let task = json!({"id": i.request["params"]["id"], "contextId": "c", "status": {"state": state}});
            return Edit::Replace(i.with_result(task));
        }
        i.changed(|a| a["result"]["status"]["state"] = json!(state))
    }

    #[test]
    fn a_cancel_that_works_passes_at_each_point() {
        passes(&CancelWorks, &World::honest().drive());
        passes(&CancelWorks, &World::without_streaming().drive());
    }

    #[test]
    fn a_cancel_that_is_acknowledged_and_ignored_is_caught() {
        for state in ["TASK_STATE_WORKING", "TASK_STATE_SUBMITTED"] {
            let ignored = canceling(World::honest(), |i| reads(i, state));
            caught(&CancelWorks, &ignored, ReasonCode::CancelNotEffective);
            let findings = ignored.judge(&CancelWorks);
            let strong = |v: &Verdict| matches!(v, Verdict::Fail { strength: Strength::Repeated { k: 2, n: 2 }, .. });
            assert!(findings.iter().any(|f| strong(&f.verdict)), "{findings:#?}");
        }
    }

    #[test]
    fn a_task_that_had_ended_when_it_was_canceled_lost_no_promise() {
        let late = canceling(World::honest(), |i| {
            let accepted = i.axes.get(cancel::AXIS).is_some_and(|p| p == cancel::ACCEPTED);
            if accepted { Edit::Keep } else { reads(i, "TASK_STATE_COMPLETED") }
        });
        passes(&CancelWorks, &late);
    }

    #[test]
    fn a_refusal_of_a_task_at_work_is_a_warning() {
        let refused = canceling(World::honest(), |i| {
            let error = json!({"code": -32002, "message": "no"});
            if i.operation == "CancelTask" {
                Edit::Replace(i.with_error(error))
            } else {
                reads(i, "TASK_STATE_WORKING")
            }
        });
        passes(&CancelWorks, &refused);
        assert!(warnings(&CancelWorks, &refused).contains(&ReasonCode::CancelNotEffective));
    }

    #[test]
    fn an_agent_that_breaks_over_a_cancel_is_caught() {
        let breaks =
            |answer: fn(&Item<'_>) -> Value| {
                canceling(World::honest(), move |i| {
                    if i.operation == "CancelTask" { Edit::Replace(answer(i)) } else { Edit::Keep }
                })
            };
        let raised = breaks(|i| i.with_error(json!({"code": -32603, "message": "cancel is not implemented"})));
        caught(&CancelWorks, &raised, ReasonCode::ErrorCodeMismatch);
        let unknown = breaks(|i| i.with_error(json!({"code": -32001, "message": "no such task"})));
        caught(&CancelWorks, &unknown, ReasonCode::ErrorCodeMismatch);
        let other = breaks(|i| i.with_result(json!({"id": "another", "status": {"state": "TASK_STATE_CANCELED"}})));
        caught(&CancelWorks, &other, ReasonCode::ResponseMalformed);
    }

    #[test]
    fn without_a_long_example_only_a_race_can_be_seen() {
        let mut world = World::honest();
        let brief: String = include_str!("../testing/skills.yaml").lines().take(8).map(|l| format!("{l}\n")).collect();
        world.put("skills.yaml", &brief);
        let late = canceling(world, |i| reads(i, "TASK_STATE_COMPLETED"));
        let findings = late.judge(&CancelWorks);
        assert!(findings.iter().any(|f| f.verdict.reason() == Some(ReasonCode::NotDeclared)), "{findings:#?}");
        assert!(!findings.iter().any(|f| f.verdict.outcome() == Outcome::Inconclusive), "{findings:#?}");
    }

    #[test]
    fn an_agent_of_messages_only_has_nothing_to_cancel() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&CancelWorks, &world.drive(), Outcome::NotApplicable);
    }
}
