//! Checks of the authorization layer: who is let in, whose tasks are whose, and what a refusal shows.

use ostiary_protocol::a2a::Card;
use ostiary_record::{Finding, ReasonCode};

use crate::{check::Check, discover::CARD, facts::Facts, negatives};

mod accepted;
mod credential;
mod cross_tenant;
mod existence;
mod extended_card;
mod forbidden;
pub(crate) mod leak;
mod public;
mod push;
mod refusal;

/// All checks of this layer, in the order of the documentation.
pub(crate) fn checks() -> Vec<Box<dyn Check>> {
    let mut out: Vec<Box<dyn Check>> = vec![Box::new(accepted::Accepted)];
    out.extend(credential::Credential::ALL.map(|c| Box::new(c) as Box<dyn Check>));
    out.push(Box::new(public::Public));
    out.push(Box::new(cross_tenant::CrossTenant));
    out.push(Box::new(existence::Existence));
    out.push(Box::new(forbidden::ForbiddenTask));
    out.push(Box::new(extended_card::ExtendedCardProtected));
    out.push(Box::new(leak::Leaks));
    out.extend(push::checks());
    out.push(Box::new(negatives::KeepsSecrets));
    out
}

/// Whether the card says that a credential is needed.
fn declares_security(facts: &Facts<'_>) -> bool {
    facts.card().is_some_and(|v| Card::new(v.clone()).declares_security())
}

/// The finding for a check of credentials where none is declared: void where the contract says `public: true`, else
/// unknown, since a card without requirements does not say that everybody may come in.
fn without_security(facts: &Facts<'_>) -> Finding {
    if facts.bundle().authorization.as_ref().is_some_and(|a| a.public) {
        return facts.not_applicable("authorization.yaml", "/public");
    }
    let remedy = format!("declare the scheme in {CARD}, or say `public: true` in authorization.yaml");
    facts.inconclusive(ReasonCode::ObservationIncomplete, "a security declaration", remedy)
}
