//! The root over all entries of a scope, kept in step by hashing one shard, one group and one root for each change.
//!
//! Exact bytes, `||` being concatenation and numbers big-endian:
//!
//! - leaf = SHA-256(bytes of the entry as sent)
//! - shard = SHA-256("ostiary.shard.v1\0" || number of leaves as 8 bytes || leaves in rising order)
//! - group = SHA-256("ostiary.group.v1\0" || its 64 shards in order)
//! - root = SHA-256("ostiary.root.v1\0" || the 64 groups in order)
//!
//! An entry never begins with the letter that a tag begins with, so that no leaf is also a shard. docs/routers.md has an
//! example with numbers.

use std::sync::LazyLock;

use ostiary_canon::Digest;
use sha2::{Digest as _, Sha256};

use crate::subject::{SHARDS, ShardNumber};

/// Shards in a group, and groups in a tree.
const FAN: usize = 64;

const SHARD: &[u8] = b"ostiary.shard.v1\0";
const GROUP: &[u8] = b"ostiary.group.v1\0";
const ROOT: &[u8] = b"ostiary.root.v1\0";

/// The digests of a scope's entries: 32 bytes for each, and 56 for each shard of a group in use.
#[derive(Clone, Debug)]
pub struct Tree {
    groups: Box<[Option<Box<Group>>]>,
    len: usize,
    /// Groups with a shard that changed since the root was last asked for.
    dirty: u64,
    root: Digest,
}

/// A leaf that should have been there was not: whoever keeps this tree has lost step, and must build it anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the replaced entry is not in the tree")]
pub struct LostStep;

#[derive(Clone, Debug)]
struct Group {
    shards: [Shard; FAN],
    /// Shards that changed since the digest was computed.
    dirty: u64,
    digest: Digest,
}

#[derive(Clone, Debug)]
struct Shard {
    digest: Digest,
    /// In rising order; as large as needed and no larger.
    leaves: Vec<Digest>,
}

const _: () = assert!(FAN * FAN == SHARDS && FAN == u64::BITS as usize, "a bit of `dirty` for each");

static EMPTY_SHARD: LazyLock<Digest> = LazyLock::new(|| shard_digest(&[]));
static EMPTY_GROUP: LazyLock<Digest> = LazyLock::new(|| group_digest((0..FAN).map(|_| *EMPTY_SHARD)));
static EMPTY_ROOT: LazyLock<Digest> = LazyLock::new(|| root_digest((0..FAN).map(|_| *EMPTY_GROUP)));

// === impl Tree ===

impl Tree {
    /// A tree without entries.
    #[must_use]
    pub fn new() -> Self {
        Self { groups: (0..FAN).map(|_| None).collect(), len: 0, dirty: 0, root: *EMPTY_ROOT }
    }

    /// The entry of a subject in `shard` changes: `old` is its leaf so far, `new` its leaf from now on.
    ///
    /// # Errors
    /// When `old` is not there; the tree is then as before.
    pub fn set(&mut self, shard: ShardNumber, old: Option<Digest>, new: Option<Digest>) -> Result<(), LostStep> {
        if old == new {
            return Ok(());
        }
        let (group, within) = (shard.index() / FAN, shard.index() % FAN);
        let place = self.groups[group].get_or_insert_with(Group::empty);
        let leaves = &mut place.shards[within].leaves;
        if let Some(old) = old {
            let at = leaves.binary_search(&old).map_err(|_| LostStep)?;
            leaves.remove(at);
        }
        if let Some(new) = new {
            let at = leaves.binary_search(&new).unwrap_or_else(|at| at);
            // Shards hardly grow by themselves: twice the memory would buy nothing.
            leaves.reserve_exact(1);
            leaves.insert(at, new);
        }
        self.len = self.len + usize::from(new.is_some()) - usize::from(old.is_some());
        place.dirty |= 1 << within;
        self.dirty |= 1 << group;
        Ok(())
    }

    /// The root over all entries.
    pub fn root(&mut self) -> Digest {
        if self.dirty != 0 {
            for (at, group) in self.groups.iter_mut().enumerate() {
                if let (true, Some(group)) = (self.dirty & (1 << at) != 0, group) {
                    group.refresh();
                }
            }
            self.dirty = 0;
            let digests = self.groups.iter().map(|group| group.as_ref().map_or(*EMPTY_GROUP, |group| group.digest));
            self.root = root_digest(digests);
        }
        self.root
    }

    /// How many entries there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl Default for Tree {
    fn default() -> Self {
        Self::new()
    }
}

impl FromIterator<(ShardNumber, Digest)> for Tree {
    /// Builds a tree from all leaves of a scope, in any order.
    fn from_iter<I: IntoIterator<Item = (ShardNumber, Digest)>>(leaves: I) -> Self {
        let mut leaves: Vec<_> = leaves.into_iter().collect();
        leaves.sort_unstable();
        let mut tree = Self::new();
        tree.len = leaves.len();
        // Shard by shard, so that each gets a list of exactly its size and none is left behind half empty.
        for own in leaves.chunk_by(|one, other| one.0 == other.0) {
            let (group, within) = (own[0].0.index() / FAN, own[0].0.index() % FAN);
            let place = tree.groups[group].get_or_insert_with(Group::empty);
            place.shards[within].leaves = own.iter().map(|(_, leaf)| *leaf).collect();
            place.dirty |= 1 << within;
            tree.dirty |= 1 << group;
        }
        tree
    }
}

// === impl Group ===

impl Group {
    fn empty() -> Box<Self> {
        let shards = std::array::from_fn(|_| Shard { digest: *EMPTY_SHARD, leaves: Vec::new() });
        Box::new(Self { shards, dirty: 0, digest: *EMPTY_GROUP })
    }

    fn refresh(&mut self) {
        for (at, shard) in self.shards.iter_mut().enumerate() {
            if self.dirty & (1 << at) != 0 {
                shard.digest = shard_digest(&shard.leaves);
            }
        }
        self.dirty = 0;
        self.digest = group_digest(self.shards.iter().map(|shard| shard.digest));
    }
}

fn shard_digest(leaves: &[Digest]) -> Digest {
    let count = leaves.len() as u64;
    let hash = Sha256::new().chain_update(SHARD).chain_update(count.to_be_bytes());
    finished(leaves.iter().fold(hash, |hash, leaf| hash.chain_update(leaf.as_bytes())))
}

fn group_digest(shards: impl Iterator<Item = Digest>) -> Digest {
    let hash = Sha256::new().chain_update(GROUP);
    finished(shards.fold(hash, |hash, shard| hash.chain_update(shard.as_bytes())))
}

fn root_digest(groups: impl Iterator<Item = Digest>) -> Digest {
    let hash = Sha256::new().chain_update(ROOT);
    finished(groups.fold(hash, |hash, group| hash.chain_update(group.as_bytes())))
}

fn finished(hash: Sha256) -> Digest {
    Digest::from_bytes(hash.finalize().into())
}
