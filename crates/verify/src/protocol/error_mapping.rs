//! `a2a.error.mapping`: which of the two published mappings of errors to statuses an agent uses, and whether it uses one
//! of them throughout (E-02).

use std::collections::BTreeMap;

use ostiary_protocol::a2a::{Binding, error::Mapping};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    scenarios::{extension, media_type, push, rpc, terminal, undeclared, unknown, version},
};

/// The check. It warns only: callers cannot ask which patch level they speak to (§3.6), and reasons tell errors apart
/// under either mapping. One agent that uses both cannot be told by its statuses at all.
pub(super) struct ErrorMapping;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.error.mapping",
    version: 1,
    summary: "The statuses of errors follow one mapping throughout, that of 1.0.0 or that of 1.0.1.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["E-02"],
    reads: Reads::Any(&[
        unknown::ID,
        rpc::ID,
        version::ID,
        terminal::ID,
        undeclared::STREAM,
        push::undeclared::ID,
        undeclared::EXTENDED_CARD,
        media_type::ID,
        extension::ID,
    ]),
    depends: &[Input::Candidate],
    reasons: &[ReasonCode::ErrorMappingMixed],
    severity: Severity::Warning,
    liar: "one_agent_with_both_mappings_is_warned_about",
};

impl Check for ErrorMapping {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let binding = answers::binding(facts);
        if binding == Binding::JsonRpc {
            // the codes of JSON-RPC are the same in both
            let interface = facts.profile().and_then(|p| facts.discovered().interface(p));
            let pointer = interface.map_or("/supportedInterfaces", |i| i.pointer.as_str());
            return vec![facts.not_applicable(CARD, format!("{pointer}/protocolBinding"))];
        }
        let mut seen: BTreeMap<&'static str, (Vec<EventRef>, String)> = BTreeMap::new();
        let mut common = Vec::new();
        for answered in answers::all(facts) {
            let Some((error, seq)) = answered.reply.error() else { continue };
            let at = answered.at(seq);
            match error.mapping(&binding).and_then(published) {
                Some(name) => seen.entry(name).or_insert_with(|| (Vec::new(), error.label())).0.extend(at),
                None => common.extend(at),
            }
        }
        vec![told(facts, seen, common)]
    }
}

/// The one published mapping that a status is of; `None` = of both, or of none, which `a2a.error.shape` judges.
const fn published(mapping: Mapping) -> Option<&'static str> {
    match mapping {
        Mapping::V1_0_0 => Some("1.0.0"),
        Mapping::V1_0_1 => Some("1.0.1"),
        Mapping::Both | Mapping::Neither => None,
    }
}

fn told(facts: &Facts<'_>, seen: BTreeMap<&'static str, (Vec<EventRef>, String)>, common: Vec<EventRef>) -> Finding {
    let all = |seen: &BTreeMap<&str, (Vec<EventRef>, String)>| {
        answers::some_of(seen.values().flat_map(|(at, _)| at.iter().cloned()).collect())
    };
    match seen.keys().copied().collect::<Vec<_>>()[..] {
        [] => facts.pass(answers::some_of(common)).with_message("no error was seen in which the mappings differ"),
        [one] => facts.pass(all(&seen)).with_message(format!("errors follow the mapping of {one}")).with_detail(one),
        _ => {
            let each: Vec<String> = seen.iter().map(|(name, (_, label))| format!("{label} of {name}")).collect();
            facts.fail(ReasonCode::ErrorMappingMixed, all(&seen), "statuses of one mapping", each.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, warnings};

    /// The agent over HTTP+JSON; its errors of a kind have this status.
    fn answering(status: impl Fn(&str, u16) -> u16 + Copy) -> Driven {
        let mut world = World::with_bindings();
        world.put("coverage.yaml", "activate: [a2a-http-json-1.0]\n");
        let mut driven = world.drive();
        for recording in &mut driven.run.recordings {
            let scenario = recording.scenario.0.clone();
            for event in &mut recording.events {
                if let ostiary_record::Kind::Head { status: own, .. } = &mut event.kind {
                    *own = status(&scenario, *own);
                }
            }
        }
        driven.edit(|i| {
            let code = i.answer["error"]["code"].as_u64().and_then(|c| u16::try_from(c).ok());
            code.map_or(Edit::Keep, |code| i.changed(|a| a["error"]["code"] = json!(status(i.scenario, code))))
        })
    }

    #[test]
    fn the_mapping_is_named() {
        let newer = answering(|_, status| status).judge(&ErrorMapping);
        assert_eq!(
            (newer[0].verdict.outcome(), newer[0].detail.as_deref()),
            (Outcome::Pass, Some("1.0.1")),
            "{newer:#?}"
        );
        let older = |scenario: &str, status| match scenario {
            media_type::ID if status == 400 => 415,
            terminal::ID if status == 400 => 409,
            _ => status,
        };
        let older = answering(older).judge(&ErrorMapping);
        assert_eq!(older.iter().filter(|f| f.verdict.outcome() == Outcome::Inconclusive).count(), 0, "{older:#?}");
    }

    #[test]
    fn one_agent_with_both_mappings_is_warned_about() {
        let mixed =
            answering(|scenario, status| if scenario == media_type::ID && status == 400 { 415 } else { status });
        assert!(warnings(&ErrorMapping, &mixed).contains(&ReasonCode::ErrorMappingMixed));
    }

    #[test]
    fn json_rpc_has_codes_alone() {
        let findings = World::honest().drive().judge(&ErrorMapping);
        assert_eq!(findings[0].verdict.outcome(), Outcome::NotApplicable);
    }
}
