//! What is held: the records that decisions read, and the tree over the same entries that heads sign.

use std::sync::Arc;

use hashbrown::HashSet;
use ostiary_admission::{Change, Index, ShardNumber, Subject, Tree, View as _, lowers, lowers_enforcement, wire::Sent};
use ostiary_canon::{Digest, Revision};

use super::effects::Fault;

/// Records and tree, always of the same entries.
pub(super) struct Ledger {
    index: Arc<Index>,
    tree: Tree,
    revision: Revision,
}

/// The entries do not give the root that was signed, or the tree lost step; nothing was changed.
pub(super) struct AnotherRoot;

/// One leaf's change, so that it can be taken back.
struct Turn {
    shard: ShardNumber,
    old: Option<Digest>,
    new: Option<Digest>,
}

/// Reads the entries of a step. One that is about the same subject twice is refused: the tree would end where the last
/// entry leads, and a head that signs that would say nothing of what the records went through.
pub(super) fn read_step(entries: &[bytes::Bytes], to: Revision) -> Result<Vec<Sent>, Fault> {
    let entries: Vec<Sent> = entries.iter().map(|bytes| read(bytes, to)).collect::<Result<_, _>>()?;
    let subjects: HashSet<Subject> = entries.iter().map(|entry| entry.change.subject()).collect();
    if subjects.len() == entries.len() { Ok(entries) } else { Err(Fault::Root(to)) }
}

/// Reads one entry. What is not understood denies what it is about; what is about nothing cannot even be denied.
pub(super) fn read(bytes: &bytes::Bytes, revision: Revision) -> Result<Sent, Fault> {
    Sent::read(bytes, revision).map_err(|error| Fault::NotUnderstood { revision, why: error.why })
}

// === impl Ledger ===

impl Ledger {
    pub(super) fn of_snapshot(entries: Vec<Sent>, revision: Revision) -> Self {
        let leaves = entries.iter().filter_map(|entry| Some((entry.change.shard(), entry.new_leaf()?)));
        let tree = leaves.collect();
        let index = Index::new();
        // A new index is of revision 0, and nothing is older than that.
        let _ = index.replace_sent(entries, revision);
        Self { index: Arc::new(index), tree, revision }
    }

    pub(super) fn index(&self) -> Arc<Index> {
        Arc::clone(&self.index)
    }

    pub(super) fn revision(&self) -> Revision {
        self.revision
    }

    pub(super) fn root(&mut self) -> Digest {
        self.tree.root()
    }

    pub(super) fn entries(&self) -> u64 {
        self.tree.len() as u64
    }

    /// The same entries are those of a later revision.
    pub(super) fn raise(&mut self, revision: Revision) {
        self.revision = self.revision.max(revision);
        let _ = self.index.publish([], self.revision);
    }

    /// Whether an entry can only turn allows into denials.
    pub(super) fn lowers(&self, entry: &Sent) -> bool {
        match &entry.change {
            Change::Upsert(record) => {
                let old = self.index.get(record.agent.as_str(), record.version.as_str());
                lowers(old.as_deref(), Some(record))
            }
            Change::Remove(agent, version) => lowers(self.index.get(agent.as_str(), version.as_str()).as_deref(), None),
            Change::Enforce(namespace, new) => lowers_enforcement(self.index.enforcement(namespace), *new),
        }
    }

    /// Applies a step if its entries give `root`; without a root in any case.
    pub(super) fn step(&mut self, entries: &[Sent], to: Revision, root: Option<Digest>) -> Result<(), AnotherRoot> {
        let turns = self.turn(entries)?;
        if root.is_some_and(|root| root != self.tree.root()) {
            self.turn_back(&turns);
            return Err(AnotherRoot);
        }
        // What lowers comes first: no check sees the new leniency together with an old record.
        let (lower, raise): (Vec<&Sent>, Vec<&Sent>) = entries.iter().partition(|entry| self.lowers(entry));
        for part in [lower, raise] {
            let _ = self.index.publish_sent(part.into_iter().cloned(), to);
        }
        self.revision = to;
        Ok(())
    }

    /// Sets the leaves of a step in the tree; says how to take it back.
    fn turn(&mut self, entries: &[Sent]) -> Result<Vec<Turn>, AnotherRoot> {
        let mut turns = Vec::with_capacity(entries.len());
        for entry in entries {
            let old = self.index.leaf(&entry.change.subject());
            let turn = Turn { shard: entry.change.shard(), old, new: entry.new_leaf() };
            if self.tree.set(turn.shard, turn.old, turn.new).is_err() {
                self.turn_back(&turns);
                return Err(AnotherRoot);
            }
            turns.push(turn);
        }
        Ok(turns)
    }

    fn turn_back(&mut self, turns: &[Turn]) {
        for turn in turns.iter().rev() {
            let _ = self.tree.set(turn.shard, turn.new, turn.old);
        }
    }
}

impl Default for Ledger {
    fn default() -> Self {
        Self { index: Arc::new(Index::new()), tree: Tree::new(), revision: Revision(0) }
    }
}
