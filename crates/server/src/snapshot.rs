//! The index on disk, so that a restarted server answers soon: it reads this file and then only what changed since.
//!
//! Nothing in the file is believed for being there. A signed claim stands first: which revision, the root over all
//! entries, under which keys their signatures were judged, and the hash of the audit chain at that revision. The file
//! counts only when our own key signed the claim, the entries give its root, and the database has the same history; a
//! database that was restored or belongs to somebody else has another hash there, or none. Whatever is not so is told in
//! one line, and the index is filled from the database as if there were no file.
//!
//! Bytes: `OSTIARY\x01`, the claim's envelope (its length as four bytes, big-endian, then zeros up to 8 KiB), then frames:
//! a length, and entries in their wire form, each behind its length.

mod keep;
mod read;
mod write;

use std::{io, path::PathBuf};

use jiff::Timestamp;
use ostiary_admission::wire::NotUnderstood;
use ostiary_canon::{
    Digest, Revision,
    dsse::{DsseError, EnvelopeError, Keyring},
};
use ostiary_domain::{StoreError, ports::SignError};
use serde::{Deserialize, Serialize};

pub use keep::{Keeper, KeeperParts};
pub use read::{Found, fill, open};
pub use write::write;

/// Name of the file in the data directory.
pub const FILE: &str = "admission.snapshot";

/// The payload type of a claim. A signature over anything else says nothing about files.
const CLAIM_TYPE: &str = "application/vnd.ostiary.index-snapshot.v1+json";

/// Raise it whenever the domain's `project` tells something else of the same version: files of before are then ignored.
const PROJECTION: u32 = 1;

const MAGIC: &[u8; 8] = b"OSTIARY\x01";

/// Room for the magic, the claim and its length.
const HEAD: usize = 8 << 10;

/// A frame is ended when it has this many bytes.
const FRAME: usize = 256 << 10;

/// Largest frame that is read: one entry may be larger than a frame is meant to be.
const LARGEST_FRAME: usize = 4 << 20;

/// What is signed about a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Hash of the audit chain at `revision`: which history this is.
    pub audit: Digest,
    /// How many entries there are.
    pub entries: u64,
    /// The keys under which the entries' signatures were judged.
    pub keys: Digest,
    /// When it was made.
    pub made_at: Timestamp,
    /// Which rules made entries of versions.
    pub projection: u32,
    /// The revision.
    pub revision: Revision,
    /// Root over all entries.
    pub root: Digest,
}

