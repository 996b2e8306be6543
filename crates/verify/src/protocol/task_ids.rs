//! `a2a.task.id_unique`: each new task has an id of its own.

use std::collections::BTreeMap;

use ostiary_protocol::a2a::StreamItem;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{cancel, send, stream, terminal},
};

/// The check.
pub(super) struct TaskIds;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.id_unique",
    version: 1,
    summary: "Each message outside of a task makes a task with an id of its own.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-01"],
    reads: Reads::Any(&[send::ID, stream::ID, terminal::ID, cancel::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "one_id_for_every_task_is_caught",
};

impl Check for TaskIds {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut known: BTreeMap<String, EventRef> = BTreeMap::new();
        for answered in answers::all(facts).iter().filter(|a| asks_for_new(a)) {
            let Some((StreamItem::Task(task), seq)) = answered.first_item() else { continue };
            let id = task.id();
            if id.is_empty() {
                continue;
            }
            let at = answered.tape.cite(seq);
            if let Some(earlier) = known.insert(id.to_owned(), at.clone()) {
                let expected = "an id that no task had before";
                let observed = format!("the id `{id}` of an earlier task");
                let finding = facts.fail(ReasonCode::ResponseMalformed, vec![earlier, at], expected, observed);
                return vec![finding.at_exchange(answered.exchange.id)];
            }
        }
        match known.len() {
            0 => vec![answers::no_task(facts).as_severity(Severity::Note)],
            1 => {
                let remedy = "only one task was made, and nothing to compare it with";
                let finding = facts.inconclusive(ReasonCode::ObservationIncomplete, "a second task", remedy);
                vec![finding.as_severity(Severity::Note)]
            }
            _ => vec![facts.pass(answers::some_of(known.into_values().collect()))],
        }
    }
}

/// Whether a message was sent that names no task, so that whatever task it leads to is new.
fn asks_for_new(answered: &Answered<'_>) -> bool {
    answered.operation().starts_with("Send") && answered.request().pointer("/message/taskId").is_none()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, passes};

    #[test]
    fn tasks_with_ids_of_their_own_pass() {
        passes(&TaskIds, &World::honest().drive());
        passes(&TaskIds, &World::without_streaming().drive());
    }

    #[test]
    fn one_id_for_every_task_is_caught() {
        let same = World::honest()
            .drive()
            .edit(|i| if i.is("task") { i.changed(|a| a["result"]["task"]["id"] = json!("t")) } else { Edit::Keep });
        caught(&TaskIds, &same, ReasonCode::ResponseMalformed);
    }

    #[test]
    fn an_agent_without_tasks_has_no_finding_that_counts() {
        let mut messages = World::honest();
        messages.makes_tasks = false;
        assert!(messages.drive().judge(&TaskIds).iter().all(|f| f.severity == Severity::Note));
    }
}
