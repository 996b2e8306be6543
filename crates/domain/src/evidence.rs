//! Evidence: what a gate's run showed, signed, bound to digests, and with an end.

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{Digest, Profile, Revision};
use ostiary_record::{Gate, Outcome};
use serde::{Deserialize, Serialize};

use crate::{
    names::{EvidenceId, VersionRef},
    subject::Subject,
    waiver::Waived,
};

/// One piece of evidence, with the original bytes of its envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvidenceRecord {
    /// Its id.
    pub id: EvidenceId,
    /// The try it is about.
    pub version: VersionRef,
    /// The gate.
    pub gate: Gate,
    /// What the gate's judgement was.
    pub outcome: Outcome,
    /// The profiles it holds for.
    pub profiles_passed: Vec<Profile>,
    /// The profiles in which something failed.
    pub profiles_failed: Vec<Profile>,
    /// What was waived: it stands against the version, and did not stop the gate.
    pub waived: Vec<Waived>,
    /// What was measured.
    pub subject: Subject,
    /// The policy it was judged by.
    pub policy: Digest,
    /// Version of the harness.
    pub harness: String,
    /// Where it ran.
    pub environment: String,
    /// The stored run that it was judged from; the admission gate has none.
    pub run: Option<Digest>,
    /// The store's revision when the run started.
    pub run_started: Revision,
    /// The DSSE envelope, byte for byte as signed.
    pub envelope: Bytes,
    /// When the run was driven. Never changes, also where the result is used again.
    pub verified_at: Timestamp,
    /// Until when it founds anything, exclusive: `verified_at` plus the gate's greatest age.
    pub expires_at: Timestamp,
    /// Whether the version moved on it.
    pub standing: Standing,
    /// The revision that recorded it.
    pub recorded: Revision,
}

/// Whether the transition that evidence was made for took place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Recorded by the transaction that acted on it.
    Decided,
    /// Kept, though its transaction lost a race; founds nothing.
    Kept,
}

/// Evidence that is to be recorded; the store adds standing and revision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvidence {
    /// Its id, from the ids port.
    pub id: EvidenceId,
    /// The gate.
    pub gate: Gate,
    /// What the gate's judgement was.
    pub outcome: Outcome,
    /// The profiles it holds for.
    pub profiles_passed: Vec<Profile>,
    /// The profiles in which something failed.
    pub profiles_failed: Vec<Profile>,
    /// What was waived: it stands against the version, and did not stop the gate.
    pub waived: Vec<Waived>,
    /// What was measured.
    pub subject: Subject,
    /// The policy it was judged by.
    pub policy: Digest,
    /// Version of the harness.
    pub harness: String,
    /// Where it ran.
    pub environment: String,
    /// The stored run.
    pub run: Option<Digest>,
    /// The store's revision when the run started.
    pub run_started: Revision,
    /// The DSSE envelope, byte for byte as signed.
    pub envelope: Bytes,
    /// When the run was driven.
    pub verified_at: Timestamp,
    /// Until when it founds anything.
    pub expires_at: Timestamp,
}

/// What a gate's result must be about, to found anything (P-04).
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The try.
    pub version: &'a VersionRef,
    /// The digests.
    pub subject: &'a Subject,
    /// The policy.
    pub policy: Digest,
}

/// The newest result of `gate` that tells anything: what an admission rests on, or is refused for.
///
/// A result that could not tell does not take away what an older one has shown; evidence that was only kept founds nothing.
#[must_use]
pub fn newest_telling<'a>(evidence: &'a [EvidenceRecord], gate: Gate, about: &About<'_>) -> Option<&'a EvidenceRecord> {
    evidence
        .iter()
        .filter(|e| e.gate == gate && e.version == *about.version && e.standing == Standing::Decided)
        .filter(|e| e.subject == *about.subject && e.policy == about.policy)
        .filter(|e| matches!(e.outcome, Outcome::Pass | Outcome::Fail))
        .max_by_key(|e| e.recorded)
}

// === impl EvidenceRecord ===

impl EvidenceRecord {
    /// The digest of the envelope's bytes.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of(&self.envelope)
    }
}

// === impl NewEvidence ===

impl NewEvidence {
    /// The record of this evidence about `version`.
    #[must_use]
    pub fn recorded(self, version: VersionRef, standing: Standing, recorded: Revision) -> EvidenceRecord {
        EvidenceRecord {
            id: self.id,
            version,
            gate: self.gate,
            outcome: self.outcome,
            profiles_passed: self.profiles_passed,
            profiles_failed: self.profiles_failed,
            waived: self.waived,
            subject: self.subject,
            policy: self.policy,
            harness: self.harness,
            environment: self.environment,
            run: self.run,
            run_started: self.run_started,
            envelope: self.envelope,
            verified_at: self.verified_at,
            expires_at: self.expires_at,
            standing,
            recorded,
        }
    }
}
