//! `a2a.push.payload`: a notification is a POST of one `StreamResponse` about the task that the callback was registered
//! for, whatever the binding is (A2A 1.0 §4.3.3).

use ostiary_protocol::{MediaType, a2a::StreamItem};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    callbacks::{self, Arrival},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::{delivery, redelivery},
};

/// The check.
pub(super) struct Payload;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.payload",
    version: 1,
    summary: "A notification is a POST of one StreamResponse in JSON about the task of its callback.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09"],
    reads: Reads::Any(&[delivery::ID, redelivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[ReasonCode::CallbackMalformed, ReasonCode::CallbackRefused, ReasonCode::ObserverMissing],
    severity: Severity::Error,
    liar: "a_notification_in_another_form_is_caught",
};

/// The mark of a tape whose address got more deliveries than are kept.
const DROPPED: &str = "callbacks_dropped";

impl Check for Payload {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let (answers, arrivals) = (answers::all(facts), callbacks::arrivals(facts));
        let (mut seen, mut wrong, mut out) = (Vec::new(), Vec::new(), Vec::new());
        for arrival in arrivals.iter().filter(|a| !a.stray) {
            let task = callbacks::task_of(&answers, arrival.tape);
            match problem(arrival, task.as_deref()) {
                None if arrival.delivery.cut => {
                    out.push(bound(facts, "body_bytes", "a notification was longer than is kept"))
                }
                None => seen.push(arrival.cite()),
                Some(observed) => wrong.push((arrival.cite(), observed)),
            }
        }
        let expected = "a POST of one StreamResponse in JSON about the callback's task";
        let fail = |(at, observed)| facts.fail(ReasonCode::CallbackMalformed, at, expected, observed);
        out.extend(callbacks::grouped(wrong).into_iter().map(fail));
        if facts.tapes().iter().any(|t| t.recording.mark(DROPPED).is_some()) {
            out.push(bound(facts, "deliveries", "more notifications came than are kept, and those were only counted"));
        }
        if !seen.is_empty() {
            out.push(facts.pass(answers::some_of(seen)));
        }
        if out.is_empty() { vec![callbacks::unreachable(facts)] } else { out }
    }
}

fn bound(facts: &Facts<'_>, which: &str, why: &str) -> Finding {
    facts.inconclusive(ReasonCode::BudgetExceeded, format!("bound `{which}`"), why)
}

/// What is wrong with a notification; a body that was cut is not judged.
fn problem(arrival: &Arrival<'_>, task: Option<&str>) -> Option<String> {
    let delivery = &arrival.delivery;
    if delivery.method != "POST" {
        return Some(format!("a {}", delivery.method));
    }
    let media = delivery.headers.get("content-type").map_or("", String::as_str);
    // `application/a2a+json` is what the specification recommends, and `application/json` what most SDKs send
    if !MediaType::parse(media).is_some_and(|m| m.is_json()) {
        return Some(format!("the content type `{media}`"));
    }
    if delivery.cut {
        return None;
    }
    let Some(body) = &arrival.body else { return Some("a body that is no JSON".to_owned()) };
    let item = match StreamItem::read(body) {
        Ok(item) => item,
        Err(_) if body.get("jsonrpc").is_some() => return Some("a JSON-RPC envelope".to_owned()),
        Err(why) => return Some(why.to_string()),
    };
    let other = item.task_id().filter(|id| task.is_some_and(|task| task != *id));
    other.map(|id| format!("a notification about another task, `{id}`"))
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Delivery, Outcome};
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, is, passes, with_body};

    fn each(change: impl Fn(Delivery) -> Delivery) -> Driven {
        World::pushing().drive().deliveries(|_, d| vec![change(d)])
    }

    fn with_type(delivery: Delivery, media: &str) -> Delivery {
        let headers = [("content-type".to_owned(), media.to_owned())].into();
        Delivery { headers, ..delivery }
    }

    #[test]
    fn one_stream_response_in_json_passes() {
        passes(&Payload, &World::pushing().drive());
        passes(&Payload, &each(|d| with_type(d, "application/json; charset=utf-8")));
    }

    #[test]
    fn a_notification_in_another_form_is_caught() {
        let task = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}});
        for driven in [
            each(|d| with_body(d, |body| *body = json!({"jsonrpc": "2.0", "id": 1, "result": body.clone()}))),
            each(|d| with_body(d, |body| *body = task.clone())),
            each(|d| with_body(d, |body| *body = json!({"kind": "task", "id": "t"}))),
            each(|d| with_body(d, |body| *body = json!([body.clone(), body.clone()]))),
            each(|d| with_body(d, |body| body["statusUpdate"]["taskId"] = json!("another"))),
            each(|d| with_type(d, "text/plain")),
            each(|d| Delivery { body: "no JSON".into(), ..d }),
            each(|d| Delivery { method: "PUT".to_owned(), ..d }),
        ] {
            caught(&Payload, &driven, ReasonCode::CallbackMalformed);
        }
    }

    #[test]
    fn what_is_longer_than_is_kept_is_not_told() {
        let driven = each(|d| Delivery { cut: true, ..d });
        assert_eq!(driven.verdict(&Payload), (Outcome::Inconclusive, Some(ReasonCode::BudgetExceeded)));
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Payload, &World::honest().drive(), Outcome::NotApplicable);
    }
}
