//! `a2a.task.cancel_terminal`: an ended task cannot be canceled.

use ostiary_protocol::a2a::{ErrorKind, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    protocol::terminal_message::probes,
    refusal::{self, Refusal},
    scenarios::terminal,
};

/// The check.
pub(super) struct CancelTerminal;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.cancel_terminal",
    version: 1,
    summary: "To cancel an ended task is refused with TaskNotCancelableError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-11", "E-02"],
    reads: Reads::Each(&[terminal::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ErrorNotRefused, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_canceled_ended_task_is_caught",
};

impl Check for CancelTerminal {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let probes = probes(facts, "CancelTask");
        if probes.is_empty() {
            return vec![answers::no_task(facts)];
        }
        probes.iter().flat_map(|a| judge(facts, a)).collect()
    }
}

/// Both answers are right for a task that was canceled before: cancel is idempotent (§3.3.1), and a canceled task is
/// listed as not cancelable (§3.1.5).
fn judge(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Finding> {
    let still_canceled = answered.task().is_some_and(|(t, _)| t.state() == Some(TaskState::Canceled));
    if still_canceled && ended_in(facts, answered) == Some(TaskState::Canceled) {
        return vec![facts.pass(answered.cite()).at_exchange(answered.exchange.id)];
    }
    let refusal = Refusal {
        named: &[ErrorKind::TaskNotCancelable],
        tolerated: &[ErrorKind::UnsupportedOperation],
        served: ReasonCode::ErrorNotRefused,
    };
    refusal::judge(facts, answered, refusal)
}

/// The state that the task had ended in before it was canceled.
fn ended_in(facts: &Facts<'_>, answered: &Answered<'_>) -> Option<TaskState> {
    let before = |a: &Answered<'_>| {
        a.tape.index == answered.tape.index
            && a.operation() == "GetTask"
            && a.exchange.sent.seq < answered.exchange.sent.seq
    };
    answers::of(facts, terminal::ID).iter().filter(|a| before(a)).filter_map(|a| a.task()?.0.state()).next_back()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, passes};

    #[test]
    fn a_refused_cancel_passes() {
        passes(&CancelTerminal, &World::honest().drive());
    }

    #[test]
    fn a_canceled_ended_task_is_caught() {
        for state in ["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"] {
            let served = World::honest().drive().edit(|i| {
                let task = json!({"id": i.request["params"]["id"], "status": {"state": state}});
                let probe = i.scenario == terminal::ID && i.operation == "CancelTask";
                if probe { Edit::Replace(i.with_result(task)) } else { Edit::Keep }
            });
            caught(&CancelTerminal, &served, ReasonCode::ErrorNotRefused);
        }
    }

    #[test]
    fn a_task_that_ended_canceled_may_be_canceled_again() {
        let canceled = World::honest().drive().edit(|i| {
            let task = json!({"id": i.request["params"]["id"], "status": {"state": "TASK_STATE_CANCELED"}});
            let of_task = i.scenario == terminal::ID && matches!(i.operation, "CancelTask" | "GetTask");
            if of_task { Edit::Replace(i.with_result(task)) } else { Edit::Keep }
        });
        passes(&CancelTerminal, &canceled);
    }
}
