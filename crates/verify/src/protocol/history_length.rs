//! `a2a.task.history_length`: no answer has more messages of history than were asked for (§3.2.4).

use ostiary_protocol::a2a::{StreamItem, TaskView};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::{ids, turns},
};

/// The check.
pub(super) struct HistoryLength;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.task.history_length",
    version: 1,
    summary: "A task comes with no more messages of its history than were asked for.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["T-01"],
    reads: Reads::Any(&[ids::ID, turns::ID]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::HistoryLengthExceeded],
    severity: Severity::Error,
    liar: "a_history_that_was_not_asked_for_is_caught",
};

impl Check for HistoryLength {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    /// Which messages an agent keeps is its own choice: fewer than were asked for are right.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut seen: Vec<EventRef> = Vec::new();
        let mut out = Vec::new();
        for answered in &answers::all(facts) {
            let Some((most, task, seq)) = asked(answered) else { continue };
            let came = task.history().len();
            if u64::try_from(came).unwrap_or(u64::MAX) <= most {
                seen.push(answered.tape.cite(seq));
                continue;
            }
            let (expected, observed) = (format!("at most {most} messages of history"), format!("{came} messages"));
            let finding = facts.fail(ReasonCode::HistoryLengthExceeded, answered.at(seq), expected, observed);
            out.push(finding.at_exchange(answered.exchange.id));
        }
        match (out.is_empty(), seen.is_empty()) {
            (true, true) => vec![answers::no_task(facts)],
            (true, false) => vec![facts.pass(answers::some_of(seen))],
            (false, _) => out,
        }
    }
}

/// How much history was asked for, with the task that came.
fn asked<'a>(answered: &'a Answered<'_>) -> Option<(u64, TaskView<'a>, Seq)> {
    let request = answered.request();
    let read = answered.operation() == "GetTask";
    let most = request.pointer(if read { "/historyLength" } else { "/configuration/historyLength" })?;
    let most = most.as_u64().or_else(|| most.as_str().and_then(|text| text.parse().ok()))?;
    let (value, seq): (&Value, Seq) = answered.reply.result()?;
    let task = if read { TaskView::of(value)? } else { task_of(value)? };
    Some((most, task, seq))
}

fn task_of(value: &Value) -> Option<TaskView<'_>> {
    if let StreamItem::Task(task) = StreamItem::read(value).ok()? { Some(task) } else { None }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn histories_as_asked_for_pass() {
        passes(&HistoryLength, &World::honest().drive());
        passes(&HistoryLength, &World::asking().drive());
    }

    #[test]
    fn a_history_that_was_not_asked_for_is_caught() {
        let message = json!({"messageId": "m", "role": "ROLE_USER", "parts": []});
        let read = World::honest().drive().edit(|i| {
            let none = i.scenario == ids::ID && i.operation == "GetTask" && i.request["params"]["historyLength"] == 0;
            if none { i.changed(|a| a["result"]["history"] = json!([message])) } else { Edit::Keep }
        });
        caught(&HistoryLength, &read, ReasonCode::HistoryLengthExceeded);
        let sent = World::honest().drive().edit(|i| {
            let none = i.request["params"]["configuration"]["historyLength"] == 0;
            if none && i.is("task") {
                i.changed(|a| a["result"]["task"]["history"] = json!([message]))
            } else {
                Edit::Keep
            }
        });
        caught(&HistoryLength, &sent, ReasonCode::HistoryLengthExceeded);
        let whole = World::asking().drive().edit(|i| {
            let one = i.scenario == turns::ID && i.request["params"]["historyLength"] == 1;
            if one { i.changed(|a| a["result"]["history"] = json!([message, message])) } else { Edit::Keep }
        });
        caught(&HistoryLength, &whole, ReasonCode::HistoryLengthExceeded);
    }

    #[test]
    fn an_agent_of_messages_only_has_no_history() {
        let mut world = World::honest();
        world.makes_tasks = false;
        is(&HistoryLength, &world.drive(), Outcome::NotApplicable);
    }
}
