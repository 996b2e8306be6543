//! `a2a.skill.artifact`: a completed example has the artifact that its contract requires (T-06).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    outputs::{Output, outputs},
    scenarios::{example, send, stream},
};

/// The check.
pub(super) struct ArtifactMissing;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.skill.artifact",
    version: 1,
    summary: "A completed example has the artifact that its skill contract requires.",
    layer: Layer::Schema,
    gate: Gate::Conformance,
    covers: &["T-06", "S-01"],
    reads: Reads::Any(&[send::ID, stream::ID]),
    depends: &[Input::Candidate, Input::Contract],
    reasons: &[ReasonCode::ArtifactMissing],
    severity: Severity::Error,
    liar: "a_completed_task_without_its_artifact_is_caught",
};

impl Check for ArtifactMissing {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !requires_artifacts(facts) {
            return vec![facts.not_applicable("skills.yaml", "/skill_contract/examples/expected_artifact_schema")];
        }
        let requiring = |o: &Output<'_>| o.example.artifact_schema.is_some();
        let (done, open): (Vec<_>, Vec<_>) =
            outputs(facts).into_iter().filter(requiring).partition(|o| o.completed() || o.state.is_none());
        if done.is_empty() {
            return vec![not_completed(facts, &open)];
        }
        done.iter().map(|o| judge(facts, o)).collect()
    }
}

/// Whether the contract requires an artifact of any example.
pub(super) fn requires_artifacts(facts: &Facts<'_>) -> bool {
    example::examples(facts.bundle(), facts.card()).iter().any(|e| e.artifact_schema.is_some())
}

fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Finding {
    let x = output.answered.exchange.id;
    if output.artifacts.iter().any(|a| !a.parts.is_empty()) {
        return facts.pass(output.cite()).at_exchange(x);
    }
    let expected = format!("an artifact of `{}`", output.example.name);
    let observed = if output.artifacts.is_empty() { "completed without artifact" } else { "an artifact without parts" };
    facts.fail(ReasonCode::ArtifactMissing, output.cite(), expected, observed).at_exchange(x)
}

/// No example completed: why is told by others, here it is unknown.
fn not_completed(facts: &Facts<'_>, open: &[Output<'_>]) -> Finding {
    let Some(first) = open.first() else { return answers::no_task(facts) };
    let state = first.state.map_or("no state", ostiary_protocol::a2a::TaskState::as_str);
    let remedy = format!("`{}` did not complete in this answer; it stood at {state}", first.example.name);
    facts.inconclusive(ReasonCode::ObservationIncomplete, "a completed task", remedy)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn a_completed_task_with_its_artifact_passes() {
        passes(&ArtifactMissing, &World::honest().drive());
    }

    #[test]
    fn a_completed_task_without_its_artifact_is_caught() {
        let from_tasks = World::honest().drive().edit(|i| {
            let mut answer = i.answer.clone();
            if let Some(task) = answer.pointer_mut("/result/task").and_then(Value::as_object_mut) {
                task.remove("artifacts");
            }
            Edit::Replace(answer)
        });
        caught(&ArtifactMissing, &from_tasks, ReasonCode::ArtifactMissing);
        let from_streams =
            World::honest().drive().edit(|i| if i.is("artifactUpdate") { Edit::Drop } else { Edit::Keep });
        caught(&ArtifactMissing, &from_streams, ReasonCode::ArtifactMissing);
        let empty = World::honest().drive().edit(|i| {
            if !i.is("artifactUpdate") {
                return Edit::Keep;
            }
            i.changed(|a| a["result"]["artifactUpdate"]["artifact"]["parts"] = json!([]))
        });
        caught(&ArtifactMissing, &empty, ReasonCode::ArtifactMissing);
    }

    #[test]
    fn what_an_early_answer_lacks_is_read_back() {
        let early = |drop_from_reads: bool| {
            World::honest().drive().edit(move |i| {
                let mut answer = i.answer.clone();
                if let Some(task) = answer.pointer_mut("/result/task").and_then(Value::as_object_mut) {
                    task.remove("artifacts");
                    task.insert("status".to_owned(), json!({"state": "TASK_STATE_SUBMITTED"}));
                }
                if let Some(task) =
                    answer.pointer_mut("/result").and_then(Value::as_object_mut).filter(|_| drop_from_reads)
                {
                    task.remove("artifacts");
                }
                Edit::Replace(answer)
            })
        };
        passes(&ArtifactMissing, &early(false));
        caught(&ArtifactMissing, &early(true), ReasonCode::ArtifactMissing);
    }

    #[test]
    fn a_contract_that_requires_none_does_not_apply() {
        let mut world = World::honest();
        world.remove("skills.yaml");
        is(&ArtifactMissing, &world.drive(), Outcome::NotApplicable);
    }
}
