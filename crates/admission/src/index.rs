//! All records in memory: read without waiting, changed one shard at a time.
//!
//! A check loads one shard's pointer and looks its record up; it takes no lock, and a publish never makes it wait.
//! A publish copies only the shards that it changes, a few hundred pointers each, never the map. All versions of an
//! agent live in one shard, so that a promotion or rollback is seen as a whole or not at all.

mod frozen;
mod shard;
mod turns;
mod writer;

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use hashbrown::{DefaultHashBuilder, HashMap};
use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, Revision, VersionLabel};

pub use self::frozen::Frozen;
use self::{shard::Shard, turns::Turns, writer::Writer};
use crate::{
    mode::{Enforcement, Freshness},
    query::Query,
    record::AdmissionRecord,
    subject::Subject,
    view::View,
    wire::{Sent, entry_bytes, leaf, record_bytes},
};

/// How many shards there are. At a million versions each holds about 250 records: copying one takes microseconds, and
/// an empty index costs 64 KiB.
const SHARDS: usize = 4096;

/// One change of what is admitted.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every change is an upsert, and a box would cost each an allocation"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// This is now known of a version.
    Upsert(AdmissionRecord),
    /// Nothing is known of a version any more.
    Remove(AgentId, VersionLabel),
    /// A namespace's enforcement.
    Enforce(Box<str>, Enforcement),
}

/// What a publish cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Published {
    /// How many shards were copied.
    pub shards: usize,
    /// How many records those shards hold: pointers that were copied.
    pub records: usize,
}

/// Why a batch is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PublishError {
    /// The view is already newer: going back could bring a quarantined version back.
    #[error("the batch is of revision {offered}, the view already of {current}")]
    Older {
        /// The batch's revision.
        offered: Revision,
        /// The view's revision.
        current: Revision,
    },
}

/// The records of all versions.
pub struct Index {
    shards: Box<[ArcSwap<Shard>]>,
    enforcement: ArcSwap<HashMap<Box<str>, Enforcement>>,
    /// Whether any namespace is not simply enforced: seldom, and then nothing is looked up.
    softened: AtomicBool,
    hasher: DefaultHashBuilder,
    revision: AtomicU64,
    /// Milliseconds since the epoch, rounded down.
    lease_until: AtomicI64,
    turns: Turns,
    writer: Mutex<Writer>,
}

// === impl Index ===

impl Index {
    /// An index that knows nothing and whose lease is over: it denies everything.
    #[must_use]
    pub fn new() -> Self {
        let empty = Arc::new(Shard::default());
        Self {
            shards: (0..SHARDS).map(|_| ArcSwap::new(Arc::clone(&empty))).collect(),
            enforcement: ArcSwap::default(),
            softened: AtomicBool::new(false),
            hasher: DefaultHashBuilder::default(),
            revision: AtomicU64::new(0),
            lease_until: AtomicI64::new(i64::MIN),
            turns: Turns::default(),
            writer: Mutex::default(),
        }
    }

