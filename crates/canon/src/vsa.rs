//! SLSA Verification Summary Attestation v1: what was verified in the words of supply-chain tools.
//!
//! A summary for readers who know neither our gates nor our authorization. It is a fact with a time and has no end, so
//! nothing here is decided on it: whoever asks whether a version may be used *now* asks for the authorization. Levels of
//! ours begin with `OSTIARY_`; none is, or implies, a SLSA level.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    AgentId, Digest, VersionLabel,
    intoto::{AdmissionClass, AuthorizationFacts, Predicate, ResourceDescriptor},
};

/// The predicate type of a [`Vsa`].
pub const VERIFICATION_SUMMARY: &str = "https://slsa.dev/verification_summary/v1";

/// Who verified, as readers list it beside the key: they accept known pairs of both.
pub const VERIFIER: &str = "https://ostiary.dev/verifier/v1";

/// The level that a summary of a refused version carries, by the specification.
const FAILED: &str = "FAILED";

/// Which checks of a gate were waived, by the name of the gate: a waived check is no PASS of it (L-09).
pub type WaivedChecks = BTreeMap<String, BTreeSet<String>>;

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
    /// What was verified. A gate or profile that opened by a waiver has a level that ends in `_WAIVED` in its place.
    /// `OSTIARY_CLASS_FULL` stands beside them unless layers were left out because nobody can observe them.
    pub verified_levels: Vec<String>,
    /// Checks that did not pass and were waived, each once. A member of ours, so its name is an address of ours.
    #[serde(default, rename = "https://ostiary.dev/vsa/waived/v1", skip_serializing_if = "BTreeSet::is_empty")]
    pub waived: BTreeSet<String>,
}

/// Who verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verifier {
    /// [`VERIFIER`] for ours.
    pub id: String,
    /// Its parts and their versions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub version: BTreeMap<String, String>,
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
    ///
    /// `by_gate` says where the waived checks of the authorization belong. One that it gives to no gate lowers every
    /// gate, since a reader must never take a waived check for a passed one. Profiles span gates, so any waiver lowers
    /// them all.
    #[must_use]
    pub fn admitted(
        agent: &AgentId,
        facts: &AuthorizationFacts,
        authorization: Digest,
        by_gate: &WaivedChecks,
    ) -> Self {
        let placed: BTreeSet<&String> = by_gate.values().flatten().collect();
        let unplaced = facts.waived.iter().any(|check| !placed.contains(check));
        let lowered = |gate: &str| unplaced || by_gate.get(gate).is_some_and(|checks| !checks.is_empty());
        let waived: BTreeSet<String> = facts.waived.iter().chain(placed).cloned().collect();
        let gates = facts.gates.iter().map(|gate| level("GATE", &gate.gate, lowered(&gate.gate)));
        let profiles = facts.profiles_passed.iter();
        let profiles = profiles.map(|profile| level("PROFILE", &profile.to_string(), !waived.is_empty()));
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
            verified_levels: gates.chain(profiles).chain([class(facts.class)]).collect(),
            waived,
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
            waived: BTreeSet::new(),
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

/// `OSTIARY_PROFILE_A2A_JSONRPC_1_0_USER_STANDARD`, with `_WAIVED` behind it where something was waived.
fn level(kind: &str, text: &str, waived: bool) -> String {
    let end = if waived { "_WAIVED" } else { "" };
    let upper = text.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' });
    format!("OSTIARY_{kind}_{}{end}", upper.collect::<String>())
}

/// The class as a level, so that a reader who wants everything observed can ask for it (L-09).
fn class(class: AdmissionClass) -> String {
    level("CLASS", if class == AdmissionClass::Full { "full" } else { "reduced" }, false)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{
        Revision,
        dsse::{Keyring, SigningKey},
        intoto::{GateEvidence, Statement, Subject},
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
        let vsa = Vsa::admitted(&agent, &facts(), Digest::of(b"word"), &WaivedChecks::new());
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
                "verifiedLevels": [
                    "OSTIARY_GATE_CONFORMANCE",
                    "OSTIARY_PROFILE_A2A_JSONRPC_1_0_USER_STANDARD",
                    "OSTIARY_CLASS_FULL",
                ],
            })
        );
        let verified = Keyring::trusting([key.verifying_key()]).verify(&envelope).unwrap();
        assert_eq!(Statement::<Vsa>::from_verified(&verified).unwrap().predicate, vsa);
        assert!(
            Statement::<crate::intoto::Authorization>::from_verified(&verified).is_err(),
            "a summary never passes for an authorization"
        );
    }

    /// L-09: what was waived is named, and the plain level is not claimed.
    #[test]
    fn a_waived_check_is_never_summed_up_as_passed() {
        let agent: AgentId = "demo/planner".parse().unwrap();
        let mut facts = facts();
        facts.gates.push(GateEvidence { gate: "security".to_owned(), ..facts.gates[0].clone() });
        facts.waived = vec!["task.cancel".to_owned()];
        let of = |by_gate: &WaivedChecks| Vsa::admitted(&agent, &facts, Digest::of(b"word"), by_gate);
        let (profile, full) = ("OSTIARY_PROFILE_A2A_JSONRPC_1_0_USER_STANDARD_WAIVED", "OSTIARY_CLASS_FULL");
        let known = of(&[("conformance".to_owned(), ["task.cancel".to_owned()].into())].into());
        assert_eq!(known.verified_levels, ["OSTIARY_GATE_CONFORMANCE_WAIVED", "OSTIARY_GATE_SECURITY", profile, full]);
        let said = serde_json::to_value(&known).unwrap();
        assert_eq!(said["https://ostiary.dev/vsa/waived/v1"], json!(["task.cancel"]));
        assert_eq!(serde_json::from_value::<Vsa>(said).unwrap(), known);
        let unknown = of(&WaivedChecks::new());
        let lowered = ["OSTIARY_GATE_CONFORMANCE_WAIVED", "OSTIARY_GATE_SECURITY_WAIVED", profile, full];
        assert_eq!((&unknown.verified_levels[..], unknown.waived.len()), (&lowered.map(str::to_owned)[..], 1));
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
