//! `a2a.stream.event_ids`: where the contract promises it, each event of a stream carries an id by which a repetition can be
//! told.

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{Answer, card::Capability, reply::Item};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    protocol::{subscribe_works::nothing_followed, undeclared::declares},
    scenarios::subscribe,
    story,
};

/// The check.
pub(super) struct EventIds;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.stream.event_ids",
    version: 1,
    summary: "Each event of a stream carries an id, the same in every stream, where the contract promises it.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["A-04"],
    reads: Reads::Any(&[subscribe::ID]),
    depends: &[Input::Candidate, Input::Card, Input::Contract],
    reasons: &[ReasonCode::EventIdMissing, ReasonCode::EventIdAmbiguous, ReasonCode::ExampleMissing],
    severity: Severity::Error,
    liar: "events_without_their_ids_are_caught",
};

/// Where in an event's metadata its id stands, if the contract names no other place.
const MEMBER: &str = "eventId";

impl Check for EventIds {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !declares(facts, Capability::Streaming) {
            return vec![facts.not_applicable(CARD, "/capabilities/streaming")];
        }
        if facts.bundle().temporal.event_ids != Some(true) {
            return vec![facts.not_applicable("temporal.yaml", "/temporal_contract/event_ids")];
        }
        let Some(story) = story::of(facts, subscribe::TOGETHER) else { return vec![answers::no_task(facts)] };
        let streams = story.origin.iter().chain(&story.subscriptions).filter(|a| a.reply.streamed);
        let events: Vec<Marked> = streams.flat_map(|a| marked(facts, a)).collect();
        if events.is_empty() {
            return vec![nothing_followed(facts, &story)];
        }
        vec![judge(facts, &events)]
    }
}

/// An update with the id that it carries.
struct Marked {
    at: EventRef,
    id: Option<String>,
    /// The update less its metadata, which is where ids stand.
    says: Value,
    exchange: ostiary_record::ExchangeId,
}

fn marked(facts: &Facts<'_>, answered: &Answered<'_>) -> Vec<Marked> {
    let member = facts.bundle().temporal.event_id_member.as_deref().unwrap_or(MEMBER);
    let of = |item: &Item| {
        let Answer::Result(value) = &item.answer else { return None };
        let (name, update) =
            ["statusUpdate", "artifactUpdate"].into_iter().find_map(|name| Some((name, value.get(name)?)))?;
        let in_metadata = update.pointer(&format!("/metadata/{member}"));
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let id = item.event_id.clone().or_else(|| in_metadata.map(text)).filter(|id| !id.is_empty());
        let mut says = update.clone();
        if let Some(members) = says.as_object_mut() {
            members.remove("metadata");
        }
        let says = serde_json::json!({name: says});
        Some(Marked { at: answered.tape.cite(item.seq), id, says, exchange: answered.exchange.id })
    };
    answered.reply.items.iter().filter_map(of).collect()
}

fn judge(facts: &Facts<'_>, events: &[Marked]) -> Finding {
    if let Some(bare) = events.iter().find(|e| e.id.is_none()) {
        let expected = "an id, as `id:` of the event or in its metadata";
        let finding = facts.fail(ReasonCode::EventIdMissing, vec![bare.at.clone()], expected, "none");
        return finding.at_exchange(bare.exchange);
    }
    let mut known: BTreeMap<&str, &Marked> = BTreeMap::new();
    for event in events {
        let id = event.id.as_deref().unwrap_or_default();
        let first = *known.entry(id).or_insert(event);
        let other_name = events.iter().find(|e| e.says == event.says && e.id != event.id);
        let (other, expected, observed) = if first.says != event.says {
            (first, "an id for one event only", format!("the id `{id}` for two"))
        } else if let Some(other) = other_name.filter(|other| other.exchange != event.exchange) {
            let names = format!("`{id}` and `{}`", other.id.as_deref().unwrap_or_default());
            (other, "the same id of an event in every stream", names)
        } else {
            continue;
        };
        let cited = vec![other.at.clone(), event.at.clone()];
        let finding = facts.fail(ReasonCode::EventIdAmbiguous, cited, expected, observed);
        return finding.at_exchange(event.exchange);
    }
    facts.pass(answers::some_of(events.iter().map(|e| e.at.clone()).collect()))
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    /// Each update with an id made of what it says.
    fn with_ids(id: impl Fn(&str, &str) -> Option<String>) -> Driven {
        let mut world = World::honest();
        world.put("temporal.yaml", "temporal_contract:\n  event_ids: true\n");
        world.drive().edit(|i| {
            let member = ["statusUpdate", "artifactUpdate"].into_iter().find(|m| i.is(m));
            let Some(member) = member else { return Edit::Keep };
            let says = i.answer["result"][member].to_string();
            let Some(id) = id(&says, i.operation) else { return Edit::Keep };
            i.changed(|a| a["result"][member]["metadata"] = json!({"eventId": id}))
        })
    }

    #[test]
    fn events_with_their_ids_pass() {
        passes(&EventIds, &with_ids(|says, _| Some(says.to_owned())));
    }

    #[test]
    fn events_without_their_ids_are_caught() {
        caught(&EventIds, &with_ids(|_, _| None), ReasonCode::EventIdMissing);
    }

    #[test]
    fn ids_that_tell_nothing_apart_are_caught() {
        caught(&EventIds, &with_ids(|_, _| Some("1".to_owned())), ReasonCode::EventIdAmbiguous);
        let by_stream = with_ids(|says, operation| Some(format!("{operation} {says}")));
        caught(&EventIds, &by_stream, ReasonCode::EventIdAmbiguous);
    }

    #[test]
    fn what_no_contract_promises_is_not_judged() {
        is(&EventIds, &World::honest().drive(), Outcome::NotApplicable);
    }
}