    /// Applies a batch and raises the view to `revision`. The same batch may be applied again.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn publish(
        &self,
        batch: impl IntoIterator<Item = Change>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        self.publish_for(batch.into_iter().map(|change| (change, None)), revision)
    }

    /// The same, from entries as a stream brought them: the bytes of those that were not understood are remembered.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn publish_sent(
        &self,
        batch: impl IntoIterator<Item = Sent>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        self.publish_for(batch.into_iter().map(writer::with_strange_bytes), revision)
    }

    /// The same, each change with the bytes of the entry that it stands in for, where it stands in for one.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn publish_for(
        &self,
        batch: impl IntoIterator<Item = (Change, Option<Bytes>)>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        let mut writer = self.writer();
        self.refuse_older(revision)?;
        let mut touched: HashMap<usize, Shard> = HashMap::new();
        let mut enforcement = None;
        for (change, strange) in batch {
            writer.remember(&change, strange);
            match change {
                Change::Upsert(record) => {
                    let record = Arc::new(writer.interned(record));
                    let shard = self.touched(&mut touched, record.agent.as_str());
                    writer.len += usize::from(!shard.upsert(&self.hasher, record));
                }
                Change::Remove(agent, version) => {
                    let shard = self.touched(&mut touched, agent.as_str());
                    writer.len -= usize::from(shard.remove(&self.hasher, agent.as_str(), version.as_str()));
                }
                Change::Enforce(namespace, mode) => {
                    let modes = enforcement.get_or_insert_with(|| (**self.enforcement.load()).clone());
                    modes.insert(namespace, mode);
                }
            }
        }
        let published = Published { shards: touched.len(), records: touched.values().map(Shard::len).sum() };
        let _turn = self.turns.begin();
        if let Some(modes) = enforcement {
            self.set_modes(modes);
        }
        for (at, shard) in touched {
            self.shards[at].store(Arc::new(shard));
        }
        // Last: who reads this revision sees every shard of it.
        self.revision.store(revision.0, Ordering::Release);
        Ok(published)
    }

    /// Replaces everything that is known by a snapshot; who checks meanwhile sees each shard old or new.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn replace(
        &self,
        snapshot: impl IntoIterator<Item = Change>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        let writer = self.writer();
        self.refuse_older(revision)?;
        Ok(self.exchange(writer, snapshot.into_iter().map(|change| (change, None)), revision))
    }

    /// The same, from entries as a stream brought them.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn replace_sent(
        &self,
        snapshot: impl IntoIterator<Item = Sent>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        let writer = self.writer();
        self.refuse_older(revision)?;
        Ok(self.exchange(writer, snapshot.into_iter().map(writer::with_strange_bytes), revision))
    }

    /// The same, also where the view is newer: for whoever passes on a copy that went back behind what nobody had signed.
    pub fn restart_sent(&self, snapshot: impl IntoIterator<Item = Sent>, revision: Revision) -> Published {
        self.exchange(self.writer(), snapshot.into_iter().map(writer::with_strange_bytes), revision)
    }

    fn exchange(
        &self,
        mut writer: MutexGuard<'_, Writer>,
        snapshot: impl Iterator<Item = (Change, Option<Bytes>)>,
        revision: Revision,
    ) -> Published {
        let mut shards: Vec<Shard> = (0..SHARDS).map(|_| Shard::default()).collect();
        let mut modes = HashMap::new();
        let mut len = 0;
        writer.forget_strange();
        for (change, strange) in snapshot {
            writer.remember(&change, strange);
            match change {
                Change::Upsert(record) => {
                    let record = Arc::new(writer.interned(record));
                    let at = self.shard_of(record.agent.as_str());
                    len += usize::from(!shards[at].upsert(&self.hasher, record));
                }
                Change::Remove(agent, version) => {
                    let at = self.shard_of(agent.as_str());
                    len -= usize::from(shards[at].remove(&self.hasher, agent.as_str(), version.as_str()));
                }
                Change::Enforce(namespace, mode) => _ = modes.insert(namespace, mode),
            }
        }
        writer.len = len;
        let _turn = self.turns.begin();
        self.set_modes(modes);
        for (slot, shard) in self.shards.iter().zip(shards) {
            slot.store(Arc::new(shard));
        }
        self.revision.store(revision.0, Ordering::Release);
        Published { shards: SHARDS, records: len }
    }

    /// The view may be decided on until `until`; a lease is never shortened.
    pub fn extend_lease(&self, until: Timestamp) {
        self.lease_until.fetch_max(until.as_millisecond(), Ordering::AcqRel);
    }

    /// What `look` finds, and the revision that all of it is of; `None` when something was published meanwhile.
    pub fn undisturbed<T>(&self, look: impl FnOnce() -> T) -> Option<(T, Revision)> {
        self.turns.undisturbed(|| (look(), self.revision()))
    }

    /// The view's revision.
    #[must_use]
    pub fn revision(&self) -> Revision {
        Revision(self.revision.load(Ordering::Acquire))
    }

    /// How many versions are known.
    #[must_use]
    pub fn len(&self) -> usize {
        self.writer().len
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record of a version.
    #[must_use]
    pub fn get(&self, agent: &str, version: &str) -> Option<Arc<AdmissionRecord>> {
        self.shards[self.shard_of(agent)].load().get(&self.hasher, agent, version).cloned()
    }

    /// All versions of an agent: what tells a roll-out from drift.
    #[must_use]
    pub fn versions_of(&self, agent: &str) -> Vec<Arc<AdmissionRecord>> {
        let shard = self.shards[self.shard_of(agent)].load();
        shard.iter().filter(|record| record.agent.as_str() == agent).cloned().collect()
    }

    /// Hands each record to `visit`, shard by shard: for snapshots.
    pub fn for_each(&self, mut visit: impl FnMut(&Arc<AdmissionRecord>)) {
        for shard in &self.shards {
            shard.load().iter().for_each(&mut visit);
        }
    }

    /// The enforcement that is set for a namespace; `None` where none was ever told.
    #[must_use]
    pub fn enforcement_set(&self, namespace: &str) -> Option<Enforcement> {
        self.enforcement.load().get(namespace).copied()
    }

    /// The bytes of the entry about `subject` now; `None` when nothing is known of it. Made anew from what is known, so
    /// that a million versions need not keep theirs; only what was not understood is kept as it was sent.
    #[must_use]
    pub fn entry(&self, subject: &Subject) -> Option<Bytes> {
        if let Some(strange) = self.writer().strange(subject) {
            return Some(strange);
        }
        match subject {
            Subject::Version(agent, version) => {
                self.read(agent.as_str(), version.as_str(), |record| record.map(record_bytes))
            }
            Subject::Namespace(namespace) => {
                self.enforcement_set(namespace).map(|mode| entry_bytes(&Change::Enforce(namespace.clone(), mode)))
            }
        }
    }

    /// The leaf that `subject` has in a tree now; `None` when nothing is known of it.
    #[must_use]
    pub fn leaf(&self, subject: &Subject) -> Option<Digest> {
        self.entry(subject).map(|bytes| leaf(&bytes))
    }

    /// The view as it is now, for whoever takes long to go through it: a pointer for each shard, no record copied.
    #[must_use]
    pub fn freeze(&self) -> Frozen {
        let writer = self.writer();
        Frozen::new(
            self.shards.iter().map(ArcSwap::load_full).collect(),
            self.enforcement.load_full(),
            writer.all_strange(),
            self.revision(),
        )
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn refuse_older(&self, offered: Revision) -> Result<(), PublishError> {
        let current = self.revision();
        if offered < current { Err(PublishError::Older { offered, current }) } else { Ok(()) }
    }

    fn touched<'t>(&self, touched: &'t mut HashMap<usize, Shard>, agent: &str) -> &'t mut Shard {
        let at = self.shard_of(agent);
        touched.entry(at).or_insert_with(|| (**self.shards[at].load()).clone())
    }

    /// Whoever reads in between takes the stricter of both.
    fn set_modes(&self, modes: HashMap<Box<str>, Enforcement>) {
        let softened = modes.values().any(|mode| *mode != Enforcement::Enforce);
        if !softened {
            self.softened.store(false, Ordering::Release);
        }
        self.enforcement.store(Arc::new(modes));
        if softened {
            self.softened.store(true, Ordering::Release);
        }
    }

    fn shard_of(&self, agent: &str) -> usize {
        shard::agent_hash(&self.hasher, agent) as usize % SHARDS
    }
}

impl Default for Index {
    fn default() -> Self {
        Self::new()
    }
}

impl View for Index {
    fn freshness(&self) -> Freshness {
        let lease = self.lease_until.load(Ordering::Acquire);
        Freshness {
            revision: self.revision(),
            lease_until: Timestamp::from_millisecond(lease).unwrap_or(Timestamp::MIN),
            at_least: None,
        }
    }

    fn enforcement_of(&self, query: &Query<'_>) -> Enforcement {
        if self.softened.load(Ordering::Acquire) { self.enforcement(query.namespace()) } else { Enforcement::Enforce }
    }

    fn enforcement(&self, namespace: &str) -> Enforcement {
        self.enforcement.load().get(namespace).copied().unwrap_or_default()
    }

    fn read<R>(&self, agent: &str, version: &str, read: impl FnOnce(Option<&AdmissionRecord>) -> R) -> R {
        let shard = self.shards[self.shard_of(agent)].load();
        read(shard.get(&self.hasher, agent, version).map(|record| &**record))
    }
}
