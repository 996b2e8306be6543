//! Recordings by digest, outside the database: they are large, written once and seldom read.

use std::{fs, path::Path, sync::Arc};

use bytes::Bytes;
use object_store::{ObjectStore, ObjectStoreExt as _, local::LocalFileSystem, path::Path as Key};
use ostiary_canon::Digest;

/// The recordings of one installation.
#[derive(Clone, Debug)]
pub struct Recordings {
    store: Arc<dyn ObjectStore>,
}

/// Why a recording could not be kept or found.
#[derive(Debug, thiserror::Error)]
pub enum RecordingsError {
    /// The object store does not work.
    #[error("failed to {what} a recording")]
    Store {
        /// What was tried.
        what: &'static str,
        /// Why it failed.
        #[source]
        source: object_store::Error,
    },
    /// The directory cannot be made.
    #[error("failed to make the directory of recordings")]
    Directory(#[source] std::io::Error),
    /// What is kept under the digest has another one.
    #[error("recording `{0}` is damaged: its bytes have another digest")]
    Damaged(Digest),
}

// === impl Recordings ===

impl Recordings {
    /// Recordings in a local directory, which is made if it is missing.
    ///
    /// # Errors
    /// When the directory cannot be made or used.
    pub fn in_directory(path: &Path) -> Result<Self, RecordingsError> {
        fs::create_dir_all(path).map_err(RecordingsError::Directory)?;
        // Evidence names a recording by digest for ever, so it must survive what the evidence survives.
        let store = LocalFileSystem::new_with_prefix(path).map_err(failed("open"))?.with_fsync(true);
        Ok(Self::over(Arc::new(store)))
    }

    /// Recordings in any object store.
    #[must_use]
    pub fn over(store: Arc<dyn ObjectStore>) -> Self {
        Self { store }
    }

    /// Keeps a recording; keeping the same twice is the same.
    ///
    /// # Errors
    /// When the store does not work.
    pub async fn keep(&self, bytes: Bytes) -> Result<Digest, RecordingsError> {
        let digest = Digest::of(&bytes);
        self.store.put(&key(digest), bytes.into()).await.map_err(failed("keep"))?;
        Ok(digest)
    }

    /// The recording of that digest.
    ///
    /// # Errors
    /// When the store does not work, or what it holds is damaged.
    pub async fn find(&self, digest: Digest) -> Result<Option<Bytes>, RecordingsError> {
        let found = match self.store.get(&key(digest)).await {
            Ok(found) => found.bytes().await.map_err(failed("read"))?,
            Err(object_store::Error::NotFound { .. }) => return Ok(None),
            Err(error) => return Err(failed("find")(error)),
        };
        if Digest::of(&found) == digest { Ok(Some(found)) } else { Err(RecordingsError::Damaged(digest)) }
    }
}

fn failed(what: &'static str) -> impl FnOnce(object_store::Error) -> RecordingsError {
    move |source| RecordingsError::Store { what, source }
}

/// Two levels, so that no directory holds more than a few thousand entries.
fn key(digest: Digest) -> Key {
    let hex = digest.hex();
    Key::from(format!("runs/{}/{hex}.json", &hex[..2]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn recording_is_found_under_its_digest_and_nothing_else() {
        let dir = tempfile::tempdir().expect("a directory");
        let recordings = Recordings::in_directory(dir.path()).expect("opens");
        let digest = recordings.keep(Bytes::from_static(b"{}")).await.expect("kept");
        assert_eq!(recordings.find(digest).await.expect("reads"), Some(Bytes::from_static(b"{}")));
        assert_eq!(recordings.find(Digest::of(b"other")).await.expect("reads"), None);
    }

    #[tokio::test]
    async fn damaged_recording_is_reported_and_not_served() {
        let dir = tempfile::tempdir().expect("a directory");
        let recordings = Recordings::in_directory(dir.path()).expect("opens");
        let digest = recordings.keep(Bytes::from_static(b"{}")).await.expect("kept");
        let hex = digest.hex();
        fs::write(dir.path().join("runs").join(&hex[..2]).join(format!("{hex}.json")), "[]").expect("overwritten");
        assert!(matches!(recordings.find(digest).await, Err(RecordingsError::Damaged(d)) if d == digest));
    }
}
