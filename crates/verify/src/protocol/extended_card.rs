//! `a2a.extended_card.served`: a declared extended card is there, is a card, and says no less than the public one (I-07).

use std::collections::BTreeSet;

use ostiary_protocol::a2a::{
    Answer, Card, ErrorKind,
    card::{Grade, Interface},
};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};
use serde_json::Value;

use crate::{
    answers::{self, Answered},
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    scenario::Role,
    scenarios::extended_card,
};

/// The check.
pub(super) struct ExtendedCardServed;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.extended_card.served",
    version: 1,
    summary: "A declared extended card is served to who may have it, is valid, and agrees with the public card.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["I-07", "I-08", "I-09"],
    reads: Reads::Each(&[extended_card::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[
        ReasonCode::CapabilityNotKept,
        ReasonCode::ErrorCodeMismatch,
        ReasonCode::ResponseMalformed,
        ReasonCode::ExtendedCardInvalid,
        ReasonCode::ExtendedCardInconsistent,
    ],
    severity: Severity::Error,
    liar: "an_extended_card_that_is_not_there_or_says_less_is_caught",
};

impl Check for ExtendedCardServed {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(public) = facts.card().filter(|card| extended_card::declares_one(card)) else {
            return vec![facts.not_applicable(CARD, "/capabilities/extendedAgentCard")];
        };
        let asked = answers::of(facts, extended_card::ID);
        let own = |a: &&Answered<'_>| facts.actor_of(a.tape, Role::Primary) == a.exchange.actor;
        asked.iter().find(own).map_or_else(Vec::new, |a| judge(facts, a, public))
    }
}

fn judge(facts: &Facts<'_>, answered: &Answered<'_>, public: &Value) -> Vec<Finding> {
    let x = answered.exchange.id;
    if let Some(unusable) = answered.unusable(facts) {
        return vec![unusable];
    }
    let fail = |reason, expected: &str, observed: String| {
        facts.fail(reason, answered.cite(), expected, observed).at_exchange(x)
    };
    match answered.reply.first().map(|i| &i.answer) {
        Some(Answer::Result(value)) => {
            let wrong: Vec<Finding> = problems(value)
                .into_iter()
                .map(|(pointer, what)| {
                    fail(ReasonCode::ExtendedCardInvalid, "a valid agent card", what)
                        .at_pointer("extended card", pointer)
                })
                .chain(disagreements(public, value).into_iter().map(|(pointer, what)| {
                    let expected = "what the public card says, and more";
                    fail(ReasonCode::ExtendedCardInconsistent, expected, what).at_pointer(CARD, pointer)
                }))
                .collect();
            if wrong.is_empty() { vec![facts.pass(answered.cite()).at_exchange(x)] } else { wrong }
        }
        Some(Answer::Error(error)) => {
            let missing = fail(ReasonCode::CapabilityNotKept, "the extended card that is declared", error.label());
            // declared and not there has an error of its own (§3.1.11), which makes it no better, only clearer
            let named = error.may_mean(ErrorKind::ExtendedAgentCardNotConfigured) || answered.credential_refused();
            let other = "a refusal with ExtendedAgentCardNotConfiguredError";
            let mismatch = (!named).then(|| fail(ReasonCode::ErrorCodeMismatch, other, error.label()));
            mismatch.into_iter().chain([missing]).collect()
        }
        Some(Answer::Malformed(why)) => vec![fail(ReasonCode::ResponseMalformed, "an agent card", why.clone())],
        None => vec![fail(ReasonCode::ResponseMalformed, "an agent card", "an empty answer".to_owned())],
    }
}

/// What is wrong with it as a card.
fn problems(value: &Value) -> Vec<(String, String)> {
    let broken = Card::new(value.clone()).problems().into_iter().filter(|p| p.grade == Grade::Error);
    broken.map(|p| (p.pointer, p.what)).collect()
}

/// What the public card says and the extended one does not: interfaces are the same, skills are at least these.
fn disagreements(public: &Value, extended: &Value) -> Vec<(String, String)> {
    let (public, extended) = (Card::new(public.clone()), Card::new(extended.clone()));
    let place = |i: &Interface<'_>| {
        let text = |t: Option<&str>| t.map(str::to_owned);
        (text(i.url), i.binding.as_ref().map(ToString::to_string), text(i.version_text), text(i.tenant))
    };
    let (declared, shown) = (public.interfaces(), extended.interfaces());
    let (here, there): (BTreeSet<_>, BTreeSet<_>) =
        (declared.iter().map(place).collect(), shown.iter().map(place).collect());
    let lacking = declared.iter().filter(|i| !there.contains(&place(i)));
    let mut out: Vec<(String, String)> = lacking
        .map(|i| {
            (i.pointer.clone(), format!("the interface {} is not in the extended card", i.url.unwrap_or_default()))
        })
        .collect();
    let more = shown.iter().filter(|i| !here.contains(&place(i)));
    out.extend(more.map(|i| {
        let what = format!("{} is an interface of the extended card alone", i.url.unwrap_or_default());
        ("/supportedInterfaces".to_owned(), what)
    }));
    let skills: BTreeSet<&str> = extended.skills().iter().filter_map(|s| s.id()).collect();
    let lost = public.skills().into_iter().filter(|s| s.id().is_some_and(|id| !skills.contains(id)));
    out.extend(
        lost.map(|s| (s.pointer(), format!("the skill `{}` is not in the extended card", s.id().unwrap_or_default()))),
    );
    out
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, Edit, World, caught, is, passes};

    fn declaring() -> World {
        World::with_card(|c| c["capabilities"]["extendedAgentCard"] = json!(true))
    }

    fn showing(change: impl Fn(&mut Value)) -> Driven {
        declaring().drive().edit(|i| {
            let shown = i.operation == "GetExtendedAgentCard" && i.answer.get("result").is_some();
            if shown { i.changed(|a| change(&mut a["result"])) } else { Edit::Keep }
        })
    }

    fn refusing(code: i64) -> Driven {
        declaring().drive().edit(|i| {
            let shown = i.operation == "GetExtendedAgentCard" && i.answer.get("result").is_some();
            let error = json!({"code": code, "message": "no"});
            if shown { Edit::Replace(i.with_error(error)) } else { Edit::Keep }
        })
    }

    #[test]
    fn a_card_that_says_more_passes_and_none_declared_does_not_apply() {
        passes(&ExtendedCardServed, &declaring().drive());
        let more = json!({"id": "more", "name": "More", "description": "More.", "tags": ["more"]});
        passes(&ExtendedCardServed, &showing(|c| c["skills"].as_array_mut().unwrap().push(more.clone())));
        is(&ExtendedCardServed, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn an_extended_card_that_is_not_there_or_says_less_is_caught() {
        caught(&ExtendedCardServed, &refusing(-32007), ReasonCode::CapabilityNotKept);
        caught(&ExtendedCardServed, &refusing(-32601), ReasonCode::ErrorCodeMismatch);
        let other = json!([{"id": "other", "name": "Other", "description": "Other.", "tags": ["other"]}]);
        let inconsistent = ReasonCode::ExtendedCardInconsistent;
        caught(&ExtendedCardServed, &showing(|c| c["skills"] = other.clone()), inconsistent);
        let elsewhere = |c: &mut Value| c["supportedInterfaces"][0]["url"] = json!("https://other.example.test/rpc");
        caught(&ExtendedCardServed, &showing(elsewhere), inconsistent);
        let nameless = |c: &mut Value| drop(c.as_object_mut().unwrap().remove("name"));
        caught(&ExtendedCardServed, &showing(nameless), ReasonCode::ExtendedCardInvalid);
    }
}
