//! The index at one revision, held still while the index itself goes on.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::HashMap;
use ostiary_canon::Revision;

use super::{Change, shard::Shard};
use crate::{
    head::ViewScope,
    mode::Enforcement,
    record::AdmissionRecord,
    subject::{ShardNumber, Subject},
    tree::Tree,
    wire::{entry_bytes, leaf, record_bytes},
};

/// The index at one revision. Holding it keeps the records of that revision in memory.
#[derive(Clone)]
pub struct Frozen {
    shards: Box<[Arc<Shard>]>,
    enforcement: Arc<HashMap<Box<str>, Enforcement>>,
    strange: HashMap<Subject, Bytes>,
    revision: Revision,
}

// === impl Frozen ===

impl Frozen {
    pub(super) const fn new(
        shards: Box<[Arc<Shard>]>,
        enforcement: Arc<HashMap<Box<str>, Enforcement>>,
        strange: HashMap<Subject, Bytes>,
        revision: Revision,
    ) -> Self {
        Self { shards, enforcement, strange, revision }
    }

    /// The revision.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// How many parts it has, to go through it a part at a time.
    #[must_use]
    pub fn parts(&self) -> usize {
        self.shards.len() + 1
    }

    /// The entries of one part that are in `scope`: all versions of some agents, and last all enforcements. None past the
    /// last part.
    pub fn part<'f>(&'f self, at: usize, scope: &'f ViewScope) -> impl Iterator<Item = (ShardNumber, Bytes)> + 'f {
        let records = self.shards.get(at).into_iter().flat_map(|shard| shard.iter());
        let records = records.filter(|record| scope.holds(record.agent.namespace()));
        let modes = (at == self.shards.len()).then_some(&*self.enforcement).into_iter().flatten();
        let modes = modes.filter(|(namespace, _)| scope.holds(namespace));
        records.map(|record| self.record(record)).chain(modes.map(|(namespace, mode)| self.mode(namespace, *mode)))
    }

    /// The tree over all entries of a scope: a digest for each.
    #[must_use]
    pub fn tree(&self, scope: &ViewScope) -> Tree {
        let entries = (0..self.parts()).flat_map(|part| self.part(part, scope));
        entries.map(|(shard, bytes)| (shard, leaf(&bytes))).collect()
    }

    fn record(&self, record: &AdmissionRecord) -> (ShardNumber, Bytes) {
        let strange = self.strange_of(|| Subject::Version(record.agent.clone(), record.version.clone()));
        (ShardNumber::of_agent(&record.agent), strange.unwrap_or_else(|| record_bytes(record)))
    }

    fn mode(&self, namespace: &str, mode: Enforcement) -> (ShardNumber, Bytes) {
        let strange = self.strange_of(|| Subject::Namespace(namespace.into()));
        let own = || entry_bytes(&Change::Enforce(namespace.into(), mode));
        (ShardNumber::of_namespace(namespace), strange.unwrap_or_else(own))
    }

    fn strange_of(&self, subject: impl FnOnce() -> Subject) -> Option<Bytes> {
        if self.strange.is_empty() { None } else { self.strange.get(&subject()).cloned() }
    }
}
