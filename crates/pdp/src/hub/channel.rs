//! One scope in use: its tree, its history, and the wire to whoever watches it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{Head, Subject, Tree, ViewScope};
use ostiary_canon::{Digest, Revision};
use tokio::sync::watch;

use super::ring::{Delta, Ring, SignedHead, Step};
use crate::ports::HeadSource;

/// Largest step that is sent as one message: half of what gRPC clients take unless told otherwise.
pub(super) const LARGEST: usize = 2 << 20;

/// Ticks between two heartbeats when nothing asks for one earlier: two seconds.
const BEAT_TICKS: u32 = 20;

/// Ticks that a head waits for further steps to cover: between one and two tenths of a second.
const COALESCE_TICKS: u32 = 2;

/// Ticks that a scope is kept when nobody watches it, so that who comes back finds the history: ten minutes.
const IDLE_TICKS: u32 = 6000;

/// One scope in use. Only the hub's one publisher at a time holds it.
pub(super) struct Channel {
    scope: ViewScope,
    tree: Tree,
    live: Arc<Live>,
    /// A raise that waits for a head: from where, and what changed.
    held: Option<(Revision, Vec<Entry>)>,
    /// Ticks since a step left that no head covers yet.
    unsigned: Option<u32>,
    /// Ticks since the last heartbeat.
    quiet: u32,
    /// Ticks since somebody watched.
    idle: u32,
    beats: u64,
}

/// What open streams hold of a scope.
pub(crate) struct Live {
    ring: Mutex<Ring>,
    pulse: watch::Sender<Pulse>,
}

/// What wakes open streams.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pulse {
    /// Number of the step that comes next.
    pub(crate) next: u64,
    /// The newest heartbeat.
    pub(crate) beat: Option<Arc<Beat>>,
}

/// A heartbeat.
#[derive(Debug)]
pub(crate) struct Beat {
    /// Rises.
    pub(crate) number: u64,
    /// Number of the step that comes after it: to whoever is past that it says nothing new.
    pub(crate) before: u64,
    pub(crate) head: SignedHead,
}

/// One changed entry of a scope.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) subject: Subject,
    pub(super) bytes: Bytes,
    pub(super) old: Option<Digest>,
    pub(super) new: Option<Digest>,
    pub(super) lowers: bool,
}

/// The facts that a head is made of.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    pub(super) revision: Revision,
    pub(super) lease_until: Timestamp,
    pub(super) now: Timestamp,
}

// === impl Channel ===

impl Channel {
    pub(super) fn new(scope: ViewScope, mut tree: Tree, revision: Revision) -> Self {
        let ring = Mutex::new(Ring::starting_at((revision, tree.root())));
        let live = Arc::new(Live { ring, pulse: watch::Sender::new(Pulse::default()) });
        // Whoever comes first is soon told a head.
        Self { scope, tree, live, held: None, unsigned: Some(COALESCE_TICKS), quiet: 0, idle: 0, beats: 0 }
    }

    pub(super) fn live(&self) -> &Arc<Live> {
        &self.live
    }

    /// Whether somebody watches.
    pub(super) fn is_watched(&self) -> bool {
        self.live.pulse.receiver_count() > 0
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.tree.len()
    }

    /// A head of now, if there is one.
    pub(super) fn sign(&mut self, heads: &dyn HeadSource, moment: Moment) -> Option<SignedHead> {
        let Moment { revision, lease_until, now } = moment;
        let (root, entries) = (self.tree.root(), self.tree.len() as u64);
        let head = Head { scope: self.scope.clone(), revision, root, entries, lease_until, issued_at: now };
        Some(SignedHead { bytes: heads.signed(&head)?, revision, lease_until })
    }

