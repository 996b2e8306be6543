//! `a2a.task.context_mismatch`: a message whose context is not that of its task is refused (T-01; §3.4.2).

use ostiary_contract::file::skill::LeadsTo;
use ostiary_protocol::a2a::Answer;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    protocol::turns::undeclared,
    scenarios::{example, turns},
};

/// The check.
pub(super) struct ContextMismatch;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.context_mismatch",
    version: 1,
    summary: "A message that names a task and another context than the task's is refused.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-01", "E-01"],
    reads: Reads::Any(&[turns::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::ErrorNotRefused, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_message_of_another_context_that_is_taken_is_caught",
};

impl Check for ContextMismatch {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    /// Which error it is the specification does not say, so that any is right.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if example::leading_to(facts.bundle(), facts.card(), LeadsTo::InputRequired).is_none() {
            return vec![undeclared(facts)];
        }
        let all = answers::all(facts);
        let sent = all.iter().find(|a| {
            let mark = a.tape.recording.mark(turns::MISMATCH);
            a.operation() == "SendMessage" && mark.is_some_and(|(_, seq)| a.exchange.sent.seq > seq)
        });
        match sent {
            Some(answered) => vec![judge(facts, answered).at_exchange(answered.exchange.id)],
            None => {
                let remedy = "no task came to where it waits; see a2a.task.turns";
                vec![facts.inconclusive(ReasonCode::ControlFailed, "a task that waits", remedy)]
            }
        }
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    let fail = |reason, observed: String| facts.fail(reason, answered.cite(), "a refusal", observed);
    match answered.reply.first().map(|item| &item.answer) {
        Some(Answer::Error(_)) if answered.credential_refused() => {
            let remedy = "the credential was refused";
            facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", remedy)
        }
        Some(Answer::Error(_)) => facts.pass(answered.cite()),
        Some(Answer::Result(_)) => fail(ReasonCode::ErrorNotRefused, "the message was served".to_owned()),
        Some(Answer::Malformed(why)) => fail(ReasonCode::ResponseMalformed, why.clone()),
        None => fail(ReasonCode::ResponseMalformed, "an empty answer".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn a_refused_message_passes() {
        passes(&ContextMismatch, &World::asking().drive());
    }

    #[test]
    fn a_message_of_another_context_that_is_taken_is_caught() {
        let taken = World::asking().drive().edit(|i| {
            if i.scenario != turns::ID || i.answer["error"].is_null() {
                return Edit::Keep;
            }
            let id = i.request["params"]["message"]["taskId"].clone();
            Edit::Replace(i.with_result(json!({"task": {"id": id, "status": {"state": "TASK_STATE_WORKING"}}})))
        });
        caught(&ContextMismatch, &taken, ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn a_contract_without_questions_is_not_judged() {
        is(&ContextMismatch, &World::honest().drive(), Outcome::NotApplicable);
    }
}
