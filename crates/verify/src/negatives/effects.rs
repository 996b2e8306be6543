//! `a2a.negative.effects`: what was refused left nothing behind, and was written down (G-02: no partial effect, audit).
//!
//! The protocol shows tasks and nothing else. What it shows is judged; for the rest an observer is needed.

use std::collections::BTreeSet;

use ostiary_protocol::a2a::{TaskState, canonical};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Seq, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    negatives::{self, Negative, Readback},
};

/// The check.
pub(crate) struct RefusedEffects;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.negative.effects",
    version: 1,
    summary: "A refused request leaves no task behind, changes none, and is written into the audit log.",
    layer: Layer::Behavior,
    gate: Gate::Security,
    covers: &["G-02", "G-01"],
    reads: Reads::Any(negatives::SCENARIOS),
    depends: &[Input::Candidate, Input::Environment],
    reasons: &[ReasonCode::RefusedWithEffect, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_refused_request_that_leaves_a_task_is_caught",
};

impl Check for RefusedEffects {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let mut out: Vec<Finding> = Vec::new();
        let mut unseen: Vec<&str> = Vec::new();
        for negative in negatives::ALL {
            let refused: Vec<Answered<'_>> =
                negative.requests(facts).into_iter().filter(|a| a.reply.error().is_some()).collect();
            let Some(first) = refused.first() else { continue };
            let seen = match negative.readback {
                Readback::Listed => listed(facts, negative, &refused),
                Readback::Task => read_back(facts, negative, first),
                Readback::Observer => None,
            };
            match seen {
                Some(finding) => out.push(finding.at_exchange(first.exchange.id)),
                None => unseen.push(negative.name),
            }
        }
        let open = |what: &str, remedy: String| facts.inconclusive(ReasonCode::ObserverMissing, what, remedy);
        if !unseen.is_empty() {
            let remedy = format!("nothing that can be read back shows what these left behind: {}", unseen.join(", "));
            out.push(open("observer:records", remedy));
        }
        out.push(open("observer:audit", "whether refusals are written down cannot be seen from outside".to_owned()));
        out
    }
}

/// Whether a task came into the context with these requests; `None` = the tasks were not listed.
fn listed(facts: &Facts<'_>, negative: &Negative, refused: &[Answered<'_>]) -> Option<Finding> {
    let first = refused.first()?;
    let lists: Vec<Answered<'_>> = answers::of(facts, negative.scenario)
        .into_iter()
        .filter(|a| a.tape.index == first.tape.index && a.operation() == "ListTasks")
        .collect();
    let (before, after) = (lists.first()?, lists.last().filter(|_| lists.len() > 1)?);
    let (known, now) = (tasks(before)?, tasks(after)?);
    let ours: BTreeSet<String> = refused.iter().filter_map(|a| message_id(&a.request())).collect();
    let new: Vec<&(String, Value)> = now.iter().filter(|(id, _)| known.iter().all(|(other, _)| other != id)).collect();
    let cited = [before.cite(), after.cite()].concat();
    // a task that shows the refused message is its own; one that shows none may be of any flaw of the recording
    let own = new.iter().find(|(_, task)| {
        let history = task.get("history").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        history.is_empty()
            || history.iter().any(|m| m.get("messageId").and_then(Value::as_str).is_none_or(|id| ours.contains(id)))
    });
    Some(match own {
        None => facts.pass(cited).with_detail(negative.name),
        Some((id, _)) => {
            let observed = format!("the task {id} is in the context since");
            facts
                .fail(ReasonCode::RefusedWithEffect, cited, "no task of a refused message", observed)
                .with_detail(format!("{}:effects", negative.name))
        }
    })
}

/// The tasks of a list, by id; `None` = it cannot be told.
fn tasks(answered: &Answered<'_>) -> Option<Vec<(String, Value)>> {
    let (value, _) = answered.reply.result()?;
    let list = value.get("tasks").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    list.iter().map(|t| Some((t.get("id")?.as_str()?.to_owned(), t.clone()))).collect()
}

fn message_id(request: &Value) -> Option<String> {
    request.pointer("/message/messageId").and_then(Value::as_str).map(str::to_owned)
}

