//! `a2a.tenant.cross`: another tenant's task is neither read nor canceled (T-05).

use ostiary_protocol::a2a::{Answer, TaskView};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    authorization::{declares_security, refusal, without_security},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenario::Role,
    scenarios::tenant,
};

/// The check.
pub(super) struct CrossTenant;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.tenant.cross",
    version: 1,
    summary: "Another tenant's task is neither read nor canceled.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["T-05", "Z-01", "G-01"],
    reads: Reads::Each(&[tenant::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CrossTenantAccess],
    severity: Severity::Error,
    liar: "a_foreign_task_that_is_served_is_caught",
};

impl Check for CrossTenant {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares_security(facts) {
            return vec![without_security(facts)];
        }
        let reached = reached(facts, tenant::FOREIGN_TASK);
        if reached.is_empty() {
            return vec![answers::no_task(facts)];
        }
        let all = answers::of(facts, tenant::ID);
        reached.iter().map(|a| judge(facts, a, &all)).collect()
    }
}

/// What the other tenant did with the task that a mark names.
pub(super) fn reached<'a>(facts: &Facts<'a>, mark: &str) -> Vec<Answered<'a>> {
    let about = |a: &Answered<'_>| {
        let Some((Some(id), at)) = a.tape.recording.mark(mark) else { return false };
        let other = facts.actor_of(a.tape, Role::OtherTenant);
        a.exchange.sent.seq > at && a.exchange.actor == other && names(&a.request(), id)
    };
    answers::of(facts, tenant::ID).into_iter().filter(about).collect()
}

/// Whether a request names an id anywhere: where exactly is the binding's business.
fn names(request: &serde_json::Value, id: &str) -> bool {
    match request {
        serde_json::Value::String(text) => text == id,
        serde_json::Value::Array(list) => list.iter().any(|v| names(v, id)),
        serde_json::Value::Object(members) => members.values().any(|v| names(v, id)),
        _ => false,
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>, all: &[Answered<'_>]) -> Finding {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Error(error)) => refusal::judge(facts, answered, error, answered.exchange.actor, all),
        Some(Answer::Result(value)) => {
            let task = TaskView::of(value);
            let shown = task.and_then(TaskView::state).map_or_else(String::new, |s| format!(", which is {s}"));
            let observed = format!("{} was served{shown}", answered.operation());
            let expected = "a refusal: the task belongs to another tenant";
            facts.fail(ReasonCode::CrossTenantAccess, answered.cite(), expected, observed).at_exchange(x)
        }
        Some(Answer::Malformed(why)) => {
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer that can be read", why).at_exchange(x)
        }
        None => {
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer", "the answer was empty").at_exchange(x)
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn serving(operation: &'static str) -> Driven {
        World::honest().drive().edit(|i| {
            let foreign = i.scenario == tenant::ID && i.actor == "allowed-user-b" && i.operation == operation;
            if !foreign || i.answer.get("error").is_none() {
                return Edit::Keep;
            }
            let task = json!({"id": i.request["params"]["id"], "status": {"state": "TASK_STATE_CANCELED"}});
            Edit::Replace(i.with_result(task))
        })
    }

    #[test]
    fn refused_access_passes() {
        let driven = World::honest().drive();
        passes(&CrossTenant, &driven);
        assert_eq!(driven.judge(&CrossTenant).len(), 2, "a read and a cancel");
    }

    #[test]
    fn a_foreign_task_that_is_served_is_caught() {
        caught(&CrossTenant, &serving("GetTask"), ReasonCode::CrossTenantAccess);
        caught(&CrossTenant, &serving("CancelTask"), ReasonCode::CrossTenantAccess);
    }

    /// The other tenant gets this error for the task that is not its own; `also` = from then on for its own, too.
    fn answering(code: i64, also: bool) -> Driven {
        let mut probed = false;
        World::honest().drive().edit(|i| {
            let probe = i.scenario == tenant::ID && i.actor == "allowed-user-b" && i.answer.get("error").is_some();
            probed |= probe;
            let its_own = also && probed && i.scenario == tenant::ID && i.actor == "allowed-user-b";
            let error = json!({"code": code, "message": "no"});
            if probe || its_own { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        })
    }

    #[test]
    fn an_error_about_something_else_is_no_refusal() {
        for code in [-32602, -32603, -32002] {
            is(&CrossTenant, &answering(code, false), Outcome::Inconclusive);
        }
    }

    #[test]
    fn an_error_of_the_agent_s_own_counts_between_controls_alone() {
        passes(&CrossTenant, &answering(-31000, false));
        is(&CrossTenant, &answering(-31000, true), Outcome::Inconclusive);
    }

    #[test]
    fn without_a_second_tenant_it_is_unknown() {
        let mut world = World::honest();
        world.environment.subjects.remove("allowed-user-b");
        is(&CrossTenant, &world.drive(), Outcome::Inconclusive);
    }

    #[test]
    fn without_tenants_or_tasks_it_does_not_apply() {
        is(&CrossTenant, &World::public().drive(), Outcome::NotApplicable);
        let mut messages = World::honest();
        messages.makes_tasks = false;
        is(&CrossTenant, &messages.drive(), Outcome::NotApplicable);
    }
}
