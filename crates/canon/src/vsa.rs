//! SLSA Verification Summary Attestation v1: what was verified in the words of supply-chain tools.
//!
//! A summary for readers who know neither our gates nor our authorization. It is a fact with a time and has no end, so
//! nothing here is decided on it: whoever asks whether a version may be used *now* asks for the authorization. Levels of
//! ours begin with `OSTIARY_`; none is, or implies, a SLSA level.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Digest, VersionLabel,
    intoto::{AuthorizationFacts, Predicate, ResourceDescriptor},
};

/// The predicate type of a [`Vsa`].
pub const VERIFICATION_SUMMARY: &str = "https://slsa.dev/verification_summary/v1";

/// Who verified, as readers list it beside the key: they accept known pairs of both.
pub const VERIFIER: &str = "https://ostiary.dev/verifier/v1";

/// The level that a summary of a refused version carries, by the specification.
const FAILED: &str = "FAILED";

/// A verification summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Vsa {
    /// Who verified.
    pub verifier: Verifier,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_verified: Option<Timestamp>,
    /// What was verified, as URI.
    pub resource_uri: String,
    /// By which policy.
    pub policy: ResourceDescriptor,
    /// All attestations that were looked at, by the digests of their envelopes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub input_attestations: Vec<ResourceDescriptor>,
    /// Whether the policy was met.
    pub verification_result: VsaResult,
    /// What was verified.
    pub verified_levels: Vec<String>,
}

/// Who verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verifier {
    /// [`VERIFIER`] for ours.
    pub id: String,
    /// Its parts and their versions.
    #[serde(default, skip_serializing_if = "std::collections::BTreeMap::is_empty")]
    pub version: std::collections::BTreeMap<String, String>,
}

/// Whether the policy was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum VsaResult {
    /// It was.
    Passed,
    /// It was not.
    Failed,
}

/// A result that a summary rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The gate.
    pub gate: String,
    /// The digest of the signed envelope.
    pub envelope: Digest,
}

impl Predicate for Vsa {
    const TYPE: &'static str = VERIFICATION_SUMMARY;
}

// === impl Vsa ===

impl Vsa {
    /// The summary of an admission: its gates and profiles as levels, its evidence and itself as inputs.
    #[must_use]
    pub fn admitted(agent: &AgentId, facts: &AuthorizationFacts, authorization: Digest) -> Self {
        let gates = facts.gates.iter().map(|gate| level("GATE", &gate.gate));
        let profiles = facts.profiles_passed.iter().map(|profile| level("PROFILE", &profile.to_string()));
        let grounds = facts
            .gates
            .iter()
            .map(|gate| Ground { gate: gate.gate.clone(), envelope: gate.evidence_digest })
            .chain([Ground { gate: "admission".to_owned(), envelope: authorization }]);
        Self {
            verifier: Verifier::ours(),
            time_verified: Some(facts.verified_at),
            resource_uri: resource(agent, &facts.agent_version),
            policy: ResourceDescriptor::named("policy", facts.policy),
            input_attestations: grounds.map(Ground::descriptor).collect(),
            verification_result: VsaResult::Passed,
            verified_levels: gates.chain(profiles).collect(),
        }
    }

    /// The summary of a refusal, at the gate that did not open.
    #[must_use]
    pub fn refused(agent: &AgentId, version: &VersionLabel, policy: Digest, at: Timestamp, ground: Ground) -> Self {
        Self {
            verifier: Verifier::ours(),
            time_verified: Some(at),
            resource_uri: resource(agent, version),
            policy: ResourceDescriptor::named("policy", policy),
            input_attestations: vec![ground.descriptor()],
            verification_result: VsaResult::Failed,
            verified_levels: vec![FAILED.to_owned()],
        }
    }
}

// === impl Verifier ===

impl Verifier {
    fn ours() -> Self {
        let version = [("ostiary".to_owned(), env!("CARGO_PKG_VERSION").to_owned())].into();
        Self { id: VERIFIER.to_owned(), version }
    }
}

// === impl Ground ===

impl Ground {
    fn descriptor(self) -> ResourceDescriptor {
        ResourceDescriptor::named(&self.gate, self.envelope)
    }
}

