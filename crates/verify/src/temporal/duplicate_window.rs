//! `a2a.subscribe.duplicates`: after a reconnect events come again only as far back as the contract says (W-05).

use ostiary_protocol::a2a::card::Capability;
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{declares, nothing_followed},
    scenarios::subscribe,
    story::{self, Update},
};

/// The check.
pub(super) struct DuplicateWindow;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.subscribe.duplicates",
    version: 1,
    summary: "After a reconnect no event comes again that lies further back than the contract's window.",
    layer: Layer::Temporal,
    gate: Gate::Security,
    covers: &["W-05"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::DuplicateWindowExceeded, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "events_that_are_told_all_over_again_are_caught",
};

impl Check for DuplicateWindow {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(window) = facts.bundle().temporal.duplicate_event_window else {
            return vec![facts.not_applicable("temporal.yaml", "/temporal_contract/duplicate_event_window")];
        };
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        let Some(story) = story::of(facts, subscribe::ALONE) else { return vec![answers::no_task(facts)] };
        let followed = story.origin.as_ref().zip(story.subscriptions.first().filter(|a| a.reply.streamed));
        match followed {
            Some((lost, again)) => vec![judge(facts, lost, again, usize::try_from(window).unwrap_or(usize::MAX))],
            None => vec![nothing_followed(facts, &story)],
        }
    }
}

fn judge(facts: &Facts<'_>, lost: &Answered<'_>, again: &Answered<'_>, window: usize) -> Finding {
    let (before, after) = (story::updates(lost), story::updates(again));
    let back = |update: &Update| {
        let at = before.iter().rposition(|earlier| earlier.says == update.says)?;
        Some((&before[at], before.len() - at))
    };
    let furthest = after.iter().filter_map(|u| back(u).map(|(earlier, n)| (u, earlier, n))).max_by_key(|(.., n)| *n);
    let x = again.exchange.id;
    match furthest {
        Some((update, earlier, n)) if n > window => {
            let cited: Vec<EventRef> = vec![lost.tape.cite(earlier.seq), again.tape.cite(update.seq)];
            let expected = format!("no event again from further back than {window} events");
            let observed = format!("one from {n} events before the connection was lost");
            facts.fail(ReasonCode::DuplicateWindowExceeded, cited, expected, observed).at_exchange(x)
        }
        _ => facts.pass(again.cite()).at_exchange(x),
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::Value;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn promising(window: u32) -> Driven {
        let mut world = World::honest();
        world.put("temporal.yaml", &format!("temporal_contract:\n  duplicate_event_window: {window}\n"));
        world.drive()
    }

    /// After the snapshot of the second stream, what the first one had brought.
    fn all_over_again(window: u32) -> Driven {
        let mut told: Vec<Value> = Vec::new();
        promising(window).edit(move |i| {
            if i.axes.get(subscribe::AXIS).is_none_or(|s| s != subscribe::ALONE) {
                return Edit::Keep;
            }
            match i.operation {
                "SendStreamingMessage" if i.is("statusUpdate") => told.push(i.answer["result"].clone()),
                "SubscribeToTask" if i.n == 0 => {
                    return Edit::Then(told.iter().map(|item| i.with_result(item.clone())).collect());
                }
                _ => {}
            }
            Edit::Keep
        })
    }

    #[test]
    fn events_that_come_once_pass() {
        passes(&DuplicateWindow, &promising(0));
    }

    #[test]
    fn events_that_are_told_all_over_again_are_caught() {
        caught(&DuplicateWindow, &all_over_again(0), ReasonCode::DuplicateWindowExceeded);
        passes(&DuplicateWindow, &all_over_again(10));
    }

    #[test]
    fn what_no_contract_promises_is_not_judged() {
        is(&DuplicateWindow, &World::honest().drive(), Outcome::NotApplicable);
        let mut plain = World::without_streaming();
        plain.put("temporal.yaml", "temporal_contract:\n  duplicate_event_window: 3\n");
        is(&DuplicateWindow, &plain.drive(), Outcome::NotApplicable);
    }
}
