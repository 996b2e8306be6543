//! `a2a.extension.enforced`: who does not name the extensions that the card requires is refused (G-01, I-08).

use ostiary_protocol::a2a::ErrorKind;
use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    answers,
    check::{Check, CheckSpec, Input, Reads},
    discover::CARD,
    facts::Facts,
    refusal::{self, Refusal},
    scenarios::extension,
};

/// The check.
pub(super) struct ExtensionEnforced;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.extension.enforced",
    version: 1,
    summary: "Who does not name a required extension is refused with ExtensionSupportRequiredError.",
    layer: Layer::Protocol,
    gate: Gate::Conformance,
    covers: &["G-01", "I-08", "E-02"],
    reads: Reads::Each(&[extension::ID]),
    depends: &[Input::Candidate, Input::Card],
    reasons: &[ReasonCode::ExtensionNotEnforced, ReasonCode::ErrorCodeMismatch, ReasonCode::ResponseMalformed],
    severity: Severity::Error,
    liar: "a_served_caller_without_the_extension_is_caught",
};

impl Check for ExtensionEnforced {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        if !facts.card().is_some_and(extension::requires_one) {
            return vec![facts.not_applicable(CARD, "/capabilities/extensions")];
        }
        let named = &[ErrorKind::ExtensionSupportRequired];
        let refusal = Refusal { named, tolerated: &[], served: ReasonCode::ExtensionNotEnforced };
        answers::of(facts, extension::ID).iter().flat_map(|a| refusal::judge(facts, a, refusal)).collect()
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::Outcome;
    use serde_json::json;

    use super::*;
    use crate::testing::{Edit, World, caught, is, passes};

    fn requiring() -> World {
        let extension = json!({"uri": "https://example.test/extensions/plan/v1", "required": true});
        World::with_card(|c| c["capabilities"]["extensions"] = json!([extension]))
    }

    #[test]
    fn a_refused_caller_passes_and_without_extensions_it_does_not_apply() {
        passes(&ExtensionEnforced, &requiring().drive());
        is(&ExtensionEnforced, &World::honest().drive(), Outcome::NotApplicable);
    }

    #[test]
    fn a_served_caller_without_the_extension_is_caught() {
        let answering = |error: Option<i64>| {
            requiring().drive().edit(|i| match error {
                _ if i.scenario != extension::ID => Edit::Keep,
                Some(code) => Edit::Replace(i.with_error(json!({"code": code, "message": "no"}))),
                None => Edit::Replace(i.with_result(json!({"task": {"id": "t", "status": {}}}))),
            })
        };
        caught(&ExtensionEnforced, &answering(None), ReasonCode::ExtensionNotEnforced);
        caught(&ExtensionEnforced, &answering(Some(-32602)), ReasonCode::ErrorCodeMismatch);
    }
}
