//! `a2a.card.endpoints`: every reading of the card leads to the same place (P-02, C-01). A blended card holds two
//! versions at once; a negotiated one is another document for callers that send no `A2A-Version`.

use ostiary_canon::json::{Limits, parse_strict};
use ostiary_protocol::a2a::{
    CardFormat,
    card::{Disagreement, disagreements_between, disagreements_within},
};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::{CARD, PLAIN_CARD},
    facts::Facts,
};

/// The check.
pub(super) struct Endpoints;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.endpoints",
    version: 1,
    summary: "Every reading of the card, by version, leads to the same endpoints.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-01", "P-02"],
    reads: Reads::Declarations,
    depends: &[Input::Card],
    reasons: &[ReasonCode::CardEndpointsDisagree],
    severity: Severity::Error,
    liar: "halves_that_lead_to_different_hosts_are_caught",
};

impl Check for Endpoints {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let plain = facts.document(PLAIN_CARD);
        if card.format() != CardFormat::Hybrid && plain.is_none() {
            return vec![facts.not_applicable(CARD, "/url")];
        }
        let within = disagreements_within(card.value()).into_iter();
        let mut out: Vec<Finding> = within.map(|d| finding(facts, &d, CARD, at.clone())).collect();
        if let Some((bytes, cited)) = plain
            && let Ok(plain) = parse_strict(bytes, Limits::DOCUMENT)
        {
            let cited = [at.clone(), vec![cited]].concat();
            let between = disagreements_between(card.value(), &plain).into_iter();
            let named = |d: &Disagreement| out.iter().any(|f| f.place.pointer.as_deref() == Some(d.pointer.as_str()));
            let fresh: Vec<Disagreement> = between.filter(|d| !named(d)).collect();
            out.extend(fresh.iter().map(|d| finding(facts, d, PLAIN_CARD, cited.clone())));
        }
        if out.iter().all(|f| f.severity == Severity::Warning) {
            out.push(facts.pass(at));
        }
        out
    }
}

/// Another path of the same host may well be the same agent's older interface; another host is another machine.
fn finding(facts: &Facts<'_>, found: &Disagreement, document: &str, at: Vec<EventRef>) -> Finding {
    let expected = format!("one of {}", found.others.join(", "));
    let finding = facts.fail(ReasonCode::CardEndpointsDisagree, at, expected, format!("`{}`", found.url));
    let finding = finding.at_pointer(document, found.pointer.clone());
    if found.foreign { finding } else { finding.as_severity(Severity::Warning) }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, is, passes, warnings};

    fn blended(url: &str) -> Driven {
        let mut driven = World::honest().drive();
        let card = World::with_card(|card| {
            card["url"] = json!(url);
            card["protocolVersion"] = json!("0.3.0");
        });
        edit_document(&mut driven.run, CARD, card.card.to_string().as_bytes());
        driven
    }

    #[test]
    fn halves_that_agree_pass() {
        passes(&Endpoints, &blended("https://agent.example.test/rpc/"));
        is(&Endpoints, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn halves_that_lead_to_different_hosts_are_caught() {
        caught(&Endpoints, &blended("https://other.example.test/rpc"), ReasonCode::CardEndpointsDisagree);
    }

    #[test]
    fn another_path_of_the_same_host_is_a_warning() {
        let driven = blended("https://agent.example.test/v0");
        passes(&Endpoints, &driven);
        assert_eq!(warnings(&Endpoints, &driven), [ReasonCode::CardEndpointsDisagree]);
    }
}
