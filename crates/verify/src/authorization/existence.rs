//! `a2a.tenant.existence`: the refusal for another tenant's task is that for a task that does not exist (Z-03, T-05).

use ostiary_protocol::a2a::{A2aError, ErrorKind};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    authorization::{cross_tenant::reached, declares_security, without_security},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::tenant,
};

/// The check.
pub(super) struct Existence;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.tenant.existence",
    version: 1,
    summary: "The refusal for another tenant's task is that for a task that does not exist.",
    layer: Layer::Authorization,
    gate: Gate::Security,
    covers: &["Z-03", "T-05"],
    reads: Reads::Each(&[tenant::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::TaskExistenceRevealed],
    severity: Severity::Error,
    liar: "a_refusal_that_tells_is_caught",
};

impl Check for Existence {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares_security(facts) {
            return vec![without_security(facts)];
        }
        let foreign = reached(facts, tenant::FOREIGN_TASK);
        let nothing = reached(facts, tenant::NO_SUCH_TASK);
        if foreign.is_empty() {
            return vec![answers::no_task(facts)];
        }
        let pair = |f: &Answered<'_>| {
            let same = |n: &&Answered<'_>| n.tape.index == f.tape.index && n.operation() == f.operation();
            match nothing.iter().find(same) {
                Some(none) => compare(facts, f, none),
                None => incomparable(facts, "the task that does not exist was not asked for"),
            }
        };
        foreign.iter().map(pair).collect()
    }
}

/// What can be told apart, and how much that says.
enum Difference {
    /// Status, code, reason or shape: any caller sees it.
    Plain(String),
    /// The caller is told to be forbidden, which the specification gives as an example and which it forbids to reveal.
    Forbidden,
    /// Only words: they may carry anything, such as a number of the request.
    Words,
}

fn compare(facts: &Facts<'_>, foreign: &Answered<'_>, nothing: &Answered<'_>) -> Finding {
    let (Some((f, _)), Some((n, _))) = (foreign.reply.error(), nothing.reply.error()) else {
        return incomparable(facts, "one of both was not refused, so there are no two refusals to compare");
    };
    let seen: Vec<EventRef> = foreign.cite().into_iter().chain(nothing.cite()).collect();
    let expected = format!("the same refusal as for a task that does not exist: {}", n.label());
    let fail = |observed: String| {
        let finding = facts.fail(ReasonCode::TaskExistenceRevealed, seen.clone(), expected.clone(), observed);
        finding.at_exchange(foreign.exchange.id)
    };
    match difference((f, task_of(foreign)), (n, task_of(nothing))) {
        None => facts.pass(seen).at_exchange(foreign.exchange.id),
        Some(Difference::Plain(observed)) => fail(observed),
        Some(Difference::Forbidden) => fail(f.label()).as_severity(Severity::Warning),
        Some(Difference::Words) => fail("other words".to_owned()).as_severity(Severity::Warning),
    }
}

fn difference(foreign: (&A2aError, String), nothing: (&A2aError, String)) -> Option<Difference> {
    let ((f, f_id), (n, n_id)) = (foreign, nothing);
    if f.kind() != n.kind() && f.kind() == Some(ErrorKind::Forbidden) {
        return Some(Difference::Forbidden);
    }
    let told = |e: &A2aError| (e.http_status, e.status.clone(), e.code, e.reason().map(str::to_owned));
    if told(f) != told(n) {
        return Some(Difference::Plain(f.label()));
    }
    let (f, n) = (masked(f.object.as_ref(), &f_id), masked(n.object.as_ref(), &n_id));
    if outline(&f) != outline(&n) {
        return Some(Difference::Plain("an error of another shape".to_owned()));
    }
    (f != n).then_some(Difference::Words)
}

/// The id that a request names.
fn task_of(answered: &Answered<'_>) -> String {
    answered.request().get("id").and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// The error with what differs from request to request taken out: the id asked for, times, and numbers of exchanges.
fn masked(error: Option<&Value>, id: &str) -> Value {
    match error {
        None | Some(Value::Null) => Value::Null,
        Some(Value::String(text)) => {
            let text = if id.is_empty() { text.clone() } else { text.replace(id, "⟨id⟩") };
            let is_time = text.parse::<jiff::Timestamp>().is_ok();
            Value::String(if is_time { "⟨time⟩".to_owned() } else { text })
        }
        Some(Value::Array(list)) => list.iter().map(|v| masked(Some(v), id)).collect(),
        Some(Value::Object(members)) => members.iter().map(|(n, v)| (n.clone(), masked(Some(v), id))).collect(),
        Some(other) => other.clone(),
    }
}

/// The shape alone: members and types.
fn outline(value: &Value) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::Bool(_) => "bool".into(),
        Value::Number(_) => "number".into(),
        Value::String(_) => "text".into(),
        Value::Array(list) => list.iter().map(outline).collect(),
        Value::Object(members) => members.iter().map(|(n, v)| (n.clone(), outline(v))).collect(),
    }
}

fn incomparable(facts: &Facts<'_>, remedy: &str) -> Finding {
    facts.inconclusive(ReasonCode::ObservationIncomplete, "two refusals", remedy)
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    /// Changes the first refusal that the other tenant gets for each operation: that for the task that exists.
    fn foreign(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let mut seen = std::collections::BTreeSet::new();
        World::honest().drive().edit(|i| {
            let refused = i.scenario == tenant::ID && i.actor == "allowed-user-b" && i.answer.get("error").is_some();
            if refused && seen.insert(i.operation.to_owned()) { change(i) } else { Edit::Keep }
        })
    }

    #[test]
    fn equal_refusals_pass() {
        passes(&Existence, &World::honest().drive());
        let with_id = World::honest().drive().edit(|i| {
            let id = i.request["params"]["id"].as_str().unwrap_or_default().to_owned();
            let named = format!("Task {id} not found");
            if i.answer.get("error").is_some() {
                i.changed(|a| a["error"]["message"] = json!(named))
            } else {
                Edit::Keep
            }
        });
        passes(&Existence, &with_id);
    }

    #[test]
    fn a_refusal_that_tells_is_caught() {
        let code = foreign(|i| Edit::Replace(i.with_error(json!({"code": -32002, "message": "refused"}))));
        caught(&Existence, &code, ReasonCode::TaskExistenceRevealed);
        let shape = foreign(|i| i.changed(|a| a["error"]["data"][0]["metadata"] = json!({"owner": "tenant-a"})));
        caught(&Existence, &shape, ReasonCode::TaskExistenceRevealed);
    }

    #[test]
    fn other_words_are_warned_about() {
        let words = foreign(|i| i.changed(|a| a["error"]["message"] = json!("belongs to tenant-a")));
        assert_eq!(warnings(&Existence, &words), [ReasonCode::TaskExistenceRevealed; 2]);
    }

    #[test]
    fn what_was_served_cannot_be_compared() {
        let served = foreign(|i| Edit::Replace(i.with_result(json!({"id": "t", "status": {}}))));
        is(&Existence, &served, Outcome::Inconclusive);
    }
}
