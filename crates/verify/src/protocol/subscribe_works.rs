//! `a2a.subscribe.works`: a task at work can be followed by whoever lost its stream, to its end (I-09, A-05).

use ostiary_protocol::a2a::{Answer, card::Capability};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{
        stream_works::{Progress, ended_by_us, progress},
        undeclared::declares,
    },
    scenarios::subscribe,
    story::{self, Story},
};

/// The check.
pub(super) struct SubscribeWorks;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.subscribe.works",
    version: 1,
    summary: "Where streaming is declared, a task at work can be subscribed to, and is followed to its end.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-09", "A-05"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[
        ReasonCode::CapabilityNotKept,
        ReasonCode::StreamTruncated,
        ReasonCode::ResponseMalformed,
        ReasonCode::ExampleMissing,
    ],
    severity: Severity::Error,
    liar: "a_refused_subscription_is_caught",
};

impl Check for SubscribeWorks {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    /// Judged on the subscription that is the only stream of its task: several at once are an agent's choice (§3.5.2).
    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let Some(story) = story::of(facts, subscribe::ALONE) else { return vec![answers::no_task(facts)] };
        match story.subscriptions.first() {
            Some(answered) => vec![judge(facts, &story, answered).at_exchange(answered.exchange.id)],
            None => vec![nothing_followed(facts, &story)],
        }
    }
}

/// Why nothing was subscribed to.
pub(crate) fn nothing_followed(facts: &Facts<'_>, story: &Story<'_>) -> Finding {
    let Some(origin) = &story.origin else { return answers::no_task(facts) };
    if let Some(nothing) = answers::no_stream(facts, origin) {
        return nothing;
    }
    match origin.first_item() {
        Some((item, _)) if item.task_id().is_some() && item.member() != "message" => story::too_brief(facts),
        _ => answers::no_task(facts),
    }
}

fn judge(facts: &Facts<'_>, story: &Story<'_>, answered: &Answered<'_>) -> Finding {
    if let Some(unusable) = answered.unusable(facts) {
        return unusable;
    }
    if answered.credential_refused() {
        return facts.inconclusive(ReasonCode::ControlFailed, "a credential that works", "the credential was refused");
    }
    let fail = |reason, expected: &str, observed: String| facts.fail(reason, answered.cite(), expected, observed);
    let first = answered.reply.first().map(|item| &item.answer);
    if let Some(Answer::Error(error)) = first {
        if story.was_at_work_after(answered.reply.decisive) {
            return fail(ReasonCode::CapabilityNotKept, "a stream of the task that is at work", error.label());
        }
        return story::too_brief(facts);
    }
    if let Some((why, _)) = answered.reply.malformed().filter(|_| !answered.reply.streamed) {
        return fail(ReasonCode::ResponseMalformed, "a stream of the task, or a refusal", why.to_owned());
    }
    if !answered.reply.streamed {
        let media =
            answered.reply.media_type.as_ref().map_or_else(|| "no content type".to_owned(), ToString::to_string);
        return fail(ReasonCode::CapabilityNotKept, "a stream (`text/event-stream`)", media);
    }
    match progress(answered) {
        Err(why) => fail(ReasonCode::ResponseMalformed, "events in the envelope of the binding", why),
        // how the task ended is judged by checks of its own
        Ok(Progress::StandsStill | Progress::Unserved(_)) => facts.pass(answered.cite()),
        Ok(Progress::Open(last)) => match ended_by_us(answered) {
            Some((reason, remedy)) => facts.inconclusive(reason, "the end of the stream", remedy),
            None => fail(ReasonCode::StreamTruncated, "a terminal or interrupted state before the stream ends", last),
        },
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    fn subscribing(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| {
            let alone = i.axes.get(subscribe::AXIS).is_some_and(|story| story == subscribe::ALONE);
            if alone && i.operation == "SubscribeToTask" { change(i) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_subscription_that_is_served_passes() {
        passes(&SubscribeWorks, &World::honest().drive());
    }

    #[test]
    fn a_refused_subscription_is_caught() {
        let refused = subscribing(|i| {
            let refusal = json!({"code": -32004, "message": "no"});
            if i.n == 0 { Edit::Replace(i.with_error(refusal)) } else { Edit::Drop }
        });
        caught(&SubscribeWorks, &refused, ReasonCode::CapabilityNotKept);
        // what had ended by then need not be served
        let over = refused.edit(|i| {
            if i.operation == "GetTask" && i.axes.get(subscribe::AXIS).is_some_and(|s| s == subscribe::ALONE) {
                return i.changed(|a| a["result"]["status"]["state"] = json!("TASK_STATE_COMPLETED"));
            }
            Edit::Keep
        });
        is(&SubscribeWorks, &over, Outcome::Inconclusive);
    }

    #[test]
    fn a_subscription_that_ends_too_early_is_caught() {
        let ends = |i: &Item<'_>| i.answer["result"]["statusUpdate"]["status"]["state"] == "TASK_STATE_COMPLETED";
        let cut = subscribing(|i| if ends(i) { Edit::Drop } else { Edit::Keep });
        caught(&SubscribeWorks, &cut, ReasonCode::StreamTruncated);
        let snapshot = subscribing(|i| if i.n > 0 { Edit::Drop } else { Edit::Keep });
        caught(&SubscribeWorks, &snapshot, ReasonCode::StreamTruncated);
    }

    #[test]
    fn a_contract_without_long_tasks_is_not_judged_and_one_that_claims_them_must_have_them() {
        let mut brief = World::honest();
        let skills = include_str!("../testing/skills.yaml");
        brief.put("skills.yaml", &skills.replace("runs: long", "runs: brief"));
        is(&SubscribeWorks, &brief.drive(), Outcome::NotApplicable);
        let mut claims = World::honest();
        claims.put("fixtures/work-request-slow.json", r#"{"title": "Move the house"}"#);
        is(&SubscribeWorks, &claims.drive(), Outcome::Inconclusive);
    }

    #[test]
    fn without_streams_or_tasks_it_does_not_apply() {
        is(&SubscribeWorks, &World::without_streaming().drive(), Outcome::NotApplicable);
        let mut messages = World::honest();
        messages.makes_tasks = false;
        is(&SubscribeWorks, &messages.drive(), Outcome::NotApplicable);
    }
}
