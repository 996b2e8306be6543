//! `a2a.task.cancel_commit`: what was done is not hidden behind CANCELED (A-13, as far as the task shows it).
//!
//! A task that is called canceled and holds its whole result has done its work. The contract may promise how such a task
//! says that its work must be compensated; without that promise a caller is left to guess, which is a warning.

use ostiary_protocol::a2a::{TaskState, TaskView};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    cancels::{self, Cancel},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{
        cancel,
        example::{self, Example},
    },
    schema_cost,
};

/// The check.
pub(super) struct CancelCommit;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.cancel_commit",
    version: 1,
    summary: "A canceled task that holds its whole result names the compensation, where operations.yaml promises it.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-13"],
    reads: Reads::Any(&[cancel::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::CancelHidesResult],
    severity: Severity::Error,
    liar: "a_result_that_is_hidden_behind_a_cancel_is_caught",
};

impl Check for CancelCommit {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let cancels = cancels::of(facts);
        if cancels.is_empty() {
            return vec![answers::no_task(facts)];
        }
        let example = example::lasting(facts.bundle(), facts.card());
        let promise = promise(facts, &example);
        let canceled: Vec<(&Cancel<'_>, &Answered<'_>)> =
            cancels.iter().filter_map(|c| Some((c, c.looks.iter().rfind(|look| is_canceled(look))?))).collect();
        let whole = |look: &Answered<'_>| look.task().is_some_and(|(task, _)| holds_result(facts, &example, task));
        let hiding = canceled.iter().filter(|(_, look)| whole(look));
        let mut out: Vec<Finding> = hiding.filter_map(|(c, look)| hidden(facts, c, look, promise)).collect();
        if out.iter().any(|f| f.severity == Severity::Error) {
            return out;
        }
        let seen: Vec<EventRef> = canceled.iter().flat_map(|(_, look)| look.cite()).collect();
        out.push(match promise {
            None => facts.not_applicable("operations.yaml", "/operations/compensation"),
            Some(_) => facts.pass(seen),
        });
        out
    }
}

/// Where the contract says that the compensation is named.
fn promise<'a>(facts: &Facts<'a>, example: &Example) -> Option<&'a str> {
    let skill = example.skill.as_deref()?;
    let operation = facts.bundle().operations.iter().find(|o| o.skill.as_ref().is_some_and(|s| s.value == skill))?;
    operation.compensation.as_ref().map(|pointer| pointer.value.as_str())
}

fn is_canceled(look: &Answered<'_>) -> bool {
    look.task().is_some_and(|(task, _)| task.state() == Some(TaskState::Canceled))
}

/// Whether some artifact is all that the example is to give: what its schema demands, or anything where none is named.
fn holds_result(facts: &Facts<'_>, example: &Example, task: TaskView<'_>) -> bool {
    let parts = task.artifacts().iter().filter_map(|a| a.get("parts")?.as_array()).flatten();
    let schema = example.artifact_schema.as_ref().and_then(|name| facts.bundle().schema(name));
    let Some((_, schema)) = schema else { return parts.count() > 0 };
    let satisfies =
        |data: &Value| schema_cost::check(facts.bundle(), schema, data, "artifact").is_ok_and(|v| v.is_empty());
    parts.filter_map(|part| part.get("data")).any(satisfies)
}

fn hidden(facts: &Facts<'_>, cancel: &Cancel<'_>, look: &Answered<'_>, promise: Option<&str>) -> Option<Finding> {
    let (task, seq) = look.task()?;
    if promise.is_some_and(|pointer| task.0.pointer(pointer).is_some_and(|v| !v.is_null())) {
        return None;
    }
    let expected = promise.map_or_else(
        || "a task that has made its result to be completed, or to name what must be undone".to_owned(),
        |pointer| format!("the compensation at `{pointer}` of a canceled task with its result"),
    );
    let observed = "TASK_STATE_CANCELED with the whole result, and nothing about it";
    let finding = facts.fail(ReasonCode::CancelHidesResult, cancel.cite_with(Some(seq)), expected, observed);
    let severity = if promise.is_some() { Severity::Error } else { Severity::Warning };
    Some(finding.at_exchange(look.exchange.id).as_severity(severity))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn promising() -> World {
        let mut world = World::honest();
        let operation = "operations:\n  - { skill: work-planning, risk: write, idempotency_key: /request_id, \
                         compensation: /metadata/compensation }\n";
        world.put("operations.yaml", operation);
        world
    }

    /// Canceled tasks that hold this artifact, and this metadata.
    fn holding(world: World, data: &'static str, metadata: &'static str) -> Driven {
        world.drive().edit(|i| {
            let canceled = i.answer["result"]["status"]["state"] == "TASK_STATE_CANCELED";
            if i.scenario != cancel::ID || i.operation != "GetTask" || !canceled {
                return Edit::Keep;
            }
            i.changed(|a| {
                let data: Value = serde_json::from_str(data).expect("JSON");
                a["result"]["artifacts"] = json!([{"artifactId": "a1", "parts": [{"data": data}]}]);
                a["result"]["metadata"] = serde_json::from_str(metadata).expect("JSON");
            })
        })
    }

    const WHOLE: &str = r#"{"plan_id": "plan-1", "status": "draft"}"#;

    #[test]
    fn a_canceled_task_without_result_or_with_its_compensation_passes() {
        passes(&CancelCommit, &promising().drive());
        passes(&CancelCommit, &holding(promising(), WHOLE, r#"{"compensation": "withdraw plan-1"}"#));
        passes(&CancelCommit, &holding(promising(), r#"{"plan": "half"}"#, "{}"));
    }

    #[test]
    fn a_result_that_is_hidden_behind_a_cancel_is_caught() {
        caught(&CancelCommit, &holding(promising(), WHOLE, "{}"), ReasonCode::CancelHidesResult);
    }

    #[test]
    fn without_a_promise_a_hidden_result_is_a_warning() {
        is(&CancelCommit, &World::honest().drive(), Outcome::NotApplicable);
        let hidden = holding(World::honest(), WHOLE, "{}");
        assert!(warnings(&CancelCommit, &hidden).contains(&ReasonCode::CancelHidesResult));
    }
}
