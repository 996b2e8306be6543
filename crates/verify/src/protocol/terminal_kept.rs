//! `a2a.task.terminal_reopened` and `a2a.task.terminal_changed`: an ended task stays as it ended (T-02, T-03).

use ostiary_protocol::a2a::trace::Step;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input},
    facts::Facts,
    protocol::machine::TASKS,
};

/// One of the two checks: they differ in where a task goes from its end.
pub(super) struct TerminalKept {
    spec: &'static CheckSpec,
    to_terminal: bool,
}

const fn spec(
    id: &'static str,
    summary: &'static str,
    covers: &'static [&'static str],
    liar: &'static str,
) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary,
        layer: Layer::Protocol,
        gate: Gate::Conformance,
        covers,
        reads: TASKS,
        depends: &[Input::Candidate],
        reasons: &[ReasonCode::TerminalStateReopened],
        severity: Severity::Error,
        liar,
    }
}

static REOPENED: CheckSpec = spec(
    "a2a.task.terminal_reopened",
    "A task that has ended is never seen in work again.",
    &["T-02"],
    "a_reopened_task_is_caught",
);
static CHANGED: CheckSpec = spec(
    "a2a.task.terminal_changed",
    "A task that has ended in one way is never seen ended in another.",
    &["T-03"],
    "a_canceled_task_that_completes_is_caught",
);

// === impl TerminalKept ===

impl TerminalKept {
    /// Both.
    pub(super) const ALL: [Self; 2] =
        [Self { spec: &REOPENED, to_terminal: false }, Self { spec: &CHANGED, to_terminal: true }];

    fn breaks(&self, step: &Step<'_>) -> bool {
        let (from, to) = (step.from.state.state(), step.to.state.state());
        from != to && to.is_some_and(|s| s.is_terminal() == self.to_terminal)
    }
}

impl Check for TerminalKept {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    /// The promise is seen kept where an ended task was looked at again.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let traces = answers::traces(facts);
        if traces.iter().all(|(_, t)| t.tasks().next().is_none()) {
            return vec![answers::no_task(facts)];
        }
        let steps: Vec<Step<'_>> = traces.iter().flat_map(|(_, t)| t.steps()).collect();
        let ended = |s: &&Step<'_>| s.from.state.state().is_some_and(|s| s.is_terminal());
        let after_end: Vec<&Step<'_>> = steps.iter().filter(ended).collect();
        let broken: Vec<Finding> = after_end.iter().filter(|s| self.breaks(s)).map(|s| finding(facts, s)).collect();
        if !broken.is_empty() {
            return broken;
        }
        let seen: Vec<EventRef> = after_end.iter().flat_map(|s| [s.from.at.clone(), s.to.at.clone()]).collect();
        if seen.is_empty() {
            let remedy = "no task was looked at again after its end";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an ended task", remedy)];
        }
        vec![facts.pass(answers::some_of(seen))]
    }
}

fn finding(facts: &Facts<'_>, step: &Step<'_>) -> Finding {
    let at = vec![step.from.at.clone(), step.to.at.clone()];
    let (expected, observed) =
        (format!("to stay {}", step.from.state), format!("{} → {}", step.from.state, step.to.state));
    facts.fail(ReasonCode::TerminalStateReopened, at, expected, observed).at_exchange(step.to.exchange)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::{
        scenarios::{cancel, send},
        testing::{Driven, Edit, World, caught, is, passes},
    };

    const REOPENED: TerminalKept = TerminalKept { spec: &super::REOPENED, to_terminal: false };
    const CHANGED: TerminalKept = TerminalKept { spec: &super::CHANGED, to_terminal: true };

    fn reading(scenario: &'static str, state: &'static str) -> Driven {
        World::honest().drive().edit(|i| {
            if i.scenario == scenario && i.operation == "GetTask" {
                return i.changed(|a| a["result"]["status"]["state"] = json!(state));
            }
            Edit::Keep
        })
    }

    #[test]
    fn tasks_that_stay_as_they_ended_pass() {
        let driven = World::honest().drive();
        passes(&REOPENED, &driven);
        passes(&CHANGED, &driven);
    }

    #[test]
    fn a_reopened_task_is_caught() {
        caught(&REOPENED, &reading(send::ID, "TASK_STATE_WORKING"), ReasonCode::TerminalStateReopened);
        let in_stream = World::honest().drive().edit(|i| {
            if i.operation == "SendStreamingMessage" && i.n == 3 {
                let mut again = i.answer.clone();
                again["result"]["statusUpdate"]["status"]["state"] = json!("TASK_STATE_WORKING");
                return Edit::Then(vec![again]);
            }
            Edit::Keep
        });
        caught(&REOPENED, &in_stream, ReasonCode::TerminalStateReopened);
    }

    #[test]
    fn a_canceled_task_that_completes_is_caught() {
        let completes = reading(cancel::ID, "TASK_STATE_COMPLETED");
        caught(&CHANGED, &completes, ReasonCode::TerminalStateReopened);
        passes(&REOPENED, &completes);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_tasks() {
        let driven = || {
            let mut world = World::honest();
            world.makes_tasks = false;
            world.drive()
        };
        is(&REOPENED, &driven(), Outcome::NotApplicable);
        let refusing = driven().edit(|i| {
            let error = json!({"code": -32001, "message": "no"});
            let refused = i.scenario == cancel::ID && i.operation == "SendMessage";
            if refused { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        });
        is(&REOPENED, &refusing, Outcome::NotApplicable);
    }
}
