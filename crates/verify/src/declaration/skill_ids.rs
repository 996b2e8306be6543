//! `a2a.card.skill_ids`: no two skills share an id (C-04).

use std::collections::BTreeMap;

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct SkillIds;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.skill_ids",
    version: 1,
    summary: "No two skills of the card share an id.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-04"],
    reads: Reads::Declarations,
    depends: &[Input::Card],
    reasons: &[ReasonCode::SkillIdDuplicate],
    severity: Severity::Error,
    liar: "two_skills_of_one_id_are_caught",
};

impl Check for SkillIds {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let mut first: BTreeMap<&str, usize> = BTreeMap::new();
        let mut out = Vec::new();
        for skill in card.skills() {
            let Some(id) = skill.id() else { continue };
            if let Some(earlier) = first.get(id) {
                let observed = format!("`{id}` is the id of /skills/{earlier}, too");
                let finding = facts.fail(ReasonCode::SkillIdDuplicate, at.clone(), "an id of its own", observed);
                out.push(finding.at_pointer(CARD, format!("{}/id", skill.pointer())));
            } else {
                first.insert(id, skill.index);
            }
        }
        if out.is_empty() { vec![facts.pass(at)] } else { out }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, caught, edit_document, passes};

    #[test]
    fn skills_of_different_ids_pass() {
        passes(&SkillIds, &World::honest().drive());
    }

    #[test]
    fn two_skills_of_one_id_are_caught() {
        let mut driven = World::honest().drive();
        let mut card = World::honest().card;
        let skill = card["skills"][0].clone();
        card["skills"].as_array_mut().unwrap().push(skill);
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        caught(&SkillIds, &driven, ReasonCode::SkillIdDuplicate);
    }
}
