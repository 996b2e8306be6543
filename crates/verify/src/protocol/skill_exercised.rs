//! `a2a.skill.exercised`: each declared skill does its examples, to the end (I-09).

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{Card, TaskState};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    outputs::{Output, outputs},
    scenarios::{example, send, stream, terminal},
};

/// The check.
pub(super) struct SkillExercised;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.skill.exercised",
    version: 2,
    summary: "Each declared skill does its examples to the end, each time they are sent.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09", "V-08", "S-01"],
    reads: Reads::Any(&[send::ID, stream::ID, terminal::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::CapabilityNotKept],
    severity: Severity::Error,
    liar: "an_example_that_fails_is_caught",
};

impl Check for SkillExercised {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut by_skill: BTreeMap<String, Vec<Output<'_>>> = BTreeMap::new();
        // a message into an ended task is no example, whatever comes back
        let own = |o: &Output<'_>| {
            o.answered.tape.recording.mark(terminal::ENDED).is_none_or(|(_, at)| o.answered.exchange.sent.seq < at)
        };
        for output in outputs(facts).into_iter().filter(own) {
            if let Some(skill) = output.example.skill.clone() {
                by_skill.entry(skill).or_default().push(output);
            }
        }
        let mut out: Vec<Finding> = by_skill.values().flatten().map(|o| judge(facts, o)).collect();
        let Some(card) = facts.card().map(|v| Card::new(v.clone())) else { return out };
        let examples = example::examples(facts.bundle(), facts.card());
        for skill in card.skills() {
            let Some(id) = skill.id().filter(|id| !by_skill.contains_key(*id)) else { continue };
            let sent = examples.iter().any(|e| e.skill.as_deref() == Some(id));
            let (what, remedy) = if sent {
                ("output", "its example was refused or not answered; see a2a.message.response")
            } else {
                ("example", "add an example of it to skills.yaml; what was not tried is not verified")
            };
            let what = format!("{what} of skill `{id}`");
            let finding = facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy);
            out.push(finding.at_pointer(CARD, skill.pointer()));
        }
        out
    }
}

/// A message is an end; a task has to complete. Where it waits for somebody, the example is not done and not broken.
fn judge(facts: &Facts<'_>, output: &Output<'_>) -> Finding {
    let x = output.answered.exchange.id;
    let name = &output.example.name;
    match output.state {
        None if output.artifacts.is_empty() => {
            let remedy = "the answer is neither a task nor a message; see a2a.message.response";
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an output", remedy).at_exchange(x)
        }
        None | Some(TaskState::Completed) => facts.pass(output.cite()).at_exchange(x),
        Some(state @ (TaskState::Failed | TaskState::Rejected | TaskState::Canceled)) => {
            let expected = format!("the example `{name}` to complete");
            let finding = facts.fail(ReasonCode::CapabilityNotKept, output.cite(), expected, state.to_string());
            finding.at_exchange(x).with_business(true, "failed")
        }
        Some(state) => {
            let remedy = format!("the example `{name}` stands at {state}");
            facts.inconclusive(ReasonCode::ObservationIncomplete, "a completed task", remedy).at_exchange(x)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn ending_in(state: &'static str) -> Driven {
        World::honest().drive().edit(|i| {
            let sent = i.scenario == send::ID && i.operation == "SendMessage";
            if sent { i.changed(|a| a["result"]["task"]["status"]["state"] = json!(state)) } else { Edit::Keep }
        })
    }

    #[test]
    fn an_example_that_completes_passes() {
        passes(&SkillExercised, &World::honest().drive());
        let mut messages = World::honest();
        messages.makes_tasks = false;
        passes(&SkillExercised, &messages.drive());
    }

    #[test]
    fn an_example_that_fails_is_caught() {
        caught(&SkillExercised, &ending_in("TASK_STATE_FAILED"), ReasonCode::CapabilityNotKept);
        caught(&SkillExercised, &ending_in("TASK_STATE_REJECTED"), ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn an_example_that_waits_is_unknown() {
        is(&SkillExercised, &ending_in("TASK_STATE_INPUT_REQUIRED"), Outcome::Inconclusive);
        let neither = World::honest()
            .drive()
            .edit(|i| if i.operation == "SendMessage" { Edit::Replace(i.with_result(json!({}))) } else { Edit::Keep });
        is(&SkillExercised, &neither, Outcome::Inconclusive);
    }

    #[test]
    fn an_example_that_works_once_and_not_again_is_caught() {
        let later = World::honest().drive().edit(|i| {
            let last = i.operation == "SendStreamingMessage" && i.n == 3;
            if !last {
                return Edit::Keep;
            }
            i.changed(|a| a["result"]["statusUpdate"]["status"]["state"] = json!("TASK_STATE_FAILED"))
        });
        caught(&SkillExercised, &later, ReasonCode::CapabilityNotKept);
    }

    #[test]
    fn without_streams_an_example_must_work_again_all_the_same() {
        let later = World::without_streaming().drive().edit(|i| {
            let again = i.scenario == terminal::ID && i.is("task");
            if again {
                i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_FAILED"))
            } else {
                Edit::Keep
            }
        });
        caught(&SkillExercised, &later, ReasonCode::CapabilityNotKept);
    }

    fn with_second_skill(skill: serde_json::Value) -> World {
        World::with_card(|c| c["skills"].as_array_mut().unwrap().push(skill))
    }

    #[test]
    fn a_skill_without_example_is_unknown_and_named() {
        let other = json!({"id": "other", "name": "Other", "description": "Does more.", "tags": ["more"]});
        let driven = with_second_skill(other.clone()).drive();
        is(&SkillExercised, &driven, Outcome::Inconclusive);
        let open = driven.judge(&SkillExercised);
        assert!(open.iter().any(|f| f.message.contains("`other`") && f.message.contains("skills.yaml")), "{open:#?}");
        let mut prose = other;
        prose["examples"] = json!(["do it"]);
        is(&SkillExercised, &with_second_skill(prose).drive(), Outcome::Inconclusive);
        let mut nothing = World::honest();
        nothing.remove("skills.yaml");
        is(&SkillExercised, &nothing.drive(), Outcome::Inconclusive);
    }

    #[test]
    fn a_skill_with_an_example_in_the_card_alone_is_tried() {
        let other = json!({"id": "other", "name": "Other", "description": "Does more.", "tags": ["more"],
            "inputModes": ["text/plain"], "examples": ["do it"]});
        let driven = with_second_skill(other.clone()).drive();
        passes(&SkillExercised, &driven);
        let refusing = with_second_skill(other).drive().edit(|i| {
            let named = i.request.to_string().contains("do it") && i.operation == "SendMessage";
            if named {
                i.changed(|a| a["result"]["task"]["status"]["state"] = json!("TASK_STATE_FAILED"))
            } else {
                Edit::Keep
            }
        });
        caught(&SkillExercised, &refusing, ReasonCode::CapabilityNotKept);
    }
}
