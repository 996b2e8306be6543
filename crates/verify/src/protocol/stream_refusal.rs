//! `a2a.stream.refusal`: a stream that is refused is refused once, before anything else (E-01, A-01).
//!
//! Where the stream has not begun, an error is a plain answer of the binding, as every SDK has it; one single event that is
//! an error says the same. Over gRPC it is a status, in the head or behind it.

use ostiary_protocol::a2a::{Answer, Binding, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    facts::Facts,
    protocol::undeclared::declares,
    scenarios::{subscribe, undeclared},
};

/// The check.
pub(super) struct StreamRefusal;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.refusal",
    version: 1,
    summary: "A refused stream is one error, and nothing besides.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-01", "A-01"],
    reads: Reads::Any(&[subscribe::ID, undeclared::STREAM]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::StreamOrderInvalid, ReasonCode::ErrorShapeInvalid],
    severity: Severity::Error,
    liar: "events_after_a_refusal_are_caught",
};

impl Check for StreamRefusal {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let all = answers::all(facts);
        let asks = |a: &&Answered<'_>| matches!(a.operation(), "SendStreamingMessage" | "SubscribeToTask");
        let binding = answers::binding(facts);
        let judged: Vec<Finding> = all.iter().filter(asks).flat_map(|a| judge(facts, a, &binding)).collect();
        if !judged.is_empty() {
            return judged;
        }
        let what = if declares(facts, Capability::Streaming) { "a refused subscription" } else { "a refused stream" };
        let remedy = "nothing was refused; see a2a.subscribe.refused and a2a.stream.undeclared";
        vec![facts.inconclusive(ReasonCode::ObservationIncomplete, what, remedy).as_severity(Severity::Note)]
    }
}

/// The refusals among the answers. What is refused with which error is judged elsewhere.
fn judge(facts: &Facts<'_>, answered: &Answered<'_>, binding: &Binding) -> Vec<Finding> {
    let Some(Answer::Error(error)) = answered.reply.first().map(|item| &item.answer) else { return Vec::new() };
    let x = answered.exchange.id;
    if answered.reply.items.len() > 1 {
        let expected = "nothing after the refusal";
        let observed = format!("{} further events", answered.reply.items.len() - 1);
        let at = answered.at(answered.reply.items[1].seq);
        return vec![facts.fail(ReasonCode::StreamOrderInvalid, at, expected, observed).at_exchange(x)];
    }
    let mut out = vec![facts.pass(answered.cite()).at_exchange(x)];
    let in_stream = *binding == Binding::HttpJson && answered.reply.status == Some(200);
    if in_stream {
        let expected = "an HTTP status of the error";
        let observed = format!("{} in a stream of HTTP 200", error.label());
        let finding = facts.fail(ReasonCode::ErrorShapeInvalid, answered.cite(), expected, observed);
        out.push(finding.at_exchange(x).as_severity(Severity::Warning));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Edit, World, caught, passes};

    #[test]
    fn single_refusals_pass() {
        passes(&StreamRefusal, &World::honest().drive());
        passes(&StreamRefusal, &World::without_streaming().drive());
    }

    #[test]
    fn events_after_a_refusal_are_caught() {
        let goes_on = World::honest().drive().edit(|i| {
            let first = i.operation == "SubscribeToTask" && i.n == 0 && i.is("task");
            let refusal = i.with_error(serde_json::json!({"code": -32004, "message": "no"}));
            if first { Edit::Replace(refusal) } else { Edit::Keep }
        });
        caught(&StreamRefusal, &goes_on, ReasonCode::StreamOrderInvalid);
    }
}
