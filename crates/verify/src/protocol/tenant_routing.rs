//! `a2a.tenant.routing`: where the card names a tenant, requests are served under that routing value alone (I-04).

use ostiary_protocol::a2a::Answer;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    scenarios::tenant_routing,
};

/// The check.
pub(super) struct TenantRouted;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.tenant.routing",
    version: 1,
    summary: "A task of an interface that names a tenant is not served under another routing value.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-04", "I-08", "Z-04"],
    reads: Reads::Each(&[tenant_routing::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::TenantNotRouted],
    severity: Severity::Error,
    liar: "a_task_that_is_served_under_another_value_is_caught",
};

impl Check for TenantRouted {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let interface = facts.profile().and_then(|p| facts.discovered().interface(p));
        if let Some(interface) = interface.filter(|i| i.tenant.is_none()) {
            return vec![facts.not_applicable(CARD, format!("{}/tenant", interface.pointer))];
        }
        let own = interface.and_then(|i| i.tenant.as_deref()).unwrap_or_default();
        let all = answers::of(facts, tenant_routing::ID);
        let wrong = |a: &&Answered<'_>| routing(a).as_deref() != Some(own) && after_mark(a);
        let out: Vec<Finding> = all.iter().filter(wrong).map(|a| judge(facts, a, own)).collect();
        if out.is_empty() { vec![answers::no_task(facts)] } else { out }
    }
}

/// A caller must echo the value (§8.3.2), and what a server does without it is not said: a default for who sends none is
/// one reading. But another value that leads to the same task says that the declared one means nothing.
fn judge(facts: &Facts<'_>, answered: &Answered<'_>, own: &str) -> Finding {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Result(_)) => {
            let other = routing(answered);
            let asked = other.as_ref().map_or_else(|| "without routing value".to_owned(), |t| format!("with `{t}`"));
            let expected = format!("the task to be found under the routing value `{own}` alone");
            let observed = format!("{} served {asked}", answered.operation());
            let finding = facts.fail(ReasonCode::TenantNotRouted, answered.cite(), expected, observed).at_exchange(x);
            if other.is_none() { finding.as_severity(Severity::Warning) } else { finding }
        }
        Some(Answer::Error(_)) => facts.pass(answered.cite()).at_exchange(x),
        Some(Answer::Malformed(why)) => {
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer that can be read", why).at_exchange(x)
        }
        None => {
            facts.inconclusive(ReasonCode::ObservationIncomplete, "an answer", "the answer was empty").at_exchange(x)
        }
    }
}

fn after_mark(answered: &Answered<'_>) -> bool {
    let mark = answered.tape.recording.mark(tenant_routing::TASK);
    mark.is_some_and(|(_, at)| answered.exchange.sent.seq > at)
}

/// The routing value that a request carried, whatever the binding.
fn routing(answered: &Answered<'_>) -> Option<String> {
    answered.request().get("tenant").and_then(serde_json::Value::as_str).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes, warnings};

    fn routed() -> World {
        World::with_card(|c| c["supportedInterfaces"][0]["tenant"] = "acme".into())
    }

    /// Every read is answered as the right one was.
    fn serving(only_missing: bool) -> Driven {
        let mut task = None;
        routed().drive().edit(|i| {
            if i.scenario != tenant_routing::ID || i.operation != "GetTask" {
                return Edit::Keep;
            }
            if i.request["params"]["tenant"] == "acme" {
                task = Some(i.answer["result"].clone());
                return Edit::Keep;
            }
            let missing = i.request["params"].get("tenant").is_none();
            match &task {
                Some(task) if missing || !only_missing => Edit::Replace(i.with_result(task.clone())),
                _ => Edit::Keep,
            }
        })
    }

    #[test]
    fn a_value_that_routes_passes() {
        let driven = routed().drive();
        passes(&TenantRouted, &driven);
        assert_eq!(driven.judge(&TenantRouted).len(), 2, "another value, and none");
    }

    #[test]
    fn a_task_that_is_served_under_another_value_is_caught() {
        caught(&TenantRouted, &serving(false), ReasonCode::TenantNotRouted);
    }

    #[test]
    fn a_default_for_who_sends_none_is_warned_about() {
        let lenient = serving(true);
        passes(&TenantRouted, &lenient);
        assert_eq!(warnings(&TenantRouted, &lenient), [ReasonCode::TenantNotRouted]);
    }

    #[test]
    fn without_a_tenant_or_tasks_it_does_not_apply() {
        is(&TenantRouted, &World::honest().drive(), Outcome::NotApplicable);
        let mut messages = routed();
        messages.makes_tasks = false;
        is(&TenantRouted, &messages.drive(), Outcome::NotApplicable);
    }
}
