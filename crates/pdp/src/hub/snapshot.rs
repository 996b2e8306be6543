//! All that a scope holds at one revision, handed out a chunk at a time and without a lock.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use ostiary_admission::{Frozen, ViewScope};
use ostiary_canon::Revision;

use super::ring::SignedHead;

/// Largest chunk, in bytes of entries; a single larger entry makes a chunk of its own.
pub(crate) const CHUNK: usize = 256 << 10;

/// Most a chunk's framing takes: a tag and a length for each entry.
const FRAME: usize = 6;

/// A snapshot on its way.
pub(crate) struct Snapshot {
    frozen: Arc<Frozen>,
    scope: ViewScope,
    part: usize,
    /// Entries of the last part that did not fit.
    rest: VecDeque<Bytes>,
    pub(crate) entries: u64,
    pub(crate) head: SignedHead,
}

// === impl Snapshot ===

impl Snapshot {
    pub(super) fn new(frozen: Arc<Frozen>, scope: ViewScope, entries: u64, head: SignedHead) -> Self {
        Self { frozen, scope, part: 0, rest: VecDeque::new(), entries, head }
    }

    /// The revision.
    pub(crate) fn revision(&self) -> Revision {
        self.frozen.revision()
    }

    /// The next entries; `None` after the last.
    pub(crate) fn chunk(&mut self) -> Option<Vec<Bytes>> {
        let (mut chunk, mut size) = (Vec::new(), 0);
        loop {
            while let Some(entry) = self.rest.pop_front() {
                size += entry.len() + FRAME;
                if size > CHUNK && !chunk.is_empty() {
                    self.rest.push_front(entry);
                    return Some(chunk);
                }
                chunk.push(entry);
            }
            if self.part == self.frozen.parts() {
                return (!chunk.is_empty()).then_some(chunk);
            }
            self.rest.extend(self.frozen.part(self.part, &self.scope).map(|(_, bytes)| bytes));
            self.part += 1;
        }
    }
}
