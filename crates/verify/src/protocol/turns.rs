//! `a2a.task.turns`: a task that asks goes on with the answer, as the same task (T-01; §3.4.2).

use ostiary_contract::file::skill::LeadsTo;
use ostiary_protocol::a2a::{StreamItem, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::{Facts, Tape},
    scenarios::{example, turns},
};

/// The check.
pub(super) struct TaskTurns;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.turns",
    version: 1,
    summary: "A task of an example that asks waits for input, and goes on as the same task once it is answered.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-01", "I-09"],
    reads: Reads::Any(&[turns::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::CapabilityNotKept, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "an_answer_that_is_refused_is_caught",
};

impl Check for TaskTurns {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if example::leading_to(facts.bundle(), facts.card(), LeadsTo::InputRequired).is_none() {
            return vec![undeclared(facts)];
        }
        let all = answers::all(facts);
        let judged: Vec<Finding> = facts.tapes().iter().filter_map(|tape| judge(facts, *tape, &all)).collect();
        if judged.is_empty() { vec![answers::no_task(facts)] } else { judged }
    }
}

/// The finding where the contract has no example that asks.
pub(super) fn undeclared(facts: &Facts<'_>) -> Finding {
    facts.not_applicable("skills.yaml", "/skill_contract/examples/leads_to")
}

fn judge(facts: &Facts<'_>, tape: Tape<'_>, all: &[Answered<'_>]) -> Option<Finding> {
    let own: Vec<&Answered<'_>> = all.iter().filter(|a| a.tape.index == tape.index).collect();
    let asked = own.iter().find(|a| a.operation() == "SendMessage")?;
    if let Some(unusable) = asked.unusable(facts) {
        return Some(unusable);
    }
    if let Some((StreamItem::Message(_), _)) = asked.first_item() {
        return None;
    }
    let Some((_, from)) = tape.recording.mark(turns::ANSWER) else { return Some(never_asked(facts, &own, asked)) };
    let answer = own.iter().find(|a| a.operation() == "SendMessage" && a.exchange.sent.seq > from)?;
    Some(answered(facts, &own, answer).at_exchange(answer.exchange.id))
}

/// The task did not come to where the contract says that it waits.
fn never_asked(facts: &Facts<'_>, own: &[&Answered<'_>], asked: &Answered<'_>) -> Finding {
    let x = asked.exchange.id;
    if asked.credential_refused() {
        let remedy = "the credential was refused";
        return facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy).at_exchange(x);
    }
    let observed = match (asked.reply.error(), last_state(own, Seq(0))) {
        (Some((error, _)), _) => error.label(),
        (None, Some((_, state))) if !state.is_terminal() && !state.is_interrupted() => {
            let remedy = format!("the task was still {state} when the last look was taken");
            return facts.inconclusive(ReasonCode::TargetUnresponsive, "a task that waits", remedy).at_exchange(x);
        }
        (None, Some((_, state))) => state.to_string(),
        (None, None) => "no task".to_owned(),
    };
    let expected = format!("the task of the example to come to {}", TaskState::InputRequired);
    facts.fail(ReasonCode::CapabilityNotKept, asked.cite(), expected, observed).at_exchange(x)
}

fn answered(facts: &Facts<'_>, own: &[&Answered<'_>], answer: &Answered<'_>) -> Finding {
    if let Some(unusable) = answer.unusable(facts) {
        return unusable;
    }
    let fail = |reason, expected: &str, observed: String| facts.fail(reason, answer.cite(), expected, observed);
    if served_mismatch(own, answer.exchange.sent.seq) {
        let remedy = "a message of another context was taken as the answer; see a2a.task.context_mismatch";
        return facts.inconclusive(ReasonCode::ControlFailed, "a task that waits", remedy);
    }
    if let Some((error, _)) = answer.reply.error() {
        return fail(ReasonCode::CapabilityNotKept, "the answer to the question to be taken", error.label());
    }
    let request = answer.request();
    let task = request.pointer("/message/taskId").and_then(serde_json::Value::as_str).unwrap_or_default();
    match answer.first_item() {
        Some((StreamItem::Task(led), _)) if led.id() == task => {}
        Some((item, _)) => {
            let observed = format!("`{}` of the task {}", item.member(), item.task_id().unwrap_or("of no id"));
            return fail(ReasonCode::ResponseMalformed, "the task that was answered", observed);
        }
        None => return fail(ReasonCode::ResponseMalformed, "the task that was answered", "no task".to_owned()),
    }
    match last_state(own, answer.exchange.sent.seq) {
        Some((seq, TaskState::Completed | TaskState::AuthRequired)) => {
            facts.pass(vec![answer.tape.cite(answer.exchange.sent.seq), answer.tape.cite(seq)])
        }
        Some((_, state)) if state.is_terminal() || state == TaskState::InputRequired => {
            fail(ReasonCode::CapabilityNotKept, "the task to complete with the answer", state.to_string())
        }
        Some((_, state)) => {
            let remedy = format!("the task was still {state} when the last look was taken");
            facts.inconclusive(ReasonCode::TargetUnresponsive, "the end of the task", remedy)
        }
        None => facts.inconclusive(ReasonCode::ObservationIncomplete, "the task", "it was not read after the answer"),
    }
}

fn served_mismatch(own: &[&Answered<'_>], before: Seq) -> bool {
    let earlier = own.iter().filter(|a| a.operation() == "SendMessage" && a.exchange.sent.seq < before).nth(1);
    earlier.is_some_and(|a| a.reply.result().is_some())
}

/// The last state that was told after an event.
fn last_state(own: &[&Answered<'_>], from: Seq) -> Option<(Seq, TaskState)> {
    let later = own.iter().filter(|a| a.exchange.sent.seq >= from);
    let states = later.filter_map(|a| match a.operation() {
        "GetTask" => a.task().and_then(|(task, seq)| Some((seq, task.state()?))),
        _ => a.first_item().and_then(|(item, seq)| Some((seq, item.status()?.state()?))),
    });
    states.max_by_key(|(seq, _)| *seq)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    /// The messages that answer, and not those that do not match.
    fn answers(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::asking().drive().edit(|i| {
            let served = i.is("task") && !i.request["params"]["message"]["taskId"].is_null();
            if i.scenario == turns::ID && served { change(i) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_task_that_goes_on_passes() {
        passes(&TaskTurns, &World::asking().drive());
    }

    #[test]
    fn an_answer_that_is_refused_is_caught() {
        let refused = answers(|i| Edit::Replace(i.with_error(json!({"code": -32004, "message": "no"}))));
        caught(&TaskTurns, &refused, ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn another_task_in_place_of_the_answered_one_is_caught() {
        let other = answers(|i| i.changed(|a| a["result"]["task"]["id"] = json!("other")));
        caught(&TaskTurns, &other, ReasonCode::ResponseMalformed);
    }

    #[test]
    fn a_task_that_never_asks_or_never_goes_on_is_caught() {
        let never = World::asking().drive().edit(|i| {
            if i.scenario != turns::ID {
                return Edit::Keep;
            }
            i.changed(|a| {
                for at in ["/result/status", "/result/task/status"] {
                    if let Some(status) = a.pointer_mut(at) {
                        status["state"] = json!("TASK_STATE_INPUT_REQUIRED");
                    }
                }
            })
        });
        caught(&TaskTurns, &never, ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn a_contract_without_questions_is_not_judged() {
        is(&TaskTurns, &World::honest().drive(), Outcome::NotApplicable);
    }
}
