//! What evidence is about, and what it entitles to.

use jiff::Timestamp;
use ostiary_canon::{Digest, Profile};
use ostiary_record::DigestSource;
use serde::{Deserialize, Serialize};

use crate::{
    names::{EvidenceId, Moment},
    waiver::Waived,
};

/// The one subject of all evidence of a version: its manifest's digest, with the digests that the manifest holds (P-04).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// Of the version manifest: what every statement names.
    pub manifest: Digest,
    /// Of the card as served, canonical, without signatures; of the tool snapshot for an agent that is no A2A agent.
    pub card: Digest,
    /// Of the contract bundle.
    pub contract: Digest,
    /// Of the agent's artifact.
    pub producer: Digest,
    /// How the artifact's digest is known.
    pub producer_source: DigestSource,
}

/// An earlier gate that was passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GatePass {
    /// The evidence.
    pub evidence: EvidenceId,
    /// When it was committed.
    pub at: Moment,
    /// Until when it founds anything.
    pub expires_at: Timestamp,
}

/// What the registry vouches for, for a while: the content of our signed authorization statement.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Authorization {
    /// The signed statement.
    pub evidence: EvidenceId,
    /// The statement's digest, as routers are told.
    pub evidence_digest: Digest,
    /// The profiles it holds for, sorted.
    pub profiles: Vec<Profile>,
    /// The policy it was judged by.
    pub policy: Digest,
    /// When the youngest of the underlying results was driven.
    pub verified_at: Timestamp,
    /// From when.
    pub not_before: Timestamp,
    /// Until when, at most the earliest expiry of what it rests on.
    pub expires_at: Timestamp,
    /// What it rests on that did not pass and was waived; routers are told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<Waived>,
    /// When it was called in, because a waiver that it rests on was revoked. It entitles to nothing from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub called_in: Option<Moment>,
}

// === impl Authorization ===

impl Authorization {
    /// Whether it holds at `now`.
    #[must_use]
    pub fn holds_at(&self, now: Timestamp) -> bool {
        self.called_in.is_none() && self.not_before <= now && now < self.expires_at
    }
}
