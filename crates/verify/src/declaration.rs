//! Checks of the declaration layer: what the card and the contract say, before anything is called.

use ostiary_protocol::a2a::{Card, CardFormat};
use ostiary_record::{EventRef, Finding, ReasonCode};

use crate::{check::Check, discover::CARD, facts::Facts};

mod address;
pub(crate) mod alone;
mod artifact;
mod endpoints;
mod extension;
mod https;
mod interface;
mod modes;
mod pinned;
mod pins;
mod required;
mod requirement;
mod signature;
mod skill_ids;
mod unchanged;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(pins::Pins),
        Box::new(artifact::Artifact),
        Box::new(required::Required),
        Box::new(requirement::Requirement),
        Box::new(pinned::Pinned),
        Box::new(unchanged::Unchanged),
        Box::new(https::Https),
        Box::new(address::Addresses),
        Box::new(endpoints::Endpoints),
        Box::new(interface::Supported),
        Box::new(skill_ids::SkillIds),
        Box::new(modes::Modes),
        Box::new(extension::RequiredExtension),
        Box::new(signature::Signature),
    ]
}

/// The served card with the event that holds it.
///
/// # Errors
/// The finding where there is none to judge: the contract declares no card, or it could not be had or read, or is of
/// another version. What is wrong with it then is a failure of `a2a.card.required` alone.
fn served(facts: &Facts<'_>) -> Result<(Card, Vec<EventRef>), Box<Finding>> {
    let document = facts.card_document();
    match (facts.card(), document) {
        (Some(value), Some((_, at))) => {
            let card = Card::new(value.clone());
            if card.format().is_v1() {
                Ok((card, vec![at]))
            } else {
                Err(Box::new(other_version(facts, card.format())))
            }
        }
        (None, None) if facts.bundle().card.is_none() => Err(Box::new(no_card_declared(facts))),
        _ => {
            let why = facts.discovered().card_absence();
            let remedy = why.map_or_else(|| "the card could not be read".to_owned(), |why| could_not_fetch(&why));
            Err(Box::new(facts.inconclusive(ReasonCode::CardUnavailable, CARD, remedy)))
        }
    }
}

fn other_version(facts: &Facts<'_>, format: CardFormat) -> Finding {
    let remedy = format!("the document is {}; see `a2a.card.required`", format.as_str());
    facts.inconclusive(ReasonCode::ObservationIncomplete, "a card of A2A 1.0", remedy)
}

/// The one sentence that all say who miss the card.
pub(crate) fn could_not_fetch(why: &str) -> String {
    format!("the card could not be fetched: {why}")
}

fn no_card_declared(facts: &Facts<'_>) -> Finding {
    facts.not_applicable("contract.yaml", "/contract_bundle/declarations/agent_card")
}
