//! `a2a.subscribe.refused`: an ended task and an unknown one cannot be subscribed to (E-01, E-02; §3.1.6).

use ostiary_protocol::a2a::{ErrorKind, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{subscribe_works::nothing_followed, undeclared::declares},
    refusal::{self, Refusal},
    scenarios::subscribe,
    story::{self, Story},
};

/// The check.
pub(super) struct SubscribeRefused;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.subscribe.refused",
    version: 1,
    summary: "To subscribe to an ended task is refused with UnsupportedOperationError, to an unknown one with \
              TaskNotFoundError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-01", "E-02", "A-03"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[
        ReasonCode::ErrorNotRefused,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ResponseMalformed,
        ReasonCode::ExampleMissing,
    ],
    severity: Severity::Error,
    liar: "a_subscription_to_an_ended_task_is_caught",
};

/// An ended task is not subscribed to; the error that readers of the older text expect is one for all that is ended.
const ENDED: Refusal<'static> = Refusal {
    named: &[ErrorKind::UnsupportedOperation],
    tolerated: &[ErrorKind::TaskNotFound],
    served: ReasonCode::ErrorNotRefused,
};
const UNKNOWN: Refusal<'static> =
    Refusal { named: &[ErrorKind::TaskNotFound], tolerated: &[], served: ReasonCode::ErrorNotRefused };

impl Check for SubscribeRefused {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    /// The control is a subscription that was served: where none ever is, a refusal proves nothing.
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let Some(story) = story::of(facts, subscribe::TOGETHER) else { return vec![answers::no_task(facts)] };
        let alone = story::of(facts, subscribe::ALONE);
        let served = |s: &Story<'_>| s.subscriptions.iter().any(|a| a.reply.streamed && a.first_item().is_some());
        if !served(&story) && !alone.as_ref().is_some_and(served) {
            return vec![nothing_followed(facts, &story)];
        }
        let judge = |answered: &Option<Answered<'_>>, refusal| {
            answered.as_ref().map_or_else(Vec::new, |a| refusal::judge(facts, a, refusal))
        };
        let mut out = judge(&story.ended, ENDED);
        if out.is_empty() {
            let remedy = "the task was not seen to end";
            out.push(facts.inconclusive(ReasonCode::ObservationIncomplete, "an ended task", remedy));
        }
        out.extend(judge(&story.unknown, UNKNOWN));
        out
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes, warnings};

    fn refused(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        let refusal = |i: &Item<'_>| i.operation == "SubscribeToTask" && i.answer["error"].is_object();
        World::honest().drive().edit(|i| if refusal(i) { change(i) } else { Edit::Keep })
    }

    #[test]
    fn refused_subscriptions_pass() {
        passes(&SubscribeRefused, &World::honest().drive());
    }

    #[test]
    fn a_subscription_to_an_ended_task_is_caught() {
        let served = refused(|i| {
            let task = json!({"id": i.request["params"]["id"], "status": {"state": "TASK_STATE_COMPLETED"}});
            Edit::Replace(i.with_result(json!({"task": task})))
        });
        caught(&SubscribeRefused, &served, ReasonCode::ErrorNotRefused);
    }

    #[test]
    fn a_refusal_for_another_reason_is_caught() {
        let other = refused(|i| Edit::Replace(i.with_error(json!({"code": -32603, "message": "no"}))));
        caught(&SubscribeRefused, &other, ReasonCode::ErrorCodeMismatch);
        let gone = refused(|i| Edit::Replace(i.with_error(json!({"code": -32001, "message": "no"}))));
        passes(&SubscribeRefused, &gone);
        assert_eq!(warnings(&SubscribeRefused, &gone), [ReasonCode::ErrorCodeMismatch]);
    }

    #[test]
    fn where_nothing_is_ever_served_a_refusal_proves_nothing() {
        let never = World::honest().drive().edit(|i| {
            let refusal = json!({"code": -32004, "message": "no"});
            match i.n {
                _ if i.operation != "SubscribeToTask" => Edit::Keep,
                0 => Edit::Replace(i.with_error(refusal)),
                _ => Edit::Drop,
            }
        });
        is(&SubscribeRefused, &never, Outcome::Inconclusive);
    }
}
