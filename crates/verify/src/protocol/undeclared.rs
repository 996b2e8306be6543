//! `a2a.stream.undeclared`, `a2a.extended_card.undeclared`: a capability that the card does not declare is refused with the
//! error that the specification names (I-05, I-07).

use ostiary_protocol::a2a::{Card, ErrorKind, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::undeclared,
};

/// One of the two checks: they differ in the capability and in how it must be refused.
pub(super) struct Undeclared {
    spec: &'static CheckSpec,
    capability: Capability,
    operations: &'static [&'static str],
    named: &'static [ErrorKind],
    tolerated: &'static [ErrorKind],
}

const fn spec(
    id: &'static str,
    summary: &'static str,
    covers: &'static [&'static str],
    reads: &'static [&'static str],
    liar: &'static str,
) -> CheckSpec {
    CheckSpec {
        id,
        version: 1,
        summary,
        layer: Layer::Protocol,
        gate: Gate::Conformance,
        covers,
        reads: Reads::Each(reads),
        depends: &[Input::Candidate, Input::Card],
        reasons: &[
            ReasonCode::UndeclaredCapabilityServed,
            ReasonCode::ErrorCodeMismatch,
            ReasonCode::ResponseMalformed,
        ],
        severity: Severity::Error,
        liar,
    }
}

static STREAM: CheckSpec = CheckSpec {
    version: 2,
    ..spec(
        "a2a.stream.undeclared",
        "A stream or subscription that the card does not declare is refused with UnsupportedOperationError.",
        &["I-05", "I-08", "G-01"],
        &[undeclared::STREAM],
        "a_served_stream_is_caught",
    )
};
static EXTENDED_CARD: CheckSpec = spec(
    "a2a.extended_card.undeclared",
    "The extended card is refused with UnsupportedOperationError where the card declares none.",
    &["I-07", "I-08", "G-01"],
    &[undeclared::EXTENDED_CARD],
    "a_served_extended_card_is_caught",
);

// === impl Undeclared ===

impl Undeclared {
    /// Both.
    pub(super) const ALL: [Self; 2] = [
        Self {
            spec: &STREAM,
            capability: Capability::Streaming,
            operations: &["SendStreamingMessage", "SubscribeToTask"],
            named: &[ErrorKind::UnsupportedOperation],
            tolerated: &[],
        },
        Self {
            spec: &EXTENDED_CARD,
            capability: Capability::ExtendedAgentCard,
            operations: &["GetExtendedAgentCard"],
            named: &[ErrorKind::UnsupportedOperation],
            tolerated: &[ErrorKind::ExtendedAgentCardNotConfigured],
        },
    ];
}

impl Check for Undeclared {
    fn spec(&self) -> &'static CheckSpec {
        self.spec
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if declares(facts, self.capability) {
            return vec![facts.not_applicable(CARD, format!("/capabilities/{}", self.capability.member()))];
        }
        let served = ReasonCode::UndeclaredCapabilityServed;
        let refusal = Refusal { named: self.named, tolerated: self.tolerated, served };
        let all = answers::all(facts);
        let asked = all.iter().filter(|a| self.operations.contains(&a.operation()));
        asked.flat_map(|a| refusal::judge(facts, a, refusal)).collect()
    }
}

/// Whether the card declares a capability.
pub(crate) fn declares(facts: &Facts<'_>, capability: Capability) -> bool {
    facts.card().is_some_and(|v| Card::new(v.clone()).capability(capability) == Some(true))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn answering(check: &Undeclared, member: &str, answer: &Value) -> Driven {
        World::without_streaming().drive().edit(|i| {
            if i.scenario != check.spec.id || i.operation != check.operations[0] {
                return Edit::Keep;
            }
            Edit::Replace(if member == "result" { i.with_result(answer.clone()) } else { i.with_error(answer.clone()) })
        })
    }

    fn is_caught_when_served(check: &Undeclared, result: &Value) {
        caught(check, &answering(check, "result", result), ReasonCode::UndeclaredCapabilityServed);
    }

    #[test]
    fn refused_capabilities_pass() {
        let driven = World::without_streaming().drive();
        let silent = World::with_card(|c| c["capabilities"] = json!({})).drive();
        for check in &Undeclared::ALL {
            passes(check, &driven);
            passes(check, &silent);
        }
    }

    #[test]
    fn a_served_stream_is_caught() {
        let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
        is_caught_when_served(&Undeclared::ALL[0], &task);
    }

    #[test]
    fn a_served_subscription_is_caught() {
        let served = World::without_streaming().drive().edit(|i| {
            let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
            if i.operation == "SubscribeToTask" { Edit::Replace(i.with_result(task)) } else { Edit::Keep }
        });
        caught(&Undeclared::ALL[0], &served, ReasonCode::UndeclaredCapabilityServed);
    }

    #[test]
    fn a_served_extended_card_is_caught() {
        is_caught_when_served(&Undeclared::ALL[1], &json!({"name": "more", "skills": []}));
    }

    #[test]
    fn a_refusal_for_another_reason_is_caught() {
        for check in &Undeclared::ALL {
            let other = answering(check, "error", &json!({"code": -32601, "message": "no"}));
            caught(check, &other, ReasonCode::ErrorCodeMismatch);
        }
    }

    #[test]
    fn what_is_declared_does_not_apply() {
        let all = World::with_card(|c| {
            c["capabilities"] = json!({"streaming": true, "pushNotifications": true, "extendedAgentCard": true});
        });
        let driven = all.drive();
        for check in &Undeclared::ALL {
            is(check, &driven, Outcome::NotApplicable);
        }
    }
}
