//! `a2a.task.unknown_message`: a message to a task that does not exist makes none of that id (T-04, E-01; §3.4.3).

use ostiary_protocol::a2a::ErrorKind;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::ids,
};

/// The check.
pub(super) struct UnknownTaskMessage;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.unknown_message",
    version: 1,
    summary: "A message to a task that does not exist is refused with TaskNotFoundError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-01", "E-02", "G-01"],
    reads: Reads::Each(&[ids::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ErrorNotRefused, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_task_of_the_senders_making_is_caught",
};

/// Agents without tasks need not know what a task id is.
const REFUSAL: Refusal<'static> = Refusal {
    named: &[ErrorKind::TaskNotFound],
    tolerated: &[ErrorKind::InvalidParams, ErrorKind::UnsupportedOperation],
    served: ReasonCode::ErrorNotRefused,
};

impl Check for UnknownTaskMessage {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::all(facts);
        let after = |a: &&answers::Answered<'_>| {
            let mark = a.tape.recording.mark(ids::UNKNOWN);
            a.operation() == "SendMessage" && mark.is_some_and(|(_, seq)| a.exchange.sent.seq > seq)
        };
        let message_only = matches!(answers::no_task(facts).verdict, ostiary_record::Verdict::NotApplicable { .. });
        match all.iter().find(after) {
            // who makes no tasks has none to look for
            Some(answered) if message_only && answered.reply.error().is_none() => vec![answers::no_task(facts)],
            Some(answered) => refusal::judge(facts, answered, REFUSAL),
            None => {
                let remedy = "the message was not sent";
                vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "a message to an unknown task", remedy)]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn answering(answer: impl Fn(&Item<'_>) -> Value) -> Driven {
        World::honest().drive().edit(|i| {
            let asked = i.scenario == ids::ID && !i.request["params"]["message"]["taskId"].is_null();
            if asked { Edit::Replace(answer(i)) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_refused_message_passes() {
        passes(&UnknownTaskMessage, &World::honest().drive());
    }

    #[test]
    fn a_task_of_the_senders_making_is_caught() {
        let made = answering(|i| {
            let id = i.request["params"]["message"]["taskId"].clone();
            i.with_result(json!({"task": {"id": id, "status": {"state": "TASK_STATE_COMPLETED"}}}))
        });
        caught(&UnknownTaskMessage, &made, ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn other_refusals_are_graded() {
        let other = |code: i64| answering(move |i| i.with_error(json!({"code": code, "message": "no"})));
        passes(&UnknownTaskMessage, &other(-32602));
        assert_eq!(warnings(&UnknownTaskMessage, &other(-32602)), [ReasonCode::ErrorCodeMismatch]);
        caught(&UnknownTaskMessage, &other(-32603), ReasonCode::ErrorCodeMismatch);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_tasks() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&UnknownTaskMessage, &world.drive(), Outcome::NotApplicable);
    }
}
