//! An entry as a stream brought it: understood, or denied.

use bytes::Bytes;
use ostiary_canon::{Digest, Revision};

use super::{NotUnderstood, denying, leaf, read_entry};
use crate::{index::Change, mode::Enforcement, subject::Subject};

/// An entry as a stream brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// What to apply: what it says, or, where that is not understood, what denies its subject.
    pub change: Change,
    /// Digest of the bytes as they were sent; it counts in the tree unless the change is a removal.
    pub leaf: Digest,
    /// Set when `change` only stands in for what was sent.
    pub strange: Option<Box<Strange>>,
}

/// What was sent and not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Strange {
    /// The bytes, to pass on as they came.
    pub bytes: Bytes,
    /// What is not understood.
    pub why: NotUnderstood,
}

// === impl Sent ===

impl Sent {
    /// Reads an entry; one that is not understood becomes one that denies its subject at `revision`.
    ///
    /// # Errors
    /// When not even its subject can be read: then nothing that was sent with it may be applied.
    pub fn read(bytes: &Bytes, revision: Revision) -> Result<Self, NotUnderstood> {
        let leaf = leaf(bytes);
        let error = match read_entry(bytes) {
            Ok(change) => return Ok(Self { change, leaf, strange: None }),
            Err(error) => error,
        };
        let change = match error.about.clone() {
            Some(Subject::Version(agent, version)) => Change::Upsert(denying(agent, version, revision)),
            Some(Subject::Namespace(namespace)) => Change::Enforce(namespace, Enforcement::Enforce),
            None => return Err(error),
        };
        Ok(Self { change, leaf, strange: Some(Box::new(Strange { bytes: bytes.clone(), why: error })) })
    }

    /// The leaf that its subject has in a tree from now on; `None` when it is gone.
    #[must_use]
    pub fn new_leaf(&self) -> Option<Digest> {
        (!matches!(self.change, Change::Remove(..))).then_some(self.leaf)
    }
}
