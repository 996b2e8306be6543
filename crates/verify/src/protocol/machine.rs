//! `a2a.task.machine`: tasks move along the edges of the contract's task machine (T-01); without one, by the hard rules.

use ostiary_contract::file::machine::TaskMachine;
use ostiary_protocol::a2a::{
    TaskState,
    task::WrittenState,
    trace::{Sighting, Step},
};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{cancel, ids, outcome, send, stream, subscribe, terminal, turns},
};

/// The check.
pub(super) struct Machine;

/// Where tasks are seen.
pub(super) const TASKS: Reads =
    Reads::Any(&[send::ID, stream::ID, terminal::ID, cancel::ID, subscribe::ID, turns::ID, outcome::ID, ids::ID]);

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.machine",
    version: 1,
    summary: "Tasks show known states and move along the edges of the contract's task machine.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-01"],
    reads: TASKS,
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::TaskTransitionForbidden, ReasonCode::TaskStateInvalid],
    severity: Severity::Error,
    liar: "an_edge_that_the_machine_forbids_is_caught",
};

impl Check for Machine {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let traces = answers::traces(facts);
        let machine = facts.bundle().machine.as_ref();
        let mut out = Vec::new();
        let mut seen = Vec::new();
        for (_, traces) in &traces {
            for (_, sightings) in traces.tasks() {
                out.extend(sightings.iter().filter_map(|s| state(facts, s)));
                out.extend(sightings.first().and_then(|s| start(facts, machine, s)));
                seen.extend(sightings.iter().map(|s| s.at.clone()));
            }
            out.extend(traces.steps().iter().filter_map(|step| edge(facts, machine, step)));
        }
        if seen.is_empty() {
            return vec![answers::no_task(facts)];
        }
        if out.iter().all(|f| f.severity != Severity::Error) {
            out.push(facts.pass(answers::some_of(seen)));
        }
        out
    }
}

/// States that must not be sent, and spellings that readers accept and writers should not use.
fn state(facts: &Facts<'_>, sighting: &Sighting) -> Option<Finding> {
    let severity = match &sighting.state {
        WrittenState::Name(TaskState::Unspecified) | WrittenState::Number(TaskState::Unspecified) => Severity::Error,
        WrittenState::Name(_) => return None,
        WrittenState::Number(_) => Severity::Warning,
        WrittenState::Legacy(_) | WrittenState::Unknown(_) | WrittenState::Absent => Severity::Error,
    };
    let expected = "a task state of A2A 1.0 by its name";
    let at = vec![sighting.at.clone()];
    let finding = facts.fail(ReasonCode::TaskStateInvalid, at, expected, sighting.state.to_string());
    Some(finding.at_exchange(sighting.exchange).as_severity(severity))
}

/// The first sighting may be later than the first state: what counts is whether it can be reached.
fn start(facts: &Facts<'_>, machine: Option<&TaskMachine>, sighting: &Sighting) -> Option<Finding> {
    let (machine, state) = (machine?, sighting.state.state()?);
    let reached = |from: &str| machine.reaches(from, state.as_str());
    if machine.initial.iter().any(|s| reached(&s.value)) {
        return None;
    }
    let initial: Vec<&str> = machine.initial.iter().map(|s| s.value.as_str()).collect();
    let expected = format!("a state that can be reached from {}", initial.join(" or "));
    Some(forbidden(facts, &[sighting], expected, format!("first seen in {state}")))
}

