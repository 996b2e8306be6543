//! The summary of evidence as people exchange it; digests may still be placeholders.

use ostiary_canon::DeclaredDigest;

use crate::decode::file_type;

file_type! {
    /// What was verified of which digests, and until when that holds.
    pub struct EvidenceSummary {
        /// The agent's version label.
        agent_version: String,
        /// Digest of the card.
        #[schemars(with = "String")]
        card_digest: DeclaredDigest,
        /// Digest of the contract bundle.
        #[schemars(with = "String")]
        contract_digest: DeclaredDigest,
        /// Digest of the artifact.
        #[schemars(with = "String")]
        producer_digest: DeclaredDigest,
        /// Profiles that passed.
        profiles_passed: Vec<String>,
        /// When it was verified; RFC 3339.
        verified_at: String,
        /// Until when it holds; RFC 3339.
        expires_at: String,
    }
}