/// The version as URI: agents have no address of their own that would stay.
fn resource(agent: &AgentId, version: &VersionLabel) -> String {
    format!("ostiary:{agent}@{version}")
}

/// `OSTIARY_PROFILE_A2A_JSONRPC_1_0_USER_STANDARD`.
fn level(kind: &str, text: &str) -> String {
    let upper = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    format!("OSTIARY_{kind}_{}", upper.collect::<String>())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Revision,
        dsse::{Keyring, SigningKey},
        intoto::{AdmissionClass, GateEvidence, Statement, Subject},
    };

    fn facts() -> AuthorizationFacts {
        let at = |text: &str| -> Timestamp { text.parse().unwrap() };
        let profile: crate::Profile = "a2a-jsonrpc-1.0/user/standard".parse().unwrap();
        AuthorizationFacts {
            not_before: at("2026-01-01T00:00:00Z"),
            window_ends: at("2026-01-02T00:00:00Z"),
            agent_version: "3.4.1".parse().unwrap(),
            card_digest: Digest::of(b"card"),
            contract_digest: Digest::of(b"contract"),
            producer_digest: Digest::of(b"producer"),
            profiles_passed: vec![profile.clone()],
            verified_at: at("2025-12-31T00:00:00Z"),
            expires_at: at("2026-01-02T00:00:00Z"),
            gates: vec![GateEvidence {
                gate: "conformance".to_owned(),
                evidence_digest: Digest::of(b"evidence"),
                profiles: vec![profile],
                verified_at: at("2025-12-31T00:00:00Z"),
                expires_at: at("2026-01-02T00:00:00Z"),
            }],
            policy: Digest::of(b"policy"),
            environment: "staging".to_owned(),
            revision: Revision(7),
            class: AdmissionClass::Full,
            waived: vec![],
        }
    }

    #[test]
    fn a_summary_is_what_slsa_readers_read() {
        let agent: AgentId = "demo/planner".parse().unwrap();
        let vsa = Vsa::admitted(&agent, &facts(), Digest::of(b"word"));
        let subject = Subject::new(&agent, &"3.4.1".parse().unwrap(), Digest::of(b"manifest"));
        let key = SigningKey::from_seed([1; 32]);
        let envelope = Statement::new(subject, vsa.clone()).sign(&key).unwrap();
        let said: Value = serde_json::from_slice(&envelope.payload).unwrap();
        assert_eq!(said["predicateType"], VERIFICATION_SUMMARY);
        assert_eq!(
            said["predicate"],
            json!({
                "verifier": {"id": VERIFIER, "version": {"ostiary": env!("CARGO_PKG_VERSION")}},
                "timeVerified": "2025-12-31T00:00:00Z",
                "resourceUri": "ostiary:demo/planner@3.4.1",
                "policy": {"name": "policy", "digest": {"sha256": Digest::of(b"policy").hex()}},
                "inputAttestations": [
                    {"name": "conformance", "digest": {"sha256": Digest::of(b"evidence").hex()}},
                    {"name": "admission", "digest": {"sha256": Digest::of(b"word").hex()}},
                ],
                "verificationResult": "PASSED",
                "verifiedLevels": ["OSTIARY_GATE_CONFORMANCE", "OSTIARY_PROFILE_A2A_JSONRPC_1_0_USER_STANDARD"],
            })
        );
        let verified = Keyring::trusting([key.verifying_key()]).verify(&envelope).unwrap();
        assert_eq!(Statement::<Vsa>::from_verified(&verified).unwrap().predicate, vsa);
        assert!(
            Statement::<crate::intoto::Authorization>::from_verified(&verified).is_err(),
            "a summary never passes for an authorization"
        );
    }

    #[test]
    fn a_refusal_claims_no_level() {
        let agent: AgentId = "demo/planner".parse().unwrap();
        let ground = Ground { gate: "conformance".to_owned(), envelope: Digest::of(b"evidence") };
        let vsa = Vsa::refused(&agent, &"3.4.2".parse().unwrap(), Digest::of(b"p"), facts().verified_at, ground);
        assert_eq!(vsa.verification_result, VsaResult::Failed);
        assert_eq!(vsa.verified_levels, ["FAILED"]);
        assert_eq!(vsa.input_attestations.len(), 1);
    }
}
