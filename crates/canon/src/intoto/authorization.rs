//! The authorization: this version may be dispatched to, in this window, for these profiles.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{AUTHORIZATION, EvidenceDocument, Predicate};
use crate::{DeclaredDigest, Digest, Profile, Revision, VersionLabel};

/// Our admission predicate. Only [`Authorization::issue`] and the reader make one, so each that exists is consistent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "AuthorizationFacts", into = "AuthorizationFacts")]
pub struct Authorization(AuthorizationFacts);

/// One gate's evidence that the authorization rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GateEvidence {
    /// The gate.
    pub gate: String,
    /// The digest of the signed test result.
    pub evidence_digest: Digest,
    /// The profiles that passed it.
    pub profiles: Vec<Profile>,
    /// When it was verified.
    pub verified_at: Timestamp,
    /// Until when it founds an authorization: verified at + the gate's maximum age.
    pub expires_at: Timestamp,
}

/// How complete the evidence is (L-09).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AdmissionClass {
    /// All that policy requires.
    #[default]
    Full,
    /// Without what nobody can observe; a person answered for it.
    Reduced,
}

/// The facts of an authorization, checked by [`Authorization::issue`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuthorizationFacts {
    /// From when it allows.
    #[serde(rename = "notBefore")]
    pub not_before: Timestamp,
    /// Until when it allows, exclusive.
    #[serde(rename = "expiresAt")]
    pub window_ends: Timestamp,
    /// The agent's version.
    pub agent_version: VersionLabel,
    /// The card.
    pub card_digest: Digest,
    /// The contract bundle.
    pub contract_digest: Digest,
    /// The agent's artifact.
    pub producer_digest: Digest,
    /// For which profiles it allows.
    pub profiles_passed: Vec<Profile>,
    /// When the newest gate was verified.
    pub verified_at: Timestamp,
    /// When the evidence stops to hold; the same instant as the window's end.
    pub expires_at: Timestamp,
    /// What it rests on.
    pub gates: Vec<GateEvidence>,
    /// The policy's digest (L-07).
    pub policy: Digest,
    /// The verification environment.
    pub environment: String,
    /// The revision at which it was issued.
    pub revision: Revision,
    /// How complete the evidence is.
    #[serde(default)]
    pub class: AdmissionClass,
    /// Checks that did not pass and were waived, each once, as routers are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
}

/// Why facts make no authorization.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthorizationError {
    /// An empty window.
    #[error("the window ends at {ends}, not after its begin {begins}")]
    EmptyWindow {
        /// When it begins.
        begins: Timestamp,
        /// When it ends.
        ends: Timestamp,
    },
    /// `expires_at` and `expiresAt` name different instants.
    #[error("`expires_at` and `expiresAt` differ")]
    TwoExpiries,
    /// It rests on nothing.
    #[error("no gate's evidence is named")]
    NoGates,
    /// It outlives a gate's evidence.
    #[error("it would allow until {ends}, but the evidence of gate `{gate}` only holds until {gate_ends}")]
    OutlivesGate {
        /// The gate.
        gate: String,
        /// Until when the gate's evidence holds.
        gate_ends: Timestamp,
        /// Until when it would allow.
        ends: Timestamp,
    },
    /// It allows for no profile, which nobody would ever ask for.
    #[error("no profile passed")]
    NoProfiles,
    /// It allows for a profile that a gate does not name.
    #[error("profile `{profile}` did not pass gate `{gate}`")]
    ProfileNotPassed {
        /// The profile.
        profile: Profile,
        /// The gate.
        gate: String,
    },
}

impl Predicate for Authorization {
    const TYPE: &'static str = AUTHORIZATION;
}

// === impl Authorization ===

impl Authorization {
    /// An authorization from its facts.
    ///
    /// # Errors
    /// When the window is empty, it would outlive its evidence, or allow a profile that did not pass every gate.
    pub fn issue(facts: AuthorizationFacts) -> Result<Self, AuthorizationError> {
        check_window(&facts)?;
        if facts.gates.is_empty() {
            return Err(AuthorizationError::NoGates);
        }
        if facts.profiles_passed.is_empty() {
            return Err(AuthorizationError::NoProfiles);
        }
        for gate in &facts.gates {
            check_gate(&facts, gate)?;
        }
        Ok(Self(facts))
    }

    /// The facts.
    #[must_use]
    pub const fn facts(&self) -> &AuthorizationFacts {
        &self.0
    }

    /// Whether it allows at `now`.
    #[must_use]
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.0.not_before <= now && now < self.0.window_ends
    }

    /// The published short form.
    #[must_use]
    pub fn document(&self) -> EvidenceDocument {
        EvidenceDocument {
            agent_version: self.0.agent_version.clone(),
            card_digest: DeclaredDigest::Digest(self.0.card_digest),
            contract_digest: DeclaredDigest::Digest(self.0.contract_digest),
            producer_digest: DeclaredDigest::Digest(self.0.producer_digest),
            profiles_passed: self.0.profiles_passed.clone(),
            verified_at: self.0.verified_at,
            expires_at: self.0.expires_at,
        }
    }
}

impl TryFrom<AuthorizationFacts> for Authorization {
    type Error = AuthorizationError;

    fn try_from(facts: AuthorizationFacts) -> Result<Self, AuthorizationError> {
        Self::issue(facts)
    }
}

impl From<Authorization> for AuthorizationFacts {
    fn from(authorization: Authorization) -> Self {
        authorization.0
    }
}

fn check_window(facts: &AuthorizationFacts) -> Result<(), AuthorizationError> {
    if facts.expires_at != facts.window_ends {
        return Err(AuthorizationError::TwoExpiries);
    }
    if facts.window_ends <= facts.not_before {
        return Err(AuthorizationError::EmptyWindow { begins: facts.not_before, ends: facts.window_ends });
    }
    Ok(())
}

fn check_gate(facts: &AuthorizationFacts, gate: &GateEvidence) -> Result<(), AuthorizationError> {
    if facts.window_ends > gate.expires_at {
        return Err(AuthorizationError::OutlivesGate {
            gate: gate.gate.clone(),
            gate_ends: gate.expires_at,
            ends: facts.window_ends,
        });
    }
    match facts.profiles_passed.iter().find(|profile| !gate.profiles.contains(profile)) {
        Some(profile) => {
            Err(AuthorizationError::ProfileNotPassed { profile: profile.clone(), gate: gate.gate.clone() })
        }
        None => Ok(()),
    }
}
