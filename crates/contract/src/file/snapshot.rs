//! `agent-card.snapshot.json`: how, when and from where a card was fetched (P-02).

use ostiary_canon::DeclaredDigest;

use crate::decode::{Located, file_type};

file_type! {
    /// What a fetch of a card saw besides the card itself.
    pub struct CardSnapshot {
        /// Where it was fetched.
        url: Located<String>,
        /// The protocol versions of its interfaces.
        protocol_versions: Vec<String>,
        /// The cache validator.
        etag: Option<String>,
        /// The date validator.
        last_modified: Option<String>,
        /// How long it may be kept.
        cache_control: Option<String>,
        /// Canonical digest, without signatures.
        #[schemars(with = "String")]
        card_digest: Located<DeclaredDigest>,
        /// Canonical digest of the card as callers get it that send no `A2A-Version`; absent where that is the same card.
        plain_card_digest: Option<String>,
        /// Digest of the bytes as served.
        #[schemars(with = "String")]
        raw_digest: Located<DeclaredDigest>,
        /// When; RFC 3339.
        fetched_at: String,
    }
}
