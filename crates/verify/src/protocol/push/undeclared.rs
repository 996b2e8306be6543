//! `a2a.push.undeclared`: no operation of push notifications is served that the card does not declare (I-06).

use ostiary_protocol::a2a::{Answer, ErrorKind, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    callbacks,
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::push::{self, undeclared},
};

/// The check.
pub(super) struct Undeclared;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.push.undeclared",
    version: 2,
    summary: "Every operation of push notifications that the card does not declare is refused with \
              PushNotificationNotSupportedError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-06", "I-08", "G-01"],
    reads: Reads::Each(&[undeclared::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[
        ReasonCode::UndeclaredCapabilityServed,
        ReasonCode::CallbackIgnored,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ResponseMalformed,
    ],
    severity: Severity::Error,
    liar: "a_taken_callback_is_caught",
};

impl Check for Undeclared {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if push::declared(facts.card()) {
            return vec![
                facts.not_applicable(CARD, format!("/capabilities/{}", Capability::PushNotifications.member())),
            ];
        }
        let refusal = Refusal {
            named: &[ErrorKind::PushNotificationNotSupported],
            tolerated: &[ErrorKind::UnsupportedOperation],
            served: ReasonCode::UndeclaredCapabilityServed,
        };
        let answers = answers::all(facts);
        let calls = answers.iter().filter(|a| a.operation().contains("PushNotificationConfig"));
        let mut out: Vec<Finding> = calls.flat_map(|a| refusal::judge(facts, a, refusal)).collect();
        let inline = callbacks::asked(&answers);
        let inline = inline.iter().filter(|a| a.answered.operation() == "SendMessage");
        out.extend(inline.flat_map(|asked| in_a_message(facts, asked.answered)));
        out
    }
}

/// A callback in a message. The specification lists the four operations that must be refused, and not this one: an agent
/// may leave it unread. Its sender then waits for nothing, and is warned.
fn in_a_message(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Finding> {
    let x = answered.exchange.id;
    let told: Vec<_> =
        callbacks::arrivals(facts).iter().filter(|a| a.is_to(undeclared::INLINE)).map(|a| a.cite()).collect();
    if !told.is_empty() {
        let (expected, code) = ("no notification", ReasonCode::UndeclaredCapabilityServed);
        return vec![facts.fail(code, told, expected, "one came to the callback of a message").at_exchange(x)];
    }
    let kind = |wanted| answered.reply.error().is_some_and(|(e, _)| e.may_mean(wanted));
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Result(_)) => {
            let expected = "a refusal with PushNotificationNotSupportedError";
            let ignored = facts.fail(ReasonCode::CallbackIgnored, answered.cite(), expected, "the message was served");
            vec![ignored.at_exchange(x).as_severity(Severity::Note)]
        }
        Some(Answer::Error(_)) if kind(ErrorKind::PushNotificationNotSupported) => {
            vec![facts.pass(answered.cite()).at_exchange(x)]
        }
        Some(Answer::Error(error)) => {
            let expected = "PushNotificationNotSupportedError, or the callback left unread";
            let other = facts.fail(ReasonCode::ErrorCodeMismatch, answered.cite(), expected, error.label());
            vec![other.at_exchange(x).as_severity(Severity::Warning)]
        }
        // judged by what ordinary messages are judged by
        Some(Answer::Malformed(_)) | None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{CallbackFacts, Delivery, Outcome, Severity};
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn answering(operation: &str, member: &str, answer: &Value) -> Driven {
        World::honest().drive().edit(|i| {
            if i.scenario != undeclared::ID || i.operation != operation {
                return Edit::Keep;
            }
            Edit::Replace(if member == "result" { i.with_result(answer.clone()) } else { i.with_error(answer.clone()) })
        })
    }

    #[test]
    fn refused_operations_pass_and_a_callback_left_unread_is_told() {
        let driven = World::honest().drive();
        passes(&Undeclared, &driven);
        let told = driven.judge(&Undeclared).into_iter().filter(|f| f.severity == Severity::Note);
        assert_eq!(told.filter_map(|f| f.verdict.reason()).collect::<Vec<_>>(), [ReasonCode::CallbackIgnored]);
    }

    #[test]
    fn a_taken_callback_is_caught() {
        for (operation, result) in [
            ("CreateTaskPushNotificationConfig", json!({"taskId": "t", "id": "p", "url": "https://callback.invalid/"})),
            ("GetTaskPushNotificationConfig", json!({"taskId": "t", "id": "p", "url": "https://callback.invalid/"})),
            ("ListTaskPushNotificationConfigs", json!({"configs": []})),
            ("DeleteTaskPushNotificationConfig", Value::Null),
        ] {
            caught(&Undeclared, &answering(operation, "result", &result), ReasonCode::UndeclaredCapabilityServed);
            let other = answering(operation, "error", &json!({"code": -32601, "message": "no"}));
            caught(&Undeclared, &other, ReasonCode::ErrorCodeMismatch);
        }
    }

    #[test]
    fn a_notification_that_nobody_declared_is_caught() {
        let mut world = World::honest();
        world.environment.callbacks = Some(CallbackFacts { public: true, https: true, signed: None });
        let delivery: Delivery = serde_json::from_value(json!({
            "n": 0, "at": 0, "to": "undeclared", "withdrawn": false, "method": "POST", "target": "/", "headers": {},
            "body": {"text": ""}, "cut": false, "shown": "not_asked", "answered": 200
        }))
        .expect("a delivery");
        let driven = world.drive().inbound(undeclared::ID, "callback:undeclared", &delivery);
        caught(&Undeclared, &driven, ReasonCode::UndeclaredCapabilityServed);
    }

    #[test]
    fn a_refused_message_passes_too() {
        let refusal = json!({"code": -32003, "message": "no"});
        passes(&Undeclared, &answering("SendMessage", "error", &refusal));
    }

    #[test]
    fn what_is_declared_does_not_apply() {
        is(&Undeclared, &World::pushing().drive(), Outcome::NotApplicable);
    }
}
