//! What a run hands to the judge: its recordings and the facts that stand around them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    event::{Axes, Recording, ScenarioId},
    finding::DigestSource,
    layer::Gate,
};

/// The format that stored runs carry.
pub const RUN_FORMAT: &str = "ostiary.run/1";

/// Everything a worker uploads about one run; the judge needs nothing else but the bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// [`RUN_FORMAT`].
    pub format: String,
    /// When driving began; RFC 3339.
    pub started_at: String,
    /// Version of the harness that drove.
    pub harness_version: String,
    /// The gate that was asked for; `None` = all.
    pub gate: Option<Gate>,
    /// The verification environment, as far as judging needs it.
    pub environment: EnvironmentFacts,
    /// The recordings.
    pub recordings: Vec<Recording>,
    /// Variants that were planned and could not be driven.
    pub not_run: Vec<NotRun>,
}

/// What the judge may know of the environment: no secrets; addresses only as far as evidence must say where the declared
/// ones really led.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentFacts {
    /// Its name.
    pub name: String,
    /// `production` or `development`.
    pub strictness: String,
    /// Risks that may be exercised: `read`, `write`, `destructive`.
    pub cleared_effects: Vec<String>,
    /// Parts of the candidate's surroundings: `real` or `double`.
    pub parts: BTreeMap<String, String>,
    /// Kinds of effect that some observer sees.
    pub observed: Vec<String>,
    /// Subjects by name: profile, tenant class, tenant.
    pub subjects: BTreeMap<String, SubjectFacts>,
    /// Where the declared address really led: endpoint, and SPKI over TLS.
    pub endpoint: Option<String>,
    /// SHA-256 of the server key's SPKI.
    pub spki_sha256: Option<String>,
    /// How the artifact's digest is known.
    pub producer_digest_source: Option<DigestSource>,
    /// SHA-256 of the artifact that the environment names, digested when the run began: `sha256:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact_digest: Option<String>,
    /// Where connections to a declared `host:port` were led instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub connect_to: BTreeMap<String, String>,
    /// SHA-256 of the certificate authorities that were trusted in place of the web's own: `sha256:…`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_roots: Option<String>,
    /// Disturbances that may be injected: `latency`, `reset`, `partial_response`, `dependency_down`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// Parts that the candidate reaches through the harness, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dependencies: Vec<String>,
    /// Where push notifications are received; `None` = nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub callbacks: Option<CallbackFacts>,
}

/// What a judge may know of the callback receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallbackFacts {
    /// Whether its addresses are public ones, which a candidate has no reason to refuse; else they are on the loopback.
    pub public: bool,
    /// Whether its addresses are `https`.
    pub https: bool,
    /// The keys that the candidate signs its notifications with, where it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<SignedCallbacks>,
}

/// By what signed notifications are verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SignedCallbacks {
    /// The key set (RFC 7517), public keys alone.
    pub jwks: serde_json::Value,
    /// The `aud`.
    pub audience: String,
    /// The `iss`, where it matters.
    pub issuer: Option<String>,
}

/// Who really answered, as far as a run can tell (B-05). Another server, key or way there is another target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The address that the card was served at, after redirects.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// SHA-256 of the server key's SPKI, as hex; none over plain http.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spki_sha256: Option<String>,
    /// Where connections to a declared `host:port` were led instead.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub connect_to: BTreeMap<String, String>,
    /// SHA-256 of the certificate authorities that were trusted in place of the web's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trust_roots: Option<String>,
}

// === impl EnvironmentFacts ===

impl EnvironmentFacts {
    /// Who really answered.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            endpoint: self.endpoint.clone(),
            spki_sha256: self.spki_sha256.clone(),
            connect_to: self.connect_to.clone(),
            trust_roots: self.trust_roots.clone(),
        }
    }
}

/// A subject of the environment, without its credential.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SubjectFacts {
    /// Authorization profile.
    pub profile: Option<String>,
    /// Tenant class.
    pub tenant_class: Option<String>,
    /// Fixture tenant.
    pub tenant: Option<String>,
    /// What kind of credential it holds.
    #[serde(default)]
    pub credential: CredentialKind,
}

/// What is special about a subject's credential.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CredentialKind {
    /// Nothing: the candidate should accept it.
    #[default]
    Valid,
    /// Its time is over.
    Expired,
    /// Somebody else issued it, or for somebody else.
    Foreign,
}

/// A variant that was planned and not driven.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotRun {
    /// Which scenario.
    pub scenario: ScenarioId,
    /// Which variant.
    pub axes: Axes,
    /// Why, as a reason code of the catalogue.
    pub reason: crate::reason::ReasonCode,
    /// In words.
    pub why: String,
}
