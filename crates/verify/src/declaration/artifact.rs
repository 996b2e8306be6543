//! `contract.artifact`: the file that runs is the artifact that the contract pins (B-05).

use ostiary_record::{Finding, Gate, Layer, ReasonCode, Severity};

use crate::{
    check::{Check, CheckSpec, Input, Reads},
    discover::BUNDLE_PREFIX,
    facts::Facts,
};

/// The check.
pub(super) struct Artifact;

static SPEC: CheckSpec = CheckSpec {
    id: "contract.artifact",
    version: 1,
    summary: "Where the environment names the file that runs, its digest is the one that the contract pins.",
    layer: Layer::Declaration,
    gate: Gate::Static,
    covers: &["B-05"],
    reads: Reads::Declarations,
    depends: &[Input::Contract],
    reasons: &[ReasonCode::ArtifactDigestMismatch],
    severity: Severity::Error,
    liar: "another_file_than_the_pinned_one_is_caught",
};

const CONTRACT: &str = "contract.yaml";
const POINTER: &str = "/contract_bundle/producer/artifact_digest";

impl Check for Artifact {
    fn spec(&self) -> &'static CheckSpec {
        &SPEC
    }

    fn judge(&self, facts: &Facts<'_>) -> Vec<Finding> {
        let Some((_, at)) = facts.document(&format!("{BUNDLE_PREFIX}{CONTRACT}")) else {
            let remedy = "the contract is not on the discovery tape";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, CONTRACT, remedy)];
        };
        let Some(observed) = &facts.environment().artifact_digest else {
            return vec![facts.not_applicable("environment.yaml", "/environment/artifact")];
        };
        match facts.bundle().contract.producer.digest().map(|digest| digest.to_string()) {
            None => vec![facts.not_applicable(CONTRACT, POINTER)],
            Some(pinned) if pinned == *observed => vec![facts.pass(vec![at])],
            Some(pinned) => {
                let finding = facts.fail(ReasonCode::ArtifactDigestMismatch, vec![at], pinned, observed.clone());
                vec![finding.at_pointer(CONTRACT, POINTER.to_owned())]
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ostiary_record::{DigestSource, EnvironmentFacts};

    use super::*;
    use crate::testing::{Driven, World, caught, passes};

    const PINNED: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn with(artifact: Option<&str>, claimed: Option<DigestSource>) -> Driven {
        let mut world = World::honest();
        world.environment = EnvironmentFacts {
            artifact_digest: artifact.map(str::to_owned),
            producer_digest_source: claimed,
            ..world.environment
        };
        world.drive()
    }

    #[test]
    fn the_pinned_file_passes_and_is_observed() {
        let driven = with(Some(PINNED), None);
        passes(&Artifact, &driven);
        assert_eq!(driven.report().producer_digest_source, DigestSource::Observed);
        assert!(!driven.report().statement.contains("which artifact runs"), "{}", driven.report().statement);
    }

    #[test]
    fn another_file_than_the_pinned_one_is_caught() {
        let other = format!("sha256:{}", "f".repeat(64));
        let driven = with(Some(&other), Some(DigestSource::Observed));
        caught(&Artifact, &driven, ReasonCode::ArtifactDigestMismatch);
        assert_eq!(driven.report().producer_digest_source, DigestSource::Declared);
    }

    #[test]
    fn a_run_that_only_says_that_it_looked_is_not_believed() {
        let driven = with(None, Some(DigestSource::Observed));
        assert_eq!(driven.report().producer_digest_source, DigestSource::Declared);
        assert!(driven.report().statement.contains("which artifact runs (its digest is declared)"));
    }
}
