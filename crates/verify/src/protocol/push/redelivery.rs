//! `a2a.push.redelivery`: a notification that is sent again is the same, so that its receiver can know it.
//!
//! Another callback of the same task, which takes everything, is told what really happened: what comes to the one that
//! takes nothing must be among it.

use ostiary_protocol::a2a::StreamItem;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::{Value, json};

use crate::{
    answers,
    callbacks::{self, Arrival},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    scenarios::push::redelivery,
};

/// The check.
pub(super) struct Redelivery;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.redelivery",
    version: 1,
    summary: "A notification that is sent again is the same as before.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-09"],
    reads: Reads::Each(&[redelivery::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Environment],
    reasons: &[
        ReasonCode::CallbackRedeliveryDiffers,
        ReasonCode::CallbackNotRetried,
        ReasonCode::CallbackRefused,
        ReasonCode::ObserverMissing,
    ],
    severity: Severity::Error,
    liar: "a_redelivery_that_differs_is_caught",
};

impl Check for Redelivery {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if let Some(finding) = callbacks::undeclared(facts).or_else(|| callbacks::no_receiver(facts)) {
            return vec![finding];
        }
        let (answers, arrivals) = (answers::all(facts), callbacks::arrivals(facts));
        let asked = callbacks::asked(&answers);
        if let Some(refused) = asked.iter().find(|a| !a.taken()) {
            let unusable = refused.answered.unusable(facts);
            return vec![unusable.unwrap_or_else(|| callbacks::refused(facts, refused))];
        }
        let to = |name: &str| arrivals.iter().filter(|a| a.is_to(name)).collect::<Vec<_>>();
        let (told, tried) = (to(redelivery::TAKING), to(redelivery::FAILING));
        if tried.is_empty() || told.is_empty() {
            return vec![nothing(facts, &answers, arrivals.is_empty())];
        }
        let events: Vec<Value> = told.iter().map(|a| event(a)).collect();
        let known = tried.iter().filter(|a| events.contains(&event(a))).count();
        if known == 0 {
            let remedy =
                "the two callbacks of one task were told different things, so what was repeated cannot be told";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "an event told to both", remedy)];
        }
        let others = tried.iter().filter(|a| !events.contains(&event(a)));
        let others: Vec<_> = others.map(|a| a.cite()).collect();
        let mut out = Vec::new();
        if !others.is_empty() {
            out.push(differs(facts, others));
        }
        if known == tried.len() {
            out.push(facts.pass(answers::some_of(tried.iter().map(|a| a.cite()).collect())));
        }
        if !repeated(&tried) {
            out.push(not_retried(facts, &tried));
        }
        out
    }
}

/// What tells an event from another one. A snapshot of the task is the same event for its receiver as often as it comes;
/// `metadata` beside an update may count the attempts.
pub(crate) fn event(arrival: &Arrival<'_>) -> Value {
    let Some(body) = &arrival.body else { return Value::Null };
    let Ok(item) = StreamItem::read(body) else { return body.clone() };
    match item {
        StreamItem::Task(task) => json!({"task": task.id()}),
        StreamItem::Message(message) => json!({"message": message.get("messageId")}),
        StreamItem::StatusUpdate(update) => json!({"status": update.0.get("status"), "task": item.task_id()}),
        StreamItem::ArtifactUpdate(update) => {
            let flag = |name: &str| update.0.get(name).and_then(Value::as_bool).unwrap_or_default();
            let artifact = update.0.get("artifact");
            json!({"artifact": artifact, "append": flag("append"), "last": flag("lastChunk"), "task": item.task_id()})
        }
    }
}

/// Whether any event came twice.
fn repeated(tried: &[&Arrival<'_>]) -> bool {
    tried.iter().enumerate().any(|(n, a)| tried[..n].iter().any(|b| event(a) == event(b)))
}

fn differs(facts: &Facts<'_>, others: Vec<EventRef>) -> Finding {
    let expected = "what the other callback of the task was told, too";
    let observed = format!("{} notifications that differ from all of it", others.len());
    facts.fail(ReasonCode::CallbackRedeliveryDiffers, answers::some_of(others), expected, observed)
}

/// Retries are recommended and not demanded (§4.3.3 MAY, §13.2 SHOULD).
fn not_retried(facts: &Facts<'_>, tried: &[&Arrival<'_>]) -> Finding {
    let at = answers::some_of(tried.iter().map(|a| a.cite()).collect());
    let expected = "a further attempt after a broken connection and after 503";
    facts.fail(ReasonCode::CallbackNotRetried, at, expected, "none").as_severity(Severity::Warning)
}

fn nothing(facts: &Facts<'_>, answers: &[answers::Answered<'_>], silent: bool) -> Finding {
    let Some(tape) = facts.tapes().first().copied() else { return answers::no_task(facts) };
    if callbacks::task_of(answers, tape).is_none() {
        return answers::no_task(facts);
    }
    if silent { callbacks::unreachable(facts) } else { super::ended_too_soon(facts) }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{Delivery, Outcome};

    use super::*;
    use crate::testing::{Driven, World, caught, is, passes, warnings, with_body};

    /// The run with each repetition of an event changed.
    fn repeating(change: impl Fn(Delivery) -> Vec<Delivery>) -> Driven {
        let mut before = String::new();
        World::pushing().drive().deliveries(|_, d| {
            if d.to.as_deref() != Some(redelivery::FAILING) {
                return vec![d];
            }
            let body = d.body.as_str().unwrap_or_default().to_owned();
            let again = body == before;
            before = body;
            if again { change(d) } else { vec![d] }
        })
    }

    #[test]
    fn the_same_again_passes() {
        let driven = World::pushing().drive();
        passes(&Redelivery, &driven);
        assert_eq!(warnings(&Redelivery, &driven), []);
    }

    #[test]
    fn a_redelivery_that_differs_is_caught() {
        let other_state =
            repeating(|d| vec![with_body(d, |b| b["statusUpdate"]["status"]["state"] = json!("TASK_STATE_FAILED"))]);
        let other_time = repeating(|d| {
            vec![with_body(d, |b| b["statusUpdate"]["status"]["timestamp"] = json!("2027-01-01T00:00:00Z"))]
        });
        let appended = repeating(|d| {
            let artifact = json!({"artifactId": "a1", "parts": [{"text": "more"}]});
            vec![with_body(
                d,
                |b| *b = json!({"artifactUpdate": {"taskId": b["statusUpdate"]["taskId"], "append": true, "artifact": artifact}}),
            )]
        });
        for driven in [other_state, other_time, appended] {
            caught(&Redelivery, &driven, ReasonCode::CallbackRedeliveryDiffers);
        }
    }

    #[test]
    fn who_counts_attempts_or_sends_the_task_as_it_stands_passes() {
        passes(
            &Redelivery,
            &repeating(|d| vec![with_body(d, |b| b["statusUpdate"]["metadata"] = json!({"attempt": 2}))]),
        );
    }

    #[test]
    fn who_never_tries_again_is_warned() {
        let driven = repeating(|_| vec![]);
        passes(&Redelivery, &driven);
        assert_eq!(warnings(&Redelivery, &driven), [ReasonCode::CallbackNotRetried]);
    }

    #[test]
    fn what_is_not_declared_does_not_apply() {
        is(&Redelivery, &World::honest().drive(), Outcome::NotApplicable);
    }
}
