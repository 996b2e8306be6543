//! The one place where a view changes: index, trees and streams go on together.
//!
//! A publish takes one lock, changes the index, hashes what changed in the scopes that somebody watches, and hands one
//! encoded step to all their streams. Snapshots, trees of new scopes and streams are read without that lock.

mod channel;
mod history;
mod missed;
mod ring;
mod snapshot;
mod subscription;

use std::{
    collections::{BTreeSet, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{
    AdmissionRecord, Change, Decision, Frozen, Index, PublishError, Published, Query, Subject, View as _, ViewScope,
    lowers, lowers_enforcement,
    wire::{self, Sent, Strange},
};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::RefusalReason;
use tokio::time::MissedTickBehavior;

use self::{
    channel::{Channel, Entry, Moment},
    history::History,
};
pub(crate) use self::{
    ring::{Delta, Step},
    snapshot::Snapshot,
    subscription::{News, Start, Subscription, Unavailable},
};
use crate::{
    grants::Grants,
    ports::{Clock, HeadSource},
    watchers::{Asked, Floor, Proof, Watchers},
};

/// The view, its trees and its streams.
pub struct Hub {
    index: Arc<Index>,
    clock: Arc<dyn Clock>,
    heads: Arc<dyn HeadSource>,
    state: Mutex<State>,
    /// Only one tree is built at a time: it takes all that one processor has.
    building: tokio::sync::Mutex<()>,
    most_scopes: usize,
    grants: Grants,
    pub(crate) watchers: Watchers,
    pub(crate) counts: Counts,
}

/// Numbers for an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HubCounters {
    /// Open streams.
    pub watching: usize,
    /// Scopes whose trees are kept.
    pub scopes: usize,
    /// Streams that were cut because their reader was too slow.
    pub slow_readers_cut: u64,
    /// Revisions that routers refused.
    pub refused: u64,
    /// The same by reason, in the order of the wire's numbers.
    pub refused_for: [u64; RefusalReason::Scope as usize + 1],
    /// Histories that were asked for and not there.
    pub resyncs: u64,
    /// Snapshots begun.
    pub snapshots: u64,
}

#[derive(Default)]
pub(crate) struct Counts {
    pub(crate) slow_readers_cut: AtomicU64,
    pub(crate) refused: [AtomicU64; RefusalReason::Scope as usize + 1],
    pub(crate) resyncs: AtomicU64,
    pub(crate) snapshots: AtomicU64,
}

#[derive(Default)]
struct State {
    channels: HashMap<ViewScope, Channel>,
    /// Changes since a tree began to be built, for that tree; `None` when none is being built, or when it is in vain.
    journal: Option<Vec<Entry>>,
    /// The index at its revision, if somebody asked since it was reached.
    frozen: Option<Arc<Frozen>>,
    history: History,
}

/// Shortest time between two looks at what is due.
const TICK: Duration = Duration::from_millis(100);

/// Scopes that are kept at the same time: an installation has a few, and a caller who makes names up finds an end.
const SCOPES: usize = 4096;

/// Changes that are remembered for a tree while it is built; past that it is built anew.
const JOURNAL: usize = 100_000;

// === impl Hub ===

impl Hub {
    /// A hub over an index that nobody else publishes to.
    #[must_use]
    pub fn new(index: Arc<Index>, clock: Arc<dyn Clock>, heads: Arc<dyn HeadSource>) -> Self {
        Self {
            index,
            clock,
            heads,
            state: Mutex::default(),
            building: tokio::sync::Mutex::default(),
            most_scopes: SCOPES,
            grants: Grants::new(),
            watchers: Watchers::default(),
            counts: Counts::default(),
        }
    }

    /// The view.
    #[must_use]
    pub const fn index(&self) -> &Arc<Index> {
        &self.index
    }

    /// Now, by the control plane's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Applies a batch, raises the view to `revision` and tells whoever watches. The same batch may be applied again.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn publish(
        &self,
        batch: impl IntoIterator<Item = Change>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        let batch = batch.into_iter().map(|change| (change, None)).collect();
        self.apply(batch, revision)
    }

    /// The same, from entries as an upstream sent them: what was not understood is passed on as it came.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn publish_sent(
        &self,
        batch: impl IntoIterator<Item = Sent>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        let bytes = |strange: Box<Strange>| strange.bytes;
        let batch = batch.into_iter().map(|sent| (sent.change, sent.strange.map(bytes))).collect();
        self.apply(batch, revision)
    }

    /// Replaces everything that is known. Whoever watches gets a snapshot.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn replace(
        &self,
        snapshot: impl IntoIterator<Item = Change>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        self.exchange(|index| index.replace(snapshot, revision))
    }

    /// The same, from entries as an upstream sent them.
    ///
    /// # Errors
    /// When the view is newer than `revision`.
    pub fn replace_sent(
        &self,
        snapshot: impl IntoIterator<Item = Sent>,
        revision: Revision,
    ) -> Result<Published, PublishError> {
        self.exchange(|index| index.replace_sent(snapshot, revision))
    }

    /// The same, also where the view is newer: what lies beyond `revision` was never signed, and what watchers said of it
    /// counts no more.
    pub fn restart_sent(&self, snapshot: impl IntoIterator<Item = Sent>, revision: Revision) {
        // Nothing is older than a restart.
        let _ = self.exchange(|index| Ok(index.restart_sent(snapshot, revision)));
        self.watchers.go_back_to(revision);
    }

    /// Decides one dispatch, and books an ALLOW so that a later quarantine knows until when it may be used.
    #[must_use]
    pub fn decide(&self, query: &Query<'_>, at_least: Option<Revision>) -> Decision {
        self.grants.decide(&self.index, query, at_least, self.now())
    }

    /// Books an ALLOW about `agent` that somebody else decided and that is passed on from here; says whether it may be.
    #[must_use]
    pub fn pass_on(&self, agent: &str, decision: &Decision) -> bool {
        self.grants.book(&self.index, agent, decision)
    }

    /// How far `revision` has come among those who watch or asked here.
    #[must_use]
    pub fn proof(&self, revision: Revision) -> Proof {
        let now = self.clock.passed();
        let state = self.state();
        let answers_until = state.history.answers_until(revision).filter(|until| now < *until);
        let asked = Asked { revision, now, leases_until: state.history.leases_until(revision) };
        let proof = self.watchers.proof(asked, |scope| state.history.concerns(revision, scope));
        Proof { reached: self.index.revision() >= revision, answers_until, ..proof }
    }

    /// What holds for every revision up to the view's: cheaper to tell others than a proof for each.
    #[must_use]
    pub fn floor(&self) -> Floor {
        let now = self.clock.passed();
        let state = self.state();
        let view = self.index.revision();
        let floor = self.watchers.floor(Asked { revision: view, now, leases_until: state.history.leases_until(view) });
        Floor { answers_until: state.history.all_answers_until(), ..floor }
    }

    /// Numbers for an operator.
    #[must_use]
    pub fn counters(&self) -> HubCounters {
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let refused_for = std::array::from_fn(|reason| count(&self.counts.refused[reason]));
        HubCounters {
            watching: self.watchers.connected(),
            scopes: self.state().channels.len(),
            slow_readers_cut: count(&self.counts.slow_readers_cut),
            refused: refused_for.iter().sum(),
            refused_for,
            resyncs: count(&self.counts.resyncs),
            snapshots: count(&self.counts.snapshots),
        }
    }

    /// Sends what is due until dropped: heartbeats every two seconds, and heads for steps that left without one.
    pub async fn run(&self) {
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.tick();
        }
    }

    /// One look at what is due; [`Hub::run`] looks ten times a second.
    pub fn tick(&self) {
        let mut state = self.state();
        let moment = self.moment();
        state.channels.retain(|_, channel| channel.tick(&*self.heads, moment));
        drop(state);
        self.watchers.forget_lapsed(self.clock.passed());
    }

    /// Heartbeats now, to all: a relay passes on what came from upstream.
    pub fn beat(&self) {
        let mut state = self.state();
        let moment = self.moment();
        state.channels.values_mut().for_each(|channel| channel.beat(&*self.heads, moment));
    }

    fn apply(&self, batch: Vec<(Change, Option<Bytes>)>, revision: Revision) -> Result<Published, PublishError> {
        let mut state = self.state();
        let from = self.index.revision();
        if batch.is_empty() && from == revision {
            return self.index.publish([], revision);
        }
        let watched = !state.channels.is_empty() || state.journal.is_some();
        let entries = if watched { self.entries(&batch) } else { Vec::new() };
        let concerned = Concerned::by(&batch, &self.index);
        let published = self.index.publish_for(batch, revision)?;
        state.frozen = None;
        let moment = self.moment();
        // After the publish: an answer that was booked later rests on it.
        let answers = self.grants.until(concerned.agents.iter().map(|agent| &**agent));
        let answers = if concerned.whole_namespaces { moment.lease_until } else { answers };
        state.history.add((from, revision), Some(concerned.namespaces), (answers, moment.lease_until));
        for channel in state.channels.values_mut() {
            channel.step(from, &entries, &*self.heads, moment);
        }
        if let Some(journal) = &mut state.journal {
            journal.extend(entries);
        }
        if state.journal.as_ref().is_some_and(|journal| journal.len() > JOURNAL) {
            state.journal = None;
        }
        Ok(published)
    }

    fn exchange(
        &self,
        replace: impl FnOnce(&Index) -> Result<Published, PublishError>,
    ) -> Result<Published, PublishError> {
        let mut state = self.state();
        let published = replace(&self.index)?;
        state.frozen = None;
        state.journal = None;
        let moment = self.moment();
        // Everything may have changed, at any revision: whoever was answered may use that until the lease ends.
        state.history.add((Revision(0), moment.revision), None, (moment.lease_until, moment.lease_until));
        if !state.channels.is_empty() {
            let frozen = self.index.freeze();
            for (scope, channel) in &mut state.channels {
                channel.replaced(frozen.tree(scope), moment);
            }
        }
        Ok(published)
    }

    /// What a batch changes, one entry for each subject; what stays as it is, is left out.
    fn entries(&self, batch: &[(Change, Option<Bytes>)]) -> Vec<Entry> {
        let mut last: HashMap<Subject, usize> = HashMap::with_capacity(batch.len());
        for (at, (change, _)) in batch.iter().enumerate() {
            last.insert(change.subject(), at);
        }
        let mut chosen: Vec<(usize, Subject)> = last.into_iter().map(|(subject, at)| (at, subject)).collect();
        chosen.sort_unstable_by_key(|(at, _)| *at);
        let entry = |(at, subject): (usize, Subject)| {
            let (change, strange) = &batch[at];
            let bytes = strange.clone().unwrap_or_else(|| wire::entry_bytes(change));
            let old = self.index.leaf(&subject);
            let new = (!matches!(change, Change::Remove(..))).then(|| wire::leaf(&bytes));
            (old != new).then(|| Entry { lowers: self.lowers(change), subject, bytes, old, new })
        };
        chosen.into_iter().filter_map(entry).collect()
    }

    fn lowers(&self, change: &Change) -> bool {
        match change {
            Change::Upsert(new) => {
                let judge = |old: Option<&_>| lowers(old, Some(new));
                self.index.read(new.agent.as_str(), new.version.as_str(), judge)
            }
            Change::Remove(agent, version) => {
                self.index.read(agent.as_str(), version.as_str(), |old| lowers(old, None))
            }
            Change::Enforce(namespace, new) => lowers_enforcement(self.index.enforcement(namespace), *new),
        }
    }

    fn moment(&self) -> Moment {
        let freshness = self.index.freshness();
        Moment { revision: freshness.revision, lease_until: freshness.lease_until, now: self.now() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Hub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Hub").field("revision", &self.index.revision()).finish_non_exhaustive()
    }
}

/// Whom a batch is about.
#[derive(Default)]
struct Concerned {
    agents: BTreeSet<Box<str>>,
    namespaces: BTreeSet<Box<str>>,
    /// Whether it is about all agents of some namespace.
    whole_namespaces: bool,
}

// === impl Concerned ===

impl Concerned {
    fn by(batch: &[(Change, Option<Bytes>)], index: &Index) -> Self {
        let mut concerned = Self::default();
        for (change, _) in batch {
            match change {
                Change::Upsert(AdmissionRecord { agent, .. }) | Change::Remove(agent, _) => {
                    concerned.agents.insert(agent.as_str().into());
                }
                // It is told again with every change of a namespace.
                Change::Enforce(namespace, mode) if index.enforcement(namespace) == *mode => continue,
                Change::Enforce(..) => concerned.whole_namespaces = true,
            }
            concerned.namespaces.insert(change.namespace().into());
        }
        concerned
    }
}
