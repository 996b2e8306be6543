//! Checks of the declaration layer: what the card and the contract say, before anything is called.

use ostiary_protocol::a2a::Card;
use ostiary_record::{EventRef, Finding, ReasonCode};

use crate::{check::Check, discover::CARD, facts::Facts};

mod extension;
mod https;
mod interface;
mod modes;
mod pinned;
mod pins;
mod required;
mod signature;
mod skill_ids;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    vec![
        Box::new(pins::Pins),
        Box::new(required::Required),
        Box::new(pinned::Pinned),
        Box::new(https::Https),
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
/// The finding where there is none to judge: the contract declares no card, or it could not be had or read. That it
/// could not be read is a failure of `a2a.card.required` alone.
fn served(facts: &Facts<'_>) -> Result<(Card, Vec<EventRef>), Box<Finding>> {
    let document = facts.card_document();
    match (facts.card(), document) {
        (Some(value), Some((_, at))) => Ok((Card::new(value.clone()), vec![at])),
        (None, None) if facts.bundle().card.is_none() => Err(Box::new(no_card_declared(facts))),
        _ => {
            let remedy = "the card could not be fetched or read";
            Err(Box::new(facts.inconclusive(ReasonCode::CardUnavailable, CARD, remedy)))
        }
    }
}

fn no_card_declared(facts: &Facts<'_>) -> Finding {
    facts.not_applicable("contract.yaml", "/contract_bundle/declarations/agent_card")
}
