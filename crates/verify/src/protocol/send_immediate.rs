//! `a2a.message.immediate`: who asks to return at once is answered before the task is done (§3.2.2).

use ostiary_protocol::a2a::{StreamItem, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{cancel, example},
    story,
};

/// The check.
pub(super) struct Immediate;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.message.immediate",
    version: 1,
    summary: "A message with `returnImmediately` is answered while its task is still at work.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-14", "T-01"],
    reads: Reads::Any(&[cancel::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::SendNotImmediate, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "an_answer_after_the_end_is_caught",
};

impl Check for Immediate {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::all(facts);
        let at_once = |a: &&Answered<'_>| {
            let request = a.request();
            a.operation() == "SendMessage" && request.pointer("/configuration/returnImmediately") == Some(&true.into())
        };
        let judged: Vec<Finding> = all.iter().filter(at_once).filter_map(|a| judge(facts, a)).collect();
        if judged.is_empty() { vec![answers::no_task(facts)] } else { judged }
    }
}

/// What is refused or no task is judged elsewhere.
fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<Finding> {
    let (StreamItem::Task(task), seq) = answered.first_item()? else { return None };
    let finding = match task.state()? {
        state if !state.is_terminal() => facts.pass(answered.at(seq)),
        // what can be refused at once may be
        TaskState::Rejected => return None,
        _ if example::long_running(facts.bundle(), facts.card()).is_none() => story::too_brief(facts),
        state => {
            let expected = "a task at work, since the contract says of this example that it runs long";
            facts.fail(ReasonCode::SendNotImmediate, answered.cite(), expected, state.to_string())
        }
    };
    Some(finding.at_exchange(answered.exchange.id))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn an_answer_at_once_passes() {
        passes(&Immediate, &World::honest().drive());
    }

    #[test]
    fn an_answer_after_the_end_is_caught() {
        let late = World::honest().drive().edit(|i| {
            if i.scenario == cancel::ID && i.operation == "SendMessage" {
                return i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_COMPLETED"));
            }
            Edit::Keep
        });
        caught(&Immediate, &late, ReasonCode::SendNotImmediate);
    }

    #[test]
    fn an_agent_of_messages_only_is_not_judged() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&Immediate, &world.drive(), Outcome::NotApplicable);
    }
}
