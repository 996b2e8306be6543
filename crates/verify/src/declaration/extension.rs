//! `a2a.card.required_extension`: the consumer supports every extension that the card requires (C-08).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    declaration::served,
    discover::CARD,
    facts::Facts,
};

/// The check.
pub(super) struct RequiredExtension;

static SPEC: CheckSpec = CheckSpec {
    id: "a2a.card.required_extension",
    version: 1,
    summary: "The consumer supports every extension that the card requires.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["C-08"],
    reads: Reads::Declarations,
    depends: &[Input::Card, Input::Consumers],
    reasons: &[ReasonCode::RequiredExtensionUnsupported],
    severity: Severity::Error,
    liar: "a_required_extension_that_nobody_supports_is_caught",
};

impl Check for RequiredExtension {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let (card, at) = match served(facts) {
            Ok(served) => served,
            Err(finding) => return vec![*finding],
        };
        let supported = &facts.options().consumer_extensions;
        let extensions = card.extensions();
        let unsupported = extensions.iter().filter(|e| e.required && !supported.iter().any(|s| s == e.uri));
        let out: Vec<Finding> = unsupported
            .map(|e| {
                let expected = format!("extensions among [{}]", supported.join(", "));
                let observed = format!("`{}` is required", e.uri);
                let finding = facts.fail(ReasonCode::RequiredExtensionUnsupported, at.clone(), expected, observed);
                finding.at_pointer(CARD, e.pointer.clone())
            })
            .collect();
        if out.is_empty() { vec![facts.pass(at)] } else { out }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{World, caught, passes};

    const URI: &str = "urn:example:test:approval-context";

    fn with(required: bool) -> World {
        World::with_card(|card| card["capabilities"]["extensions"] = json!([{"uri": URI, "required": required}]))
    }

    #[test]
    fn a_required_extension_that_nobody_supports_is_caught() {
        caught(&RequiredExtension, &with(true).drive(), ReasonCode::RequiredExtensionUnsupported);
    }

    #[test]
    fn optional_and_supported_extensions_pass() {
        passes(&RequiredExtension, &World::honest().drive());
        passes(&RequiredExtension, &with(false).drive());
        let mut supported = with(true);
        supported.options.consumer_extensions = vec![URI.to_owned()];
        passes(&RequiredExtension, &supported.drive());
    }
}
