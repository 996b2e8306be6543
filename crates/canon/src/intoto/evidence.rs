//! The published short form of evidence (L-02), as publishers write it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{DeclaredDigest, Profile, VersionLabel};

/// Evidence in short: what holds for which digests, and until when. A text without signature, so nothing is decided
/// on it; digests may still be placeholders, which P-01 refuses by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvidenceDocument {
    /// The agent's version.
    pub agent_version: VersionLabel,
    /// The card.
    pub card_digest: DeclaredDigest,
    /// The contract bundle.
    pub contract_digest: DeclaredDigest,
    /// The agent's artifact.
    pub producer_digest: DeclaredDigest,
    /// For which profiles it holds.
    pub profiles_passed: Vec<Profile>,
    /// When it was verified.
    pub verified_at: Timestamp,
    /// When it stops to hold.
    pub expires_at: Timestamp,
}

// === impl EvidenceDocument ===

impl EvidenceDocument {
    /// The fields whose digest is only a placeholder.
    #[must_use]
    pub fn placeholders(&self) -> Vec<&'static str> {
        [
            ("card_digest", &self.card_digest),
            ("contract_digest", &self.contract_digest),
            ("producer_digest", &self.producer_digest),
        ]
        .into_iter()
        .filter(|(_, digest)| digest.digest().is_none())
        .map(|(name, _)| name)
        .collect()
    }
}