/// Whether the task that was reached for is as it was; `None` = it was not read before and after.
fn read_back(facts: &Facts<'_>, negative: &Negative, refused: &Answered<'_>) -> Option<Finding> {
    let at = refused.exchange.sent.seq;
    let reads: Vec<Answered<'_>> = answers::of(facts, negative.scenario)
        .into_iter()
        .filter(|a| a.tape.index == refused.tape.index && a.operation() == "GetTask" && a.task().is_some())
        .collect();
    let id = target(refused)?;
    let own = |a: &&Answered<'_>| target(a).as_ref() == Some(&id);
    let before = reads.iter().filter(own).rfind(|a| a.exchange.sent.seq < at)?;
    let after = reads.iter().filter(own).find(|a| a.exchange.sent.seq > at)?;
    let ended = before.task()?.0.state().is_some_and(TaskState::is_terminal);
    let cited = [before.cite(), refused.cite(), after.cite()].concat();
    let (one, other) = (form(before)?, form(after)?);
    let canceled = after.task()?.0.state() == Some(TaskState::Canceled);
    Some(if (ended && one != other) || (!ended && canceled && refused.operation() == "CancelTask") {
        let finding = facts.fail(ReasonCode::RefusedWithEffect, cited, "the task as it was", "a changed task");
        finding.with_detail(format!("{}:effects", negative.name))
    } else {
        facts.pass(cited).with_detail(negative.name)
    })
}

fn form(answered: &Answered<'_>) -> Option<Value> {
    let (task, _): (_, Seq) = answered.task()?;
    canonical::task(task.0).ok()
}

/// The task that a request is about.
fn target(answered: &Answered<'_>) -> Option<String> {
    let request = answered.request();
    let at = if answered.operation().starts_with("Send") { "/message/taskId" } else { "/id" };
    request.pointer(at).and_then(Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::{
        scenarios::{malformed, tenant},
        testing::{Edit, World, caught},
    };

    fn outcomes(driven: &crate::testing::Driven, detail: &str) -> Vec<Outcome> {
        let told = driven.judge(&RefusedEffects).into_iter();
        told.filter(|f| f.detail.as_deref().is_some_and(|d| d.starts_with(detail)))
            .map(|f| f.verdict.outcome())
            .collect()
    }

    #[test]
    fn what_can_be_read_back_passes_and_the_rest_names_its_observer() {
        let driven = World::honest().drive();
        for name in ["message_without_parts", "cross_tenant_cancel", "terminal_task_message_append"] {
            assert_eq!(outcomes(&driven, name), [Outcome::Pass], "{name}: {:#?}", driven.judge(&RefusedEffects));
        }
        let open: Vec<_> = driven.judge(&RefusedEffects).into_iter().filter(|f| f.detail.is_none()).collect();
        assert!(open.iter().all(|f| f.verdict.reason() == Some(ReasonCode::ObserverMissing)) && open.len() == 2);
    }

    #[test]
    fn a_refused_request_that_leaves_a_task_is_caught() {
        let mut lists = 0;
        let leaving = World::honest().drive().edit(|i| {
            if i.scenario != malformed::ID || i.operation != "ListTasks" {
                return Edit::Keep;
            }
            lists += 1;
            let more = json!({"id": "left-behind", "contextId": "c1", "status": {"state": "TASK_STATE_FAILED"}});
            i.changed(|a| {
                if lists == 2 {
                    a["result"]["tasks"].as_array_mut().unwrap().push(more);
                }
            })
        });
        caught(&RefusedEffects, &leaving, ReasonCode::RefusedWithEffect);
    }

    #[test]
    fn a_refused_cancel_that_cancels_is_caught() {
        let mut refused = false;
        let canceling = World::honest().drive().edit(|i| {
            refused |= i.scenario == tenant::ID && i.operation == "CancelTask";
            let owner = i.scenario == tenant::ID && i.operation == "GetTask" && i.actor == "allowed-user-a";
            if !refused || !owner {
                return Edit::Keep;
            }
            i.changed(|a| a["result"]["status"]["state"] = json!("TASK_STATE_CANCELED"))
        });
        assert!(
            outcomes(&canceling, "cross_tenant_cancel").contains(&Outcome::Fail),
            "{:#?}",
            canceling.judge(&RefusedEffects)
        );
    }
}
