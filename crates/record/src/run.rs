//! What a run hands to the judge: its recordings and the facts that stand around them.

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

/// What the judge may know of the environment: no secrets, no addresses of ours.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvironmentFacts {
    /// Its name.
    pub name: String,
    /// `production` or `development`.
    pub strictness: String,
    /// Risks that may be exercised: `read`, `write`, `destructive`.
    pub cleared_effects: Vec<String>,
    /// Parts of the candidate's surroundings: `real` or `double`.
    pub parts: std::collections::BTreeMap<String, String>,
    /// Kinds of effect that some observer sees.
    pub observed: Vec<String>,
    /// Subjects by name: profile, tenant class, tenant.
    pub subjects: std::collections::BTreeMap<String, SubjectFacts>,
    /// Where the declared address really led: endpoint, and SPKI over TLS.
    pub endpoint: Option<String>,
    /// SHA-256 of the server key's SPKI.
    pub spki_sha256: Option<String>,
    /// How the artifact's digest is known.
    pub producer_digest_source: Option<DigestSource>,
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
