//! `a2a.card.modes`: the contract's skills are in the card, with media types that the card declares (C-05).

use ostiary_contract::{decode::Located, file::skill::SkillContract};
use ostiary_protocol::{MediaType, a2a::Card};
use ostiary_record::{EventRef, Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Modes;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.modes",
    version: 1,
    summary: "The contract's skills are in the card, with media types that the card declares.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-05", "S-01"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Contract],
    reasons: &[ReasonCode::CardFieldMissing, ReasonCode::CardFieldInvalid],
    severity: Severity::Error,
    liar: "a_mode_that_the_card_does_not_declare_is_caught",
};

impl Check for Modes {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        if facts.bundle().skills.is_empty() {
            return vec![facts.not_applicable("skills.yaml", "")];
        }
        let skills = &facts.bundle().skills;
        let out: Vec<Finding> = skills.iter().flat_map(|s| judge_skill(facts, &card, s, &at)).collect();
        if out.is_empty() { vec![facts.pass(at)] } else { out }
    }
}

fn judge_skill(facts: &Facts<'_>, card: &Card, contract: &SkillContract, at: &[EventRef]) -> Vec<Finding> {
    let id = contract.skill_id.value.as_str();
    let Some(skill) = card.skills().into_iter().find(|s| s.id() == Some(id)) else {
        let expected = format!("the skill `{id}`, which the contract is about");
        let finding = facts.fail(ReasonCode::CardFieldMissing, at.to_vec(), expected, "no skill of that id");
        return vec![finding.at_pointer(CARD, "/skills")];
    };
    let sides = [
        ("inputModes", "defaultInputModes", &contract.input_modes),
        ("outputModes", "defaultOutputModes", &contract.output_modes),
    ];
    let mut out = Vec::new();
    for (own, default, wanted) in sides {
        let (declared, pointer) = match skill.modes(own) {
            Some(modes) => (modes, format!("{}/{own}", skill.pointer())),
            None => (card.modes(default), format!("/{default}")),
        };
        for mode in wanted.iter().filter(|m| !includes(&declared, m)) {
            let expected = format!("`{}`, as the contract of `{id}` says", mode.value);
            let observed = format!("[{}]", declared.join(", "));
            let finding = facts.fail(ReasonCode::CardFieldInvalid, at.to_vec(), expected, observed);
            out.push(finding.at_pointer(CARD, pointer.clone()));
        }
    }
    out
}

fn includes(declared: &[&str], mode: &Located<String>) -> bool {
    let wanted = MediaType::parse(&mode.value);
    declared.iter().filter_map(|d| MediaType::parse(d)).any(|d| wanted.as_ref().is_some_and(|w| d.includes(w)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, is, passes};

    /// The candidate serves another card than the bundle's, which the bundle's own checks have seen.
    fn serving(change: impl FnOnce(&mut serde_json::Value)) -> Driven {
        let mut driven = World::honest().drive();
        let card = World::with_card(change).card;
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        driven
    }

    #[test]
    fn a_card_that_agrees_with_the_contract_passes() {
        passes(&Modes, &World::honest().drive());
        passes(&Modes, &serving(|c| c["skills"][0]["outputModes"] = json!(["application/*"])));
    }

    #[test]
    fn a_mode_that_the_card_does_not_declare_is_caught() {
        let own = serving(|c| c["skills"][0]["outputModes"] = json!(["text/plain"]));
        caught(&Modes, &own, ReasonCode::CardFieldInvalid);
        let default = serving(|c| c["defaultInputModes"] = json!(["text/plain"]));
        caught(&Modes, &default, ReasonCode::CardFieldInvalid);
        let gone = serving(|c| c["skills"][0]["id"] = json!("other"));
        caught(&Modes, &gone, ReasonCode::CardFieldMissing);
    }

    #[test]
    fn without_skill_contracts_there_is_nothing_to_agree_with() {
        let mut world = World::honest();
        world.remove("skills.yaml");
        is(&Modes, &world.drive(), ostiary_record::Outcome::NotApplicable);
    }
}
