//! The hash-chained audit: one entry a revision, so that nothing can be changed, dropped, added or moved unseen.
//!
//! An entry's bytes are kept as they were hashed. Each hash covers a prefix that names the format, the hash before it, and
//! the bytes. The head (revision and hash) stands in the counter row, so a chain that was cut at its end shows, too.

use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};
use serde::{Deserialize, Serialize};

use crate::names::{Actor, Moment};

/// Names the format in every hash.
const PREFIX: &[u8] = b"ostiary.audit/1\n";

/// One entry, as stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// The revision that it belongs to.
    pub revision: Revision,
    /// What it is looked up by: the record's subject, written beside it. Not hashed by itself, so it is held against the
    /// record, which is.
    pub subject: String,
    /// The JSON of a [`Record`], byte for byte as hashed.
    pub bytes: Vec<u8>,
    /// The hash of the entry before it.
    pub previous: Digest,
    /// The entry's own hash.
    pub hash: Digest,
}

/// What an entry says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The revision.
    pub revision: Revision,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: Actor,
    /// What.
    pub action: AuditAction,
    /// About what: a try, an agent, a namespace.
    pub subject: String,
    /// Why, where somebody said so.
    pub reason: Option<String>,
    /// The particulars: states before and after, evidence, holds.
    pub detail: serde_json::Value,
}

/// What is to be audited; the store adds revision and time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditDraft {
    /// Who.
    pub actor: Actor,
    /// What.
    pub action: AuditAction,
    /// About what.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
    /// The particulars.
    pub detail: serde_json::Value,
}

/// What can be in the audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuditAction {
    /// A version was submitted.
    Submit,
    /// A gate was judged, and what follows was done.
    Gate,
    /// A gate was judged, and only its evidence was kept.
    EvidenceKept,
    /// A version was quarantined by an act.
    Quarantine,
    /// A version was deprecated.
    Deprecate,
    /// A submission was withdrawn.
    Withdraw,
    /// A canary went back.
    AbortCanary,
    /// The previous version took over.
    Rollback,
    /// A hold was set.
    SetHold,
    /// A hold was lifted.
    LiftHold,
    /// A gate was asked for.
    RequestGate,
    /// An approval was given.
    Approve,
    /// A waiver was asked for.
    RequestWaiver,
    /// A second person granted a waiver.
    GrantWaiver,
    /// A waiver was revoked, and what rests on it called in.
    RevokeWaiver,
    /// The clock brought something about that people are told of.
    Notice,
    /// A router told of something that differs from what was admitted.
    ReportDrift,
    /// The control plane looked at a card itself, and something followed.
    Revalidate,
    /// A receiver of happenings was registered.
    PutWebhook,
    /// A receiver of happenings was taken away.
    RemoveWebhook,
    /// A namespace was made or changed.
    PutNamespace,
    /// An agent was made or changed.
    PutAgent,
    /// An environment was registered or changed.
    PutEnvironment,
    /// A token was made or changed.
    PutToken,
    /// A token was taken away.
    RevokeToken,
    /// A policy came into force.
    PutPolicy,
}

/// How a chain is broken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuditError {
    /// A revision is missing, or out of place.
    #[error("entry {found} stands where {expected} should: an entry was removed, added or moved")]
    Gap {
        /// The revision that should be there.
        expected: Revision,
        /// The one that is.
        found: Revision,
    },
    /// An entry does not follow the one before it.
    #[error("entry {0} does not follow the entry before it")]
    Link(Revision),
    /// An entry's bytes are not the ones that were hashed.
    #[error("entry {0} was changed after it was written")]
    Changed(Revision),
    /// An entry's bytes say something else than their place.
    #[error("entry {0} is no audit record of that revision")]
    Unreadable(Revision),
    /// An entry is filed under something else than it is about, so whoever looks there misses it.
    #[error("entry {0} is filed under another subject than it is about")]
    Misfiled(Revision),
    /// The chain ends elsewhere than the counter row says.
    #[error("the chain ends at {found}, and the head says {expected}")]
    Head {
        /// By the counter row.
        expected: Revision,
        /// By the chain.
        found: Revision,
    },
}

/// The hash before the first entry.
#[must_use]
pub fn genesis() -> Digest {
    Digest::of(PREFIX)
}

/// Verifies `entries`, which are to follow (`after`, `previous`) and to end in `head`.
///
/// # Errors
/// The first break, with the revision where it shows.
pub fn verify(
    after: (Revision, Digest),
    entries: &[AuditEntry],
    head: Option<(Revision, Digest)>,
) -> Result<(Revision, Digest), AuditError> {
    let mut last = after;
    for entry in entries {
        entry.follows(last)?;
        last = (entry.revision, entry.hash);
    }
    match head {
        Some(head) if head != last => Err(AuditError::Head { expected: head.0, found: last.0 }),
        _ => Ok(last),
    }
}

// === impl AuditDraft ===