/// Why a file is not used, or was not written.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// The disk.
    #[error("`{}` cannot be read or written", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It ends early, or has bytes that we do not write.
    #[error("it is damaged: {0}")]
    Damaged(&'static str),
    /// Its claim is no envelope.
    #[error("its claim is no envelope")]
    Envelope(#[from] EnvelopeError),
    /// Its claim is signed by nobody that we trust.
    #[error("its claim is not signed by our key")]
    Signature(#[from] DsseError),
    /// Signed, but no claim of this version.
    #[error("its claim is of another version: {0}")]
    Claim(String),
    /// Other keys or other rules than today's.
    #[error("it was made under {0}")]
    Made(&'static str),
    /// An entry that is none.
    #[error("an entry is damaged")]
    Entry(#[from] NotUnderstood),
    /// The entries are not those that were signed.
    #[error("its entries are not those that were signed")]
    Root,
    /// The database is older.
    #[error(
        "it is of revision {snapshot}, the database only of {database}: the database was restored, or is another one"
    )]
    Newer {
        /// The file's.
        snapshot: Revision,
        /// The database's.
        database: Revision,
    },
    /// The database has another history.
    #[error("the database has another history at revision {0}: it was restored, or is another one")]
    History(Revision),
    /// The database does not answer.
    #[error("the database cannot say whether it is current")]
    Store(#[from] StoreError),
    /// Our key cannot be used.
    #[error(transparent)]
    Sign(#[from] SignError),
}

// === impl Claim ===

impl Claim {
    /// Whether entries are judged and made today as they were for this claim.
    fn is_of_today(&self, keys: &Keyring) -> Result<(), SnapshotError> {
        if self.keys != key_set(keys) {
            return Err(SnapshotError::Made("other keys"));
        }
        if self.projection == PROJECTION { Ok(()) } else { Err(SnapshotError::Made("other rules")) }
    }
}

/// Stands for the keys that are believed: a key that is added or revoked gives another one.
fn key_set(keys: &Keyring) -> Digest {
    let ids: Vec<String> = keys.trusted().map(|key| key.key_id().to_string()).collect();
    Digest::of(ids.join(" ").as_bytes())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostiary_admission::{
        AdmissionRecord, Change, Evidence, Index, ProfileGrant, SignatureStatus, State, View as _, ViewScope,
    };
    use ostiary_canon::{AgentId, Profile, dsse::SigningKey, intoto::AdmissionClass};

    use super::*;
    use crate::system::KeySigner;

    /// Eight versions an agent, four profiles each, as a large installation has them.
    fn record(n: u64) -> AdmissionRecord {
        let digest = |of: &str| Digest::of(format!("{of} {n}").as_bytes());
        let grant = |tenant: u64| ProfileGrant {
            profile: Arc::new(format!("a2a-jsonrpc-1.0/user/tier-{tenant}").parse::<Profile>().expect("a profile")),
            expires_at: Timestamp::from_second(2_000_000_000).expect("a time"),
        };
        AdmissionRecord {
            agent: AgentId::new(&format!("team-{}", n % 97), &format!("agent-{}", n / 8)).expect("a name"),
            version: format!("1.{}.0", n % 8).parse().expect("a label"),
            state: State::Active,
            canary_weight: 0,
            evidence: Some(Evidence {
                card_digest: digest("card"),
                contract_digest: digest("contract"),
                producer_digest: digest("producer"),
                evidence_digest: digest("evidence"),
                verified_at: Timestamp::from_second(1_700_000_000).expect("a time"),
                expires_at: Timestamp::from_second(2_000_000_000).expect("a time"),
                profiles: (0..4).map(grant).collect(),
                class: AdmissionClass::Full,
                signature: SignatureStatus::Verified,
                stale: false,
                failed: false,
            }),
            holds: Box::default(),
            sunset: None,
            waived: None,
            revision: Revision(n + 1),
        }
    }

    fn written(versions: u64) -> (tempfile::TempDir, PathBuf, Keyring, Index) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join(FILE);
        let index = Index::new();
        index.replace((0..versions).map(|n| Change::Upsert(record(n))), Revision(versions)).expect("new");
        let key = SigningKey::from_seed([3; 32]);
        let keys = Keyring::trusting([key.verifying_key()]);
        let signer = KeySigner::new(key);
        let audit = Digest::of(b"the chain");
        write(&path, &index.freeze(), audit, (&keys, &signer), Timestamp::UNIX_EPOCH).expect("written");
        (dir, path, keys, index)
    }

    #[test]
    fn what_is_written_is_read() {
        for versions in [1, 2_000] {
            let (_dir, path, keys, index) = written(versions);
            let found = open(&path, &keys).expect("ours").expect("there");
            assert_eq!((found.claim().revision, found.claim().entries), (Revision(versions), versions));
            let read = fill(found).expect("whole");
            let root = |index: &Index| index.freeze().tree(&ViewScope::All).root();
            assert_eq!((read.len(), root(&read)), (index.len(), root(&index)));
            assert_eq!(read.freshness().lease_until.max(Timestamp::UNIX_EPOCH), Timestamp::UNIX_EPOCH, "no lease");
        }
    }

    #[test]
    fn claims_of_other_rules_or_keys_are_not_of_today() {
        let (_dir, path, keys, _) = written(1);
        let claim = open(&path, &keys).expect("ours").expect("there").claim().clone();
        assert!(claim.is_of_today(&keys).is_ok());
        let older = Claim { projection: PROJECTION - 1, ..claim.clone() };
        assert!(matches!(older.is_of_today(&keys), Err(SnapshotError::Made("other rules"))));
        let mut more = keys.clone();
        more.trust(SigningKey::from_seed([4; 32]).verifying_key());
        assert!(matches!(claim.is_of_today(&more), Err(SnapshotError::Made("other keys"))));
        let mut revoked = keys;
        revoked.revoke(SigningKey::from_seed([3; 32]).verifying_key(), Timestamp::UNIX_EPOCH);
        assert!(matches!(open(&path, &revoked), Err(SnapshotError::Signature(DsseError::Revoked { .. }))));
    }
}
