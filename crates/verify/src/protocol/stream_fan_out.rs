//! `a2a.stream.fan_out`: every stream of a task brings the same events in the same order (A-05; §3.5.2).

use ostiary_protocol::a2a::card::Capability;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{subscribe_works::nothing_followed, undeclared::declares},
    scenarios::subscribe,
    story::{self, Story, Update},
};

/// The check.
pub(super) struct FanOut;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.fan_out",
    version: 1,
    summary: "Streams of one task at the same time bring the same events in the same order.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-05", "A-02"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::StreamsDisagree, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "an_event_that_one_stream_lacks_is_caught",
};

impl Check for FanOut {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let Some(story) = story::of(facts, subscribe::TOGETHER) else { return vec![answers::no_task(facts)] };
        let Some(origin) = story.origin.as_ref().filter(|o| o.reply.streamed) else {
            return vec![nothing_followed(facts, &story)];
        };
        let told = story::updates(origin);
        let beside: Vec<&Answered<'_>> = story.subscriptions.iter().filter(|a| a.reply.streamed).collect();
        let judged: Vec<Finding> = beside.iter().filter_map(|a| judge(facts, (origin, &told), a)).collect();
        if judged.is_empty() { vec![nothing_beside(facts, &story)] } else { judged }
    }
}

/// How many streams of a task an agent serves at a time is its own choice.
pub(super) fn nothing_beside(facts: &Facts<'_>, story: &Story<'_>) -> Finding {
    let refused = story.subscriptions.iter().find(|a| a.reply.error().is_some() && !a.reply.streamed);
    match refused {
        Some(a) if story.was_at_work_after(a.reply.decisive) => {
            facts.not_applicable("answer to SubscribeToTask beside another stream", "/error")
        }
        Some(_) => story::too_brief(facts),
        None => nothing_followed(facts, story),
    }
}

/// What a later stream brings must be a stretch of what the first one brought; `None` when it brought nothing.
fn judge(facts: &Facts<'_>, (origin, told): (&Answered<'_>, &[Update]), beside: &Answered<'_>) -> Option<Finding> {
    let own = story::updates(beside);
    let first = own.first()?;
    let starts = told.iter().enumerate().filter(|(_, u)| u.says == first.says).map(|(n, _)| n);
    let agree = |from: usize| told[from..].iter().zip(&own).take_while(|(a, b)| a.says == b.says).count();
    let (from, count) = starts.map(|n| (n, agree(n))).max_by_key(|(_, count)| *count).unwrap_or((0, 0));
    let (theirs, ours) = (told.get(from + count), own.get(count));
    let finding = match (theirs, ours) {
        (_, None) if count > 0 => {
            // each may end before the other: who is cut short is judged elsewhere
            let seen: Vec<EventRef> = own.iter().map(|u| beside.tape.cite(u.seq)).collect();
            facts.pass(answers::some_of(seen))
        }
        (None, Some(_)) if count > 0 && story::end_of(origin).is_none() => {
            facts.pass(own[..count].iter().map(|u| beside.tape.cite(u.seq)).collect())
        }
        (theirs, ours) => {
            let differing = [theirs, ours].into_iter().flatten().map(|u| origin.tape.cite(u.seq)).collect();
            let observed = format!("{} in one, {} in the other, as event {}", shown(theirs), shown(ours), count + 1);
            facts.fail(ReasonCode::StreamsDisagree, differing, "the same events in both streams", observed)
        }
    };
    Some(finding.at_exchange(beside.exchange.id))
}

fn shown(update: Option<&Update>) -> String {
    let Some(Update { says, .. }) = update else { return "no event".to_owned() };
    match says.get("state").and_then(serde_json::Value::as_str) {
        Some(state) => format!("{state} of {}", says["timestamp"].as_str().unwrap_or("no time")),
        None => format!("artifact {}", says["artifact"]["artifactId"]),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, Item, World, caught, is, passes};

    fn subscribing(change: impl Fn(&Item<'_>) -> Edit) -> Driven {
        World::honest().drive().edit(|i| if i.operation == "SubscribeToTask" { change(i) } else { Edit::Keep })
    }

    #[test]
    fn streams_that_agree_pass() {
        passes(&FanOut, &World::honest().drive());
    }

    #[test]
    fn an_event_that_one_stream_lacks_is_caught() {
        caught(&FanOut, &subscribing(|i| if i.n == 2 { Edit::Drop } else { Edit::Keep }), ReasonCode::StreamsDisagree);
    }

    #[test]
    fn another_event_or_another_order_is_caught() {
        let other = subscribing(|i| match i.n {
            2 => i.changed(|a| a["result"]["statusUpdate"]["status"]["timestamp"] = json!("2026-11-30T09:59:59Z")),
            _ => Edit::Keep,
        });
        caught(&FanOut, &other, ReasonCode::StreamsDisagree);
        let none_in_common = subscribing(|i| {
            let update = i.is("statusUpdate") || i.is("artifactUpdate");
            let status = json!({"state": "TASK_STATE_WORKING", "timestamp": "2026-11-30T09:59:59Z"});
            let strange = json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": status}});
            if update { Edit::Replace(i.with_result(strange)) } else { Edit::Keep }
        });
        caught(&FanOut, &none_in_common, ReasonCode::StreamsDisagree);
    }

    #[test]
    fn an_agent_of_one_stream_at_a_time_is_not_judged() {
        let refuses = subscribing(|i| {
            let refusal = json!({"code": -32004, "message": "one at a time"});
            let story = i.axes.get(subscribe::AXIS).is_some_and(|s| s == subscribe::TOGETHER);
            match i.n {
                _ if !story => Edit::Keep,
                0 => Edit::Replace(i.with_error(refusal)),
                _ => Edit::Drop,
            }
        });
        let mut refuses = refuses;
        crate::testing::unstream(&mut refuses.run, subscribe::TOGETHER);
        is(&FanOut, &refuses, Outcome::NotApplicable);
    }
}