    /// Goes one step on, from `from` to the moment's revision.
    pub(super) fn step(&mut self, from: Revision, changes: &[Entry], heads: &dyn HeadSource, moment: Moment) {
        let own: Vec<&Entry> = changes.iter().filter(|entry| self.scope.holds(entry.subject.namespace())).collect();
        for entry in &own {
            if self.tree.set(entry.subject.shard(), entry.old, entry.new).is_err() {
                tracing::error!(scope = %self.scope, about = %entry.subject, "tree lost step; routers will refuse its head");
            }
        }
        let own = own.into_iter().cloned();
        let (from, entries) = match self.held.take() {
            Some((from, held)) => (from, merged(held, own)),
            None => (from, own.collect()),
        };
        self.send(from, entries, heads, moment);
    }

    /// Everything was replaced.
    pub(super) fn replaced(&mut self, tree: Tree, moment: Moment) {
        self.tree = tree;
        self.held = None;
        self.push(Step::Resync, moment);
    }

    /// Time passes: says whether the scope is still wanted.
    pub(super) fn tick(&mut self, heads: &dyn HeadSource, moment: Moment) -> bool {
        self.idle = if self.is_watched() { 0 } else { self.idle + 1 };
        self.quiet += 1;
        self.unsigned = self.unsigned.map(|ticks| ticks + 1);
        self.release(heads, moment);
        let due = self.quiet >= BEAT_TICKS || self.unsigned.is_some_and(|ticks| ticks >= COALESCE_TICKS);
        if self.idle == 0 && due && self.held.is_none() {
            self.beat(heads, moment);
        }
        self.idle < IDLE_TICKS
    }

    /// Sends what waited for a head, if there is one now: then the history leads to where the tree is.
    pub(super) fn release(&mut self, heads: &dyn HeadSource, moment: Moment) {
        if let Some((from, entries)) = self.held.take() {
            self.send(from, entries, heads, moment);
        }
    }

    /// Sends a heartbeat now.
    pub(super) fn beat(&mut self, heads: &dyn HeadSource, moment: Moment) {
        let Some(head) = self.sign(heads, moment) else { return };
        self.beats += 1;
        self.quiet = 0;
        self.unsigned = None;
        let number = self.beats;
        self.live.pulse.send_modify(|pulse| {
            pulse.beat = Some(Arc::new(Beat { number, before: pulse.next, head }));
        });
    }

    fn send(&mut self, from: Revision, entries: Vec<Entry>, heads: &dyn HeadSource, moment: Moment) {
        let size: usize = entries.iter().map(|entry| entry.bytes.len()).sum();
        let again = from == moment.revision;
        if again && entries.is_empty() {
            return;
        }
        // One revision with two contents cannot be told as a step.
        if again || size > LARGEST {
            return self.push(Step::Resync, moment);
        }
        let lowers = entries.iter().all(|entry| entry.lowers);
        let head = if lowers { None } else { self.sign(heads, moment) };
        if !lowers && head.is_none() {
            self.held = Some((from, entries));
            return;
        }
        // A step about nothing here may wait for the next heartbeat.
        if lowers && !entries.is_empty() {
            self.unsigned.get_or_insert(0);
        }
        let entries = entries.into_iter().map(|entry| entry.bytes).collect();
        self.push(Step::Delta(Delta { from, to: moment.revision, entries, head }), moment);
    }

    fn push(&mut self, step: Step, moment: Moment) {
        let end = (moment.revision, self.tree.root());
        let mut ring = self.live.ring();
        ring.push(step, end);
        let next = ring.next();
        drop(ring);
        self.live.pulse.send_modify(|pulse| pulse.next = next);
    }
}

// === impl Live ===

impl Live {
    pub(crate) fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn listen(&self) -> watch::Receiver<Pulse> {
        self.pulse.subscribe()
    }
}

/// Two steps as one: of a subject that changed in both only the later entry counts, and it lowers only if both did.
fn merged(held: Vec<Entry>, later: impl Iterator<Item = Entry>) -> Vec<Entry> {
    let mut all = held;
    for entry in later {
        match all.iter_mut().find(|other| other.subject == entry.subject) {
            Some(other) => *other = Entry { lowers: other.lowers && entry.lowers, old: other.old, ..entry },
            None => all.push(entry),
        }
    }
    all
}
