//! A router's copy as docs/routers.md describes it, written without the library: it panics where a router would refuse.

use std::collections::BTreeMap;

use bytes::Bytes;
use ostiary_admission::{
    AdmissionRecord, Change, Enforcement, Head, Index, Subject, Tree, VerifiedHead, ViewScope, lowers,
    lowers_enforcement, wire,
};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::watch_admissions_response::Message;

use crate::host::trusted;

/// A copy of a scope.
#[derive(Clone)]
pub(crate) struct Copy {
    pub(crate) scope: ViewScope,
    /// By subject, as it was sent.
    pub(crate) entries: BTreeMap<Subject, Bytes>,
    pub(crate) revision: Revision,
    /// Whether a snapshot is complete.
    pub(crate) complete: bool,
    /// The last head that verified.
    pub(crate) verified: Option<Head>,
    /// Each revision that a step or a snapshot led to.
    pub(crate) seen: Vec<Revision>,
    pub(crate) snapshots: usize,
    pub(crate) resyncs: usize,
    /// The largest chunk, in bytes.
    pub(crate) largest_chunk: usize,
    /// What was missed comes next.
    resumed: bool,
    coming: Option<(Revision, u64, BTreeMap<Subject, Bytes>)>,
}

impl Copy {
    pub(crate) fn of(scope: &str) -> Self {
        Self {
            scope: scope.parse().unwrap(),
            entries: BTreeMap::new(),
            revision: Revision(0),
            complete: false,
            verified: None,
            seen: Vec::new(),
            snapshots: 0,
            resyncs: 0,
            largest_chunk: 0,
            resumed: false,
            coming: None,
        }
    }

    pub(crate) fn take(&mut self, message: &Message) {
        match message {
            Message::SnapshotBegin(begin) => {
                self.coming = Some((Revision(begin.revision), begin.entries, BTreeMap::new()));
            }
            Message::SnapshotChunk(chunk) => {
                self.largest_chunk = self.largest_chunk.max(chunk.entries.iter().map(Bytes::len).sum());
                let (.., coming) = self.coming.as_mut().expect("a chunk of a snapshot");
                chunk.entries.iter().for_each(|entry| apply(coming, entry));
            }
            Message::SnapshotEnd(end) => self.end_snapshot(&end.head),
            Message::Delta(delta) => self.step(Revision(delta.from), Revision(delta.to), &delta.entries, &delta.head),
            Message::Heartbeat(beat) => self.verify(&beat.head),
            Message::Resync(_) => self.resyncs += 1,
            Message::Resumed(resumed) => {
                assert_eq!(self.verified.as_ref().unwrap().revision.0, resumed.revision);
                self.resumed = true;
            }
            Message::EchoReply(_) => {}
        }
    }

    /// Whether the copy is what the index has in its scope.
    pub(crate) fn assert_equals(&self, index: &Index) {
        let frozen = index.freeze();
        let theirs: BTreeMap<Subject, Bytes> = (0..frozen.parts())
            .flat_map(|part| frozen.part(part, &self.scope).map(|(_, bytes)| bytes).collect::<Vec<_>>())
            .map(|bytes| (wire::read_entry(&bytes).unwrap().subject(), bytes))
            .collect();
        assert_eq!(self.revision, index.revision());
        assert!(self.entries == theirs, "{} entries, {} in the index", self.entries.len(), theirs.len());
        assert_eq!(self.tree().root(), frozen.tree(&self.scope).root());
    }

    pub(crate) fn tree(&self) -> Tree {
        self.entries.iter().map(|(subject, bytes)| (subject.shard(), wire::leaf(bytes))).collect()
    }

    fn end_snapshot(&mut self, head: &Bytes) {
        let (revision, count, entries) = self.coming.take().expect("an end of a snapshot");
        assert_eq!(entries.len() as u64, count);
        self.entries = entries;
        self.move_to(revision);
        self.verify(head);
        self.complete = true;
        self.snapshots += 1;
    }

    fn step(&mut self, from: Revision, to: Revision, entries: &[Bytes], head: &Bytes) {
        assert_eq!(from, self.revision, "a gap");
        assert!(to > from);
        let lowers = entries.iter().all(|entry| self.lowers(entry));
        let missed = std::mem::take(&mut self.resumed);
        assert!(lowers || !head.is_empty(), "a raise has a head");
        assert!(!lowers || missed || head.is_empty(), "nothing else has, but for what was missed");
        entries.iter().for_each(|entry| apply(&mut self.entries, entry));
        // What was missed comes as one step: all of its revisions, and decided on is only the last.
        self.seen.extend((from.0 + 1..to.0).map(Revision).filter(|_| missed));
        self.move_to(to);
        if !head.is_empty() {
            self.verify(head);
        }
    }

    fn move_to(&mut self, revision: Revision) {
        assert!(self.seen.last().is_none_or(|last| *last <= revision), "{:?} then {revision}", self.seen.last());
        self.seen.push(revision);
        self.revision = revision;
    }

    /// A head must be of exactly what we have.
    fn verify(&mut self, envelope: &Bytes) {
        let head = VerifiedHead::read(envelope, &trusted()).unwrap().head().clone();
        assert_eq!((&head.scope, head.revision), (&self.scope, self.revision));
        assert_eq!((head.root, head.entries), (self.tree().root(), self.entries.len() as u64));
        let before = self.verified.as_ref().map(|head| head.lease_until);
        assert!(before.is_none_or(|before| before <= head.lease_until), "a lease is never shortened");
        self.verified = Some(head);
    }

    fn lowers(&self, entry: &Bytes) -> bool {
        let change = wire::read_entry(entry).unwrap();
        let old = self.entries.get(&change.subject()).map(|bytes| wire::read_entry(bytes).unwrap());
        let record = |change: &Change| match change {
            Change::Upsert(record) => Some(record.clone()),
            Change::Remove(..) | Change::Enforce(..) => None,
        };
        match (&change, &old) {
            (Change::Enforce(_, new), Some(Change::Enforce(_, old))) => lowers_enforcement(*old, *new),
            (Change::Enforce(_, new), _) => lowers_enforcement(Enforcement::Enforce, *new),
            (change, old) => {
                let old: Option<AdmissionRecord> = old.as_ref().and_then(record);
                lowers(old.as_ref(), record(change).as_ref())
            }
        }
    }
}

fn apply(entries: &mut BTreeMap<Subject, Bytes>, bytes: &Bytes) {
    let change = wire::read_entry(bytes).unwrap();
    match change {
        Change::Remove(..) => _ = entries.remove(&change.subject()),
        Change::Upsert(_) | Change::Enforce(..) => _ = entries.insert(change.subject(), bytes.clone()),
    }
}

#[test]
#[should_panic(expected = "a gap")]
fn a_gap_is_noticed() {
    let mut copy = Copy::of("*");
    copy.step(Revision(3), Revision(4), &[], &Bytes::new());
}
