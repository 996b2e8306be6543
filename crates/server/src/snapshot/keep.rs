//! When the file is written, and whether it is believed at a start.

use std::{
    fmt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::Index;
use ostiary_canon::{Digest, Revision, dsse::Keyring};
use ostiary_domain::{Clock, Signer, Store, StoreError};

use super::{Claim, SnapshotError, fill, open, write};
use crate::error::chain;

/// Keeps the file in step with an index, now and then.
pub struct Keeper {
    parts: KeeperParts,
    /// What the file holds, as far as known.
    kept: Mutex<Option<Kept>>,
}

/// What a keeper is made of.
pub struct KeeperParts {
    /// The file.
    pub path: PathBuf,
    /// What is written.
    pub index: Arc<Index>,
    /// Where the audit chain is.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The keys under which entries are judged.
    pub keys: Arc<Keyring>,
    /// Our own key.
    pub signer: Arc<dyn Signer>,
}

#[derive(Clone, Copy)]
struct Kept {
    revision: Revision,
    made_at: Timestamp,
}

// === impl Keeper ===

impl Keeper {
    /// A keeper; `loaded` is the claim of the file that the index was filled from.
    #[must_use]
    pub fn new(parts: KeeperParts, loaded: Option<Claim>) -> Self {
        let kept = loaded.map(|claim| Kept { revision: claim.revision, made_at: claim.made_at });
        Self { parts, kept: Mutex::new(kept) }
    }

    /// The index as the file has it, or an empty one: whatever is wrong with the file is only told.
    pub async fn load(path: &Path, store: &dyn Store, keys: &Keyring) -> (Index, Option<Claim>) {
        match believed(path, store, keys).await {
            Ok(Some((index, claim))) => {
                tracing::info!(revision = %claim.revision, versions = index.len(), "index is read from its snapshot");
                (index, Some(claim))
            }
            Ok(None) => (Index::new(), None),
            Err(error) => {
                let path = path.display();
                tracing::warn!(%path, error = %chain(&error), "snapshot is ignored; the index is filled from the database");
                (Index::new(), None)
            }
        }
    }

    /// Writes the file every `every`, when something changed, until dropped.
    pub async fn run(&self, every: Duration) {
        loop {
            tokio::time::sleep(every).await;
            self.keep().await;
        }
    }

    /// Writes the file, unless it is current. A failure is told; the next start is then slower, and nothing else.
    pub async fn keep(&self) {
        if let Err(error) = self.written().await {
            tracing::warn!(path = %self.parts.path.display(), error = %chain(&error), "snapshot is not written");
        }
    }

    /// How old the file is; `None` when there is none that we know of.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> Option<SignedDuration> {
        self.kept().map(|kept| now.duration_since(kept.made_at))
    }

    async fn written(&self) -> Result<(), SnapshotError> {
        let parts = &self.parts;
        let frozen = parts.index.freeze();
        let (revision, made_at) = (frozen.revision(), parts.clock.now());
        if revision == Revision(0) || self.kept().is_some_and(|kept| kept.revision == revision) {
            return Ok(());
        }
        let audit = audit_hash(parts.store.as_ref(), revision).await?.ok_or(SnapshotError::History(revision))?;
        let (path, keys, signer) = (parts.path.clone(), Arc::clone(&parts.keys), Arc::clone(&parts.signer));
        let writing = move || write(&path, &frozen, audit, (&keys, signer.as_ref()), made_at);
        match tokio::task::spawn_blocking(writing).await {
            Ok(written) => written?,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner) = Some(Kept { revision, made_at });
        Ok(())
    }

    fn kept(&self) -> Option<Kept> {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Keeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Keeper").field("path", &self.parts.path).finish_non_exhaustive()
    }
}

/// The index as the file has it, if the file is ours and of this database.
async fn believed(path: &Path, store: &dyn Store, keys: &Keyring) -> Result<Option<(Index, Claim)>, SnapshotError> {
    let Some(found) = open(path, keys)? else { return Ok(None) };
    let claim = found.claim().clone();
    let (snapshot, database) = (claim.revision, store.revision().await?);
    if snapshot > database {
        return Err(SnapshotError::Newer { snapshot, database });
    }
    if audit_hash(store, snapshot).await? != Some(claim.audit) {
        return Err(SnapshotError::History(snapshot));
    }
    match tokio::task::spawn_blocking(move || fill(found)).await {
        Ok(index) => Ok(Some((index?, claim))),
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// The audit chain's hash at a revision: two databases that agree on it have the same history up to there.
async fn audit_hash(store: &dyn Store, revision: Revision) -> Result<Option<Digest>, StoreError> {
    let before = Revision(revision.0.saturating_sub(1));
    let entries = store.audit(before, 1).await?;
    Ok(entries.into_iter().find(|entry| entry.revision == revision).map(|entry| entry.hash))
}
