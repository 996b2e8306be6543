//! Checks of the declaration layer: what the card and the contract say, before anything is called.

use ostiary_protocol::a2a::{
    Card, CardFormat,
    card::{self, Endpoint},
};
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
mod text;
mod unchanged;
mod undeclared;

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
        Box::new(text::Texts),
        Box::new(modes::Modes),
        Box::new(extension::RequiredExtension),
        Box::new(signature::Signature),
        Box::new(undeclared::UndeclaredInterface),
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

/// The served card where its version is of no matter: of 1.0, or an older one that is to be judged by its own version.
///
/// # Errors
/// As [`served`].
fn served_in_its_version(facts: &Facts<'_>) -> Result<(Card, Vec<EventRef>), Box<Finding>> {
    match (facts.card(), facts.card_document()) {
        (Some(value), Some((_, at))) if facts.options().legacy_cards => {
            let card = Card::new(value.clone());
            if card.format().is_legacy() { Ok((card, vec![at])) } else { served(facts) }
        }
        _ => served(facts),
    }
}

/// The places that callers of the card's own version use. What is named for older callers in a card of 1.0 is compared
/// with these by `a2a.card.endpoints`.
fn addressed(card: &Card) -> Vec<Endpoint<'_>> {
    if !card.format().is_v1() {
        return card::endpoints(card.value());
    }
    let interfaces = card.interfaces().into_iter();
    interfaces
        .map(|i| Endpoint { pointer: format!("{}/url", i.pointer), url: i.url.unwrap_or_default(), binding: i.binding })
        .collect()
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
