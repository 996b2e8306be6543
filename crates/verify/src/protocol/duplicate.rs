//! `a2a.message.duplicate`: a request that comes twice does not change what the first one led to (G-01).

use ostiary_protocol::a2a::{Answer, TaskState, TaskView, canonical};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::{Facts, Tape},
    scenarios::{client, duplicate},
};

/// The check. Agents MAY tell a repetition by `messageId` (§3.3.1) and need not: either is right, and the finding says
/// which it is. Whether the business is done twice is a question to the records, not to the protocol.
pub(super) struct DuplicateRequest;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.message.duplicate",
    version: 1,
    summary: "A message that comes twice with one id leaves the first one's task as it was.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["G-01", "F-04"],
    reads: Reads::Each(&[duplicate::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::DuplicateRequestMishandled],
    severity: Severity::Error,
    liar: "a_repetition_that_changes_the_first_task_is_caught",
};

impl Check for DuplicateRequest {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::of(facts, duplicate::ID);
        let marked = |t: &Tape<'_>| t.recording.mark(duplicate::FIRST).and_then(|(id, at)| Some((id?.to_owned(), at)));
        let mut out = Vec::new();
        for tape in facts.tapes_of(duplicate::ID) {
            let Some((id, at)) = marked(&tape) else { continue };
            let own: Vec<&Answered<'_>> = all.iter().filter(|a| a.tape.index == tape.index).collect();
            out.push(judge(facts, &own, &id, at));
        }
        if out.is_empty() { vec![answers::no_task(facts)] } else { out }
    }
}

fn judge(facts: &Facts<'_>, own: &[&Answered<'_>], id: &str, at: Seq) -> Finding {
    let reads =
        |after: bool| own.iter().filter(move |a| a.operation() == "GetTask" && (a.exchange.sent.seq > at) == after);
    let again = own.iter().find(|a| a.operation() == "SendMessage" && a.exchange.sent.seq > at);
    let (Some(before), Some(again), Some(after)) = (reads(false).next_back(), again, reads(true).next()) else {
        let remedy = "the first task was not read before and after the repetition";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "both reads", remedy);
    };
    for answered in [*again, *after] {
        if let Some(unusable) = answered.unusable(facts) {
            return unusable;
        }
    }
    let Some((task, _)) = before.task().filter(|(t, _)| t.state().is_some_and(TaskState::is_terminal)) else {
        let remedy = "the first task had not ended, so that it may have changed by itself";
        return facts.inconclusive(ReasonCode::ObservationIncomplete, "an ended task", remedy);
    };
    let cited = [before.cite(), again.cite(), after.cite()].concat();
    let changed = |now: TaskView<'_>| match (canonical::task(task.0), canonical::task(now.0)) {
        (Ok(before), Ok(now)) => before != now,
        _ => task.0 != now.0,
    };
    let x = after.exchange.id;
    let expected = "the first task as it was before the message came again";
    match after.task() {
        Some((now, _)) if changed(now) => {
            let finding = facts.fail(ReasonCode::DuplicateRequestMishandled, cited, expected, "a changed task");
            finding.at_exchange(x)
        }
        Some(_) => facts.pass(cited).at_exchange(x).with_message(told(again, id)),
        None => {
            let observed = after.reply.error().map_or_else(|| "no task".to_owned(), |(e, _)| e.label());
            facts.fail(ReasonCode::DuplicateRequestMishandled, cited, expected, observed).at_exchange(x)
        }
    }
}

/// What the agent makes of the repetition, in words: the report shows it, and nothing is decided by it.
fn told(again: &Answered<'_>, first: &str) -> String {
    let made = match (again.reply.first().map(|i| &i.answer), client::led_to(&again.reply)) {
        (Some(Answer::Error(error)), _) => format!("is refused: {}", error.label()),
        (_, client::Led::Task(task)) if task.id == first => "is answered with the first task".to_owned(),
        (_, client::Led::Task(_)) => "makes a second task".to_owned(),
        _ => "is answered without a task".to_owned(),
    };
    format!("a message that comes twice {made}; the first task stays as it was")
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn a_second_task_and_the_first_one_again_both_pass() {
        let driven = World::honest().drive();
        passes(&DuplicateRequest, &driven);
        assert!(driven.judge(&DuplicateRequest)[0].message.contains("a second task"));
        let mut first = None;
        let deduplicating = driven.edit(|i| {
            if i.scenario != duplicate::ID || i.operation != "SendMessage" {
                return Edit::Keep;
            }
            let task = first.get_or_insert_with(|| i.answer["result"].clone()).clone();
            Edit::Replace(i.with_result(task))
        });
        passes(&DuplicateRequest, &deduplicating);
        assert!(deduplicating.judge(&DuplicateRequest)[0].message.contains("the first task;"));
    }

    #[test]
    fn a_repetition_that_changes_the_first_task_is_caught() {
        let mut sends = 0;
        let liar = World::honest().drive().edit(|i| {
            if i.scenario != duplicate::ID {
                return Edit::Keep;
            }
            sends += u32::from(i.operation == "SendMessage");
            if sends == 2 && i.operation == "GetTask" {
                i.changed(|a| a["result"]["artifacts"] = json!([]))
            } else {
                Edit::Keep
            }
        });
        caught(&DuplicateRequest, &liar, ReasonCode::DuplicateRequestMishandled);
    }

    #[test]
    fn without_tasks_it_does_not_apply() {
        let mut messages = World::honest();
        messages.makes_tasks = false;
        is(&DuplicateRequest, &messages.drive(), Outcome::NotApplicable);
    }
}
