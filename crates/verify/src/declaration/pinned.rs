//! `a2a.card.pinned`: the card that is served is the card of the bundle (P-02, P-03).

use ostiary_protocol::a2a::digest::card_digest;
use ostiary_record::{Finding, Gate, Kind, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::{no_card_declared, served},
    discover::{BUNDLE_PREFIX, CARD},
    facts::Facts,
};

/// The check.
pub(super) struct Pinned;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.pinned",
    version: 1,
    summary: "The card that the candidate serves is the card of the bundle.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["P-02", "P-03"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Contract],
    reasons: &[ReasonCode::CardChanged, ReasonCode::CardUnavailable],
    severity: Severity::Error,
    liar: "another_card_than_the_declared_one_is_caught",
};

impl Check for Pinned {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(declared) = &facts.bundle().card else { return vec![no_card_declared(facts)] };
        let (card, mut at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        if !fetched(facts) {
            let remedy = "name the card's address in the environment; nothing was fetched";
            return vec![facts.inconclusive(ReasonCode::CardUnavailable, CARD, remedy)];
        }
        at.extend(facts.document(&format!("{BUNDLE_PREFIX}{}", declared.path)).map(|(_, at)| at));
        match (card_digest(card.value()), card_digest(&declared.value)) {
            (Ok(served), Ok(declared)) if served == declared => vec![facts.pass(at)],
            (Ok(served), Ok(declared)) => {
                let (expected, observed) = (format!("card digest {declared}"), format!("card digest {served}"));
                vec![facts.fail(ReasonCode::CardChanged, at, expected, observed).at_pointer(CARD, "")]
            }
            (Err(problem), _) | (_, Err(problem)) => {
                let remedy = format!("the card has no canonical form: {problem}");
                vec![facts.inconclusive(ReasonCode::ObservationIncomplete, "card digest", remedy)]
            }
        }
    }
}

/// Whether the card on the tape came from the candidate; else the bundle's own stands there.
fn fetched(facts: &Facts<'_>) -> bool {
    facts.discovered().recording.events.iter().any(|e| matches!(e.kind, Kind::Head { .. }))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{World, caught, edit_document, is, passes};

    #[test]
    fn the_declared_card_passes_in_any_order_and_with_a_signature() {
        let mut driven = World::honest().drive();
        passes(&Pinned, &driven);
        let mut card = World::honest().card;
        card["signatures"] = json!([{"protected": "e30", "signature": "AA"}]);
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        passes(&Pinned, &driven);
    }

    #[test]
    fn another_card_than_the_declared_one_is_caught() {
        let mut driven = World::honest().drive();
        let mut card = World::honest().card;
        card["capabilities"]["pushNotifications"] = json!(true);
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        caught(&Pinned, &driven, ReasonCode::CardChanged);
    }

    #[test]
    fn the_bundles_own_card_proves_nothing() {
        let mut driven = World::honest().drive();
        driven.run.recordings[0].events.retain(|e| matches!(e.kind, Kind::Document { .. }));
        is(&Pinned, &driven, ostiary_record::Outcome::Inconclusive);
    }
}
