//! `a2a.card.security_requirement`: whatever demands a credential is written so that every reader sees it (C-06).
//!
//! A strict reader drops what it does not know. A requirement that it drops leaves an agent that looks open, so this fails
//! closed and under a code of its own.

use ostiary_protocol::a2a::card::{Grade, ProblemKind};
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct Requirement;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.security_requirement",
    version: 1,
    summary: "No security requirement of the card is written so that a strict reader drops it.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-06"],
    reads: Reads::Declarations,
    depends: &[Input::Card],
    reasons: &[ReasonCode::SecurityRequirementDropped],
    severity: Severity::Error,
    liar: "a_requirement_of_an_unknown_scheme_is_caught",
};

impl Check for Requirement {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let problems = card.problems().into_iter().filter(|p| p.kind == ProblemKind::Requirement);
        let mut out: Vec<Finding> = problems
            .map(|p| {
                let expected = "a requirement that every reader of 1.0 sees";
                let finding = facts.fail(ReasonCode::SecurityRequirementDropped, at.clone(), expected, p.what.clone());
                let finding = finding.at_pointer(CARD, p.pointer).with_message(p.what);
                if p.grade == Grade::Warning { finding.as_severity(Severity::Warning) } else { finding }
            })
            .collect();
        if out.iter().all(|f| f.severity == Severity::Warning) {
            out.push(facts.pass(at));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::testing::{Driven, World, caught, edit_document, passes, warnings};

    fn serving(change: impl FnOnce(&mut Value)) -> Driven {
        let mut driven = World::honest().drive();
        let card = World::with_card(change).card;
        edit_document(&mut driven.run, CARD, card.to_string().as_bytes());
        driven
    }

    #[test]
    fn requirements_of_declared_schemes_and_public_agents_pass() {
        passes(&Requirement, &World::honest().drive());
        passes(&Requirement, &World::public().drive());
    }

    #[test]
    fn a_requirement_of_an_unknown_scheme_is_caught() {
        let dropped = ReasonCode::SecurityRequirementDropped;
        let unknown = serving(|c| c["securityRequirements"] = json!([{"schemes": {"oauth": {"list": []}}}]));
        caught(&Requirement, &unknown, dropped);
        caught(&Requirement, &serving(|c| c["securityRequirements"] = json!([{"bearer": []}])), dropped);
        caught(&Requirement, &serving(|c| c["securityRequirements"] = json!([{}])), dropped);
        let of_skill = serving(|c| c["skills"][0]["securityRequirements"] = json!([{"schemes": {"x": {}}}]));
        caught(&Requirement, &of_skill, dropped);
    }

    #[test]
    fn an_alternative_that_lets_anybody_in_is_warned_about() {
        let driven = serving(|c| c["securityRequirements"].as_array_mut().unwrap().push(json!({})));
        passes(&Requirement, &driven);
        assert_eq!(warnings(&Requirement, &driven), [ReasonCode::SecurityRequirementDropped]);
    }
}