impl AuditDraft {
    /// The entry that follows the one with hash `previous`.
    #[must_use]
    pub fn entry(self, at: Moment, previous: Digest) -> AuditEntry {
        let Self { actor, action, subject, reason, detail } = self;
        let record = Record { revision: at.revision, at: at.time, actor, action, subject, reason, detail };
        let subject = record.subject.clone();
        let bytes = serde_json::to_vec(&record).expect("an audit record holds only texts and JSON values");
        let hash = hash(previous, &bytes);
        AuditEntry { revision: at.revision, subject, bytes, previous, hash }
    }
}

// === impl AuditEntry ===

impl AuditEntry {
    /// What the entry says.
    ///
    /// # Errors
    /// When its bytes are no record of its revision.
    pub fn record(&self) -> Result<Record, AuditError> {
        let record: Record = serde_json::from_slice(&self.bytes).map_err(|_| AuditError::Unreadable(self.revision))?;
        if record.revision == self.revision { Ok(record) } else { Err(AuditError::Unreadable(self.revision)) }
    }

    fn follows(&self, (revision, previous): (Revision, Digest)) -> Result<(), AuditError> {
        let expected = Revision(revision.0 + 1);
        if self.revision != expected {
            return Err(AuditError::Gap { expected, found: self.revision });
        }
        if self.previous != previous {
            return Err(AuditError::Link(self.revision));
        }
        if self.hash != hash(previous, &self.bytes) {
            return Err(AuditError::Changed(self.revision));
        }
        if self.record()?.subject == self.subject { Ok(()) } else { Err(AuditError::Misfiled(self.revision)) }
    }
}

fn hash(previous: Digest, bytes: &[u8]) -> Digest {
    let mut hashed = Vec::with_capacity(PREFIX.len() + 32 + bytes.len());
    hashed.extend_from_slice(PREFIX);
    hashed.extend_from_slice(previous.as_bytes());
    hashed.extend_from_slice(bytes);
    Digest::of(&hashed)
}

#[cfg(test)]
mod tests {
    use ostiary_canon::Revision;
    use serde_json::json;

    use super::{AuditAction, AuditDraft, AuditEntry, AuditError, genesis, verify};
    use crate::sample::{moment, operator};

    fn chain(length: u64) -> Vec<AuditEntry> {
        let mut last = genesis();
        let next = |revision| {
            let detail = json!({"number": revision});
            let draft = AuditDraft {
                actor: operator(),
                action: AuditAction::Submit,
                subject: "acme/planner".into(),
                reason: None,
                detail,
            };
            let entry = draft.entry(moment(0, revision), last);
            last = entry.hash;
            entry
        };
        (1..=length).map(next).collect()
    }

    fn broken(spoil: impl FnOnce(&mut Vec<AuditEntry>)) -> AuditError {
        let mut entries = chain(5);
        let head = entries.last().map(|e| (e.revision, e.hash));
        spoil(&mut entries);
        verify((Revision(0), genesis()), &entries, head).expect_err("the chain is broken")
    }

    #[test]
    fn an_honest_chain_verifies_also_in_two_parts() {
        let entries = chain(5);
        let head = (Revision(5), entries[4].hash);
        assert_eq!(verify((Revision(0), genesis()), &entries, Some(head)), Ok(head));
        let half = verify((Revision(0), genesis()), &entries[..2], None).unwrap();
        assert_eq!(verify(half, &entries[2..], Some(head)), Ok(head));
    }

    #[test]
    fn edits_deletions_moves_and_cuts_are_found() {
        let (third, gap) =
            (Revision(3), |expected, found| AuditError::Gap { expected: Revision(expected), found: Revision(found) });
        assert_eq!(broken(|e| e[2].bytes[0] ^= 1), AuditError::Changed(third));
        assert_eq!(broken(|e| drop(e.remove(2))), gap(3, 4));
        assert_eq!(broken(|e| e.swap(2, 3)), gap(3, 4));
        assert_eq!(broken(|e| drop(e.pop())), AuditError::Head { expected: Revision(5), found: Revision(4) });
        assert_eq!(broken(|e| e[2].previous = genesis()), AuditError::Link(third));
        assert_eq!(broken(|e| e[2].subject = "acme/other".into()), AuditError::Misfiled(third));
        let renumbered = broken(|e| {
            let removed = e.remove(2);
            e[2].revision = removed.revision;
        });
        assert_eq!(renumbered, AuditError::Link(third));
    }

    #[test]
    fn an_entry_that_was_written_anew_with_its_hash_breaks_the_next() {
        let error = broken(|entries| {
            let mut record = entries[2].record().unwrap();
            record.actor.name = "nobody".into();
            let draft = AuditDraft {
                actor: record.actor,
                action: record.action,
                subject: record.subject,
                reason: record.reason,
                detail: record.detail,
            };
            entries[2] = draft.entry(moment(0, 3), entries[1].hash);
        });
        assert_eq!(error, AuditError::Link(Revision(4)));
    }
}