/// One step. Leaving a terminal state is judged by checks of its own.
fn edge(facts: &Facts<'_>, machine: Option<&TaskMachine>, step: &Step<'_>) -> Option<Finding> {
    let (from, to) = (step.from.state.state()?, step.to.state.state()?);
    if from == to || from.is_terminal() {
        return None;
    }
    let allowed = match machine {
        Some(machine) if step.adjacent => machine.allows(from.as_str(), to.as_str()),
        Some(machine) => machine.reaches(from.as_str(), to.as_str()),
        None => to != TaskState::Submitted,
    };
    if allowed {
        return None;
    }
    let expected = match machine {
        Some(machine) => {
            let next = machine.allowed.get(from.as_str()).into_iter().flatten();
            let next: Vec<&str> = next.map(|s| s.value.as_str()).collect();
            format!("from {from} to one of [{}]", next.join(", "))
        }
        None => format!("no return to {to}"),
    };
    Some(forbidden(facts, &[step.from, step.to], expected, format!("{from} → {to}")))
}

fn forbidden(facts: &Facts<'_>, sightings: &[&Sighting], expected: String, observed: String) -> Finding {
    let at: Vec<EventRef> = sightings.iter().map(|s| s.at.clone()).collect();
    let finding = facts.fail(ReasonCode::TaskTransitionForbidden, at, expected, observed);
    finding.at_exchange(sightings[sightings.len() - 1].exchange)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    /// The second event of each stream shows another state.
    fn second(world: World, state: &serde_json::Value) -> Driven {
        world.drive().edit(|i| match (i.operation, i.n) {
            ("SendStreamingMessage", 1) => {
                i.changed(|a| a["result"]["statusUpdate"]["status"]["state"] = state.clone())
            }
            _ => Edit::Keep,
        })
    }

    #[test]
    fn an_honest_machine_passes_with_and_without_a_profile() {
        passes(&Machine, &World::honest().drive());
        let mut world = World::honest();
        world.remove("a2a-task-machine.yaml");
        world.put("contract.yaml", &without_machine());
        passes(&Machine, &world.drive());
    }

    #[test]
    fn an_edge_that_the_machine_forbids_is_caught() {
        // SUBMITTED → INPUT_REQUIRED is no edge of the machine, and reaches COMPLETED through WORKING only
        let odd = second(World::honest(), &json!("TASK_STATE_INPUT_REQUIRED"));
        caught(&Machine, &odd, ReasonCode::TaskTransitionForbidden);
    }

    #[test]
    fn without_a_machine_only_the_hard_rules_apply() {
        let bare = || {
            let mut world = World::honest();
            world.remove("a2a-task-machine.yaml");
            world.put("contract.yaml", &without_machine());
            world
        };
        passes(&Machine, &second(bare(), &json!("TASK_STATE_INPUT_REQUIRED")));
        let back = bare().drive().edit(|i| match (i.operation, i.n) {
            ("SendStreamingMessage", 2) => {
                let status = json!({"taskId": i.answer["result"]["artifactUpdate"]["taskId"], "contextId": "c1",
                    "status": {"state": "TASK_STATE_SUBMITTED"}});
                Edit::Replace(i.with_result(json!({"statusUpdate": status})))
            }
            _ => Edit::Keep,
        });
        caught(&Machine, &back, ReasonCode::TaskTransitionForbidden);
    }

    #[test]
    fn states_that_must_not_be_sent_are_caught() {
        for state in [json!("TASK_STATE_UNSPECIFIED"), json!("working"), json!("DONE"), json!(null), json!(0)] {
            caught(&Machine, &second(World::honest(), &state), ReasonCode::TaskStateInvalid);
        }
        let number = second(World::honest(), &json!(2));
        passes(&Machine, &number);
        let warned = warnings(&Machine, &number);
        assert!(!warned.is_empty() && warned.iter().all(|w| *w == ReasonCode::TaskStateInvalid), "{warned:?}");
    }

    #[test]
    fn an_agent_of_messages_only_has_no_machine() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&Machine, &world.drive(), Outcome::NotApplicable);
    }

    fn without_machine() -> String {
        let honest = World::honest();
        let (_, text) = honest.files.iter().find(|(p, _)| *p == "contract.yaml").unwrap();
        text.lines().filter(|l| !l.contains("models:")).map(|l| format!("{l}\n")).collect()
    }
}
