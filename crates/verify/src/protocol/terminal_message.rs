//! `a2a.task.terminal_message`: a message to an ended task is refused (T-04).

use ostiary_protocol::a2a::ErrorKind;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::terminal,
};

/// The check.
pub(super) struct TerminalMessage;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.terminal_message",
    version: 1,
    summary: "A message to an ended task is refused with UnsupportedOperationError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-04", "E-01", "G-01"],
    reads: Reads::Each(&[terminal::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::TerminalTaskMessageAccepted, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "an_accepted_message_is_caught",
};

/// The condition as `errors.yaml` names it.
const CONDITION: &str = "terminal_task_received_new_message";

impl Check for TerminalMessage {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let named = facts.bundle().errors.iter().find(|e| e.condition.value == CONDITION);
        let named = named.and_then(|e| ErrorKind::named(&e.protocol_error.value));
        let (named, tolerated) = match named {
            Some(kind) => (vec![kind], &[][..]),
            // an official SDK of 2026 answered so, before it was corrected
            None => (vec![ErrorKind::UnsupportedOperation], &[ErrorKind::InvalidParams][..]),
        };
        let refusal = Refusal { named: &named, tolerated, served: ReasonCode::TerminalTaskMessageAccepted };
        let probes = probes(facts, "SendMessage");
        if probes.is_empty() {
            return vec![answers::no_task(facts)];
        }
        probes.iter().flat_map(|a| refusal::judge(facts, a, refusal)).collect()
    }
}

/// What the ended task was asked for: the exchanges after the mark that says it has ended.
pub(super) fn probes<'a>(facts: &Facts<'a>, operation: &str) -> Vec<Answered<'a>> {
    let after = |a: &Answered<'_>| {
        let ended = a.tape.recording.mark(terminal::ENDED);
        ended.is_some_and(|(_, at)| a.exchange.sent.seq > at)
    };
    answers::of(facts, terminal::ID).into_iter().filter(|a| a.operation() == operation && after(a)).collect()
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn answering(world: World, change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let probe =
            |i: &Item<'_>| i.scenario == terminal::ID && i.request["params"]["message"]["taskId"] != Value::Null;
        world.drive().edit(|i| if probe(i) { change(i) } else { Edit::Keep })
    }

    fn refused(world: World, code: i64) -> Driven {
        answering(world, move |i| Edit::Replace(i.with_error(json!({"code": code, "message": "no"}))))
    }

    #[test]
    fn a_refused_message_passes() {
        passes(&TerminalMessage, &World::honest().drive());
    }

    #[test]
    fn an_accepted_message_is_caught() {
        let same = answering(World::honest(), |i| {
            let id = i.request["params"]["message"]["taskId"].clone();
            Edit::Replace(i.with_result(json!({"task": {"id": id, "status": {"state": "TASK_STATE_WORKING"}}})))
        });
        caught(&TerminalMessage, &same, ReasonCode::TerminalTaskMessageAccepted);
        let silently_another = answering(World::honest(), |i| {
            Edit::Replace(i.with_result(json!({"task": {"id": "new", "status": {"state": "TASK_STATE_WORKING"}}})))
        });
        caught(&TerminalMessage, &silently_another, ReasonCode::TerminalTaskMessageAccepted);
    }

    #[test]
    fn the_contract_decides_about_the_tolerated_code() {
        caught(&TerminalMessage, &refused(World::honest(), -32602), ReasonCode::ErrorCodeMismatch);
        let mut silent = World::honest();
        silent.remove("errors.yaml");
        let driven = refused(silent, -32602);
        passes(&TerminalMessage, &driven);
        assert_eq!(warnings(&TerminalMessage, &driven), [ReasonCode::ErrorCodeMismatch]);
        caught(&TerminalMessage, &refused(World::honest(), -32001), ReasonCode::ErrorCodeMismatch);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_ended_task() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&TerminalMessage, &world.drive(), Outcome::NotApplicable);
    }
}
