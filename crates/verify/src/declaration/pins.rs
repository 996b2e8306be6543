//! `contract.pins`: protocol, contract, producer artifact and harness each name one exact version (P-01).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::BUNDLE_PREFIX,
    facts::Facts,
};

/// The check.
pub(super) struct Pins;

static SPEC: CheckSpec = CheckSpec {
    id: "contract.pins",
    version: 1,
    summary: "Protocol, contract and artifact versions are pinned by exact versions and digests.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["P-01", "B-01"],
    reads: Reads::Declarations,
    depends: &[Input::Contract],
    reasons: &[ReasonCode::PinMissing],
    severity: Severity::Error,
    liar: "a_placeholder_digest_is_caught",
};

const CONTRACT: &str = "contract.yaml";

impl Check for Pins {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some((_, at)) = facts.document(&format!("{BUNDLE_PREFIX}{CONTRACT}")) else {
            let remedy = "the contract is not on the discovery tape";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, CONTRACT, remedy)];
        };
        let problems = facts.bundle().pins();
        if problems.is_empty() {
            return vec![facts.pass(vec![at])];
        }
        let finding = |p: &ostiary_contract::PinProblem| {
            let observed = if p.value.is_empty() { "nothing".to_owned() } else { format!("`{}`", p.value) };
            let pointer = format!("/contract_bundle/{}", p.what.replace('.', "/"));
            let expected = format!("one exact version or digest for {}", p.what);
            let finding = facts.fail(ReasonCode::PinMissing, vec![at.clone()], expected, observed);
            let mut finding = finding.at_pointer(CONTRACT, pointer).with_message(p.message.clone());
            finding.place.line = p.at.map(|at| at.line);
            finding
        };
        problems.iter().map(finding).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{World, caught, passes};

    fn with(from: &str, to: &str) -> crate::testing::Driven {
        let mut world = World::honest();
        let (_, text) = world.files.iter().find(|(p, _)| *p == CONTRACT).unwrap();
        let text = text.replace(from, to);
        world.put(CONTRACT, &text);
        world.drive()
    }

    #[test]
    fn a_pinned_contract_passes() {
        passes(&Pins, &World::honest().drive());
    }

    #[test]
    fn a_placeholder_digest_is_caught() {
        let digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";
        for other in ["latest", "", "sha256:fixture-producer-digest"] {
            caught(&Pins, &with(digest, other), ReasonCode::PinMissing);
        }
    }

    #[test]
    fn latest_is_no_protocol_version() {
        let driven = with("a2a: \"1.0\"", "a2a: latest");
        caught(&Pins, &driven, ReasonCode::PinMissing);
        assert!(driven.judge(&Pins)[0].place.line.is_some());
    }
}
