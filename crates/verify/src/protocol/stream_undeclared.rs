//! `a2a.stream.undeclared`: a stream that the card does not declare is refused (I-05).

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

/// The check.
pub(super) struct StreamUndeclared;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.undeclared",
    version: 1,
    summary: "A stream that the card does not declare is refused with UnsupportedOperationError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-05", "I-08", "G-01"],
    reads: Reads::Each(&[undeclared::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::UndeclaredCapabilityServed, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_served_stream_is_caught",
};

impl Check for StreamUndeclared {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if declares_streaming(facts) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let refusal = Refusal {
            named: &[ErrorKind::UnsupportedOperation],
            tolerated: &[],
            served: ReasonCode::UndeclaredCapabilityServed,
        };
        answers::of(facts, undeclared::ID).iter().flat_map(|a| refusal::judge(facts, a, refusal)).collect()
    }
}

/// Whether the card declares streaming.
pub(super) fn declares_streaming(facts: &Facts<'_>) -> bool {
    facts.card().is_some_and(|v| Card::new(v.clone()).capability(Capability::Streaming) == Some(true))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    #[test]
    fn a_refused_stream_passes() {
        passes(&StreamUndeclared, &World::without_streaming().drive());
        let absent = World::with_card(|c| c["capabilities"] = json!({}));
        passes(&StreamUndeclared, &absent.drive());
    }

    #[test]
    fn a_served_stream_is_caught() {
        let served = World::without_streaming().drive().edit(|i| {
            let task = json!({"task": {"id": "t", "status": {"state": "TASK_STATE_WORKING"}}});
            if i.scenario == undeclared::ID { Edit::Replace(i.with_result(task)) } else { Edit::Keep }
        });
        caught(&StreamUndeclared, &served, ReasonCode::UndeclaredCapabilityServed);
    }

    #[test]
    fn a_refusal_for_another_reason_is_caught() {
        let other = World::without_streaming().drive().edit(|i| {
            let error = json!({"code": -32601, "message": "no"});
            if i.scenario == undeclared::ID { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        });
        caught(&StreamUndeclared, &other, ReasonCode::ErrorCodeMismatch);
    }

    #[test]
    fn where_streaming_is_declared_it_does_not_apply() {
        is(&StreamUndeclared, &World::honest().drive(), Outcome::NotApplicable);
    }
}
