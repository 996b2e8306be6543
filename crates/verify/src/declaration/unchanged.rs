//! `a2a.card.unchanged`: what differs from the last known card was announced (P-02, P-03). Silent changes, a move to
//! another domain and authentication that is gone are what a reader of a single card cannot see.

use ostiary_protocol::a2a::card::{CardFormat, Change, ChangeKind, changes, looks_like, recognise};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Unchanged;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.unchanged",
    version: 2,
    summary: "What differs from the last known card comes with a new version of the card.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["P-02", "P-03"],
    reads: Reads::Declarations,
    depends: &[Input::Card],
    reasons: &[ReasonCode::CardVersionNotRaised, ReasonCode::EndpointMoved, ReasonCode::AuthenticationRemoved],
    severity: Severity::Error,
    liar: "a_silent_change_is_caught",
};

impl Check for Unchanged {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some(before) = &facts.options().last_card else {
            return vec![facts.not_applicable("last known card", "")];
        };
        if recognise(before) == CardFormat::NotACard {
            return vec![no_baseline(facts, looks_like(before))];
        }
        let (Some(now), Some((_, at))) = (facts.card(), facts.card_document()) else {
            let remedy = "there is no readable card to compare";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, CARD, remedy)];
        };
        let mut out: Vec<Finding> = changes(before, now).iter().map(|c| finding(facts, c, at.clone())).collect();
        if out.iter().all(|f| f.severity == Severity::Warning) {
            out.push(facts.pass(vec![at]));
        }
        out
    }
}

/// What is no card has nothing that could stay as it was: a file of the wrong name must not pass for a comparison.
fn no_baseline(facts: &Facts<'_>, what: &str) -> Finding {
    let remedy =
        format!("what was given as the last known card looks like {what}; give the card as it was served then");
    facts.inconclusive(ReasonCode::ObservationIncomplete, "last known card", remedy)
}

/// A change that comes with a new version was meant, and is for people to look at.
fn finding(facts: &Facts<'_>, change: &Change, at: EventRef) -> Finding {
    let reason = match change.kind {
        ChangeKind::VersionUnchanged => ReasonCode::CardVersionNotRaised,
        ChangeKind::EndpointMoved => ReasonCode::EndpointMoved,
        ChangeKind::AuthenticationRemoved => ReasonCode::AuthenticationRemoved,
    };
    let (before, now) = (change.before.clone(), change.now.clone());
    let finding = facts.fail(reason, vec![at], format!("as before: {before}"), now);
    let finding = finding.at_pointer(CARD, change.pointer.clone());
    if change.announced { finding.as_severity(Severity::Warning) } else { finding }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, is, passes, warnings};

    fn now(change: impl FnOnce(&mut Value)) -> Driven {
        let mut world = World::honest();
        world.options.last_card = Some(world.card.clone());
        let mut driven = world.drive();
        let card = World::with_card(change).card;
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        driven
    }

    fn open(card: &mut Value) {
        card.as_object_mut().unwrap().remove("securityRequirements");
    }

    #[test]
    fn the_same_card_and_an_announced_change_pass() {
        passes(&Unchanged, &now(|_| {}));
        passes(&Unchanged, &now(|c| (c["version"], c["description"]) = (json!("3.5.0"), json!("Better."))));
        is(&Unchanged, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn a_baseline_that_is_no_card_leaves_the_comparison_open() {
        for before in [json!({"error": "not found"}), json!([]), json!(null), json!({"openapi": "3.1.0"})] {
            let mut driven = now(|_| {});
            driven.options.last_card = Some(before);
            is(&Unchanged, &driven, Outcome::Inconclusive);
        }
    }

    #[test]
    fn a_silent_change_is_caught() {
        let silent = now(|c| c["description"] = json!("Else."));
        caught(&Unchanged, &silent, ReasonCode::CardVersionNotRaised);
        let reasons = |driven: &Driven| {
            driven.judge(&Unchanged).iter().filter_map(|f| f.verdict.reason()).collect::<Vec<ReasonCode>>()
        };
        let moved = now(|c| c["supportedInterfaces"][0]["url"] = json!("https://elsewhere.test/rpc"));
        assert_eq!(reasons(&moved), [ReasonCode::CardVersionNotRaised, ReasonCode::EndpointMoved]);
        assert_eq!(reasons(&now(open)), [ReasonCode::CardVersionNotRaised, ReasonCode::AuthenticationRemoved]);
    }

    #[test]
    fn an_announced_removal_of_authentication_is_a_warning() {
        let driven = now(|c| {
            c["version"] = json!("4.0.0");
            open(c);
        });
        passes(&Unchanged, &driven);
        assert_eq!(warnings(&Unchanged, &driven), [ReasonCode::AuthenticationRemoved]);
    }
}
