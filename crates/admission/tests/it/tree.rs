//! The root: the same for the same entries, whatever way led there.

use std::collections::BTreeMap;

use ostiary_admission::{
    AdmissionRecord, Change, Enforcement, Index, SHARDS, ShardNumber, State, Subject, Tree, ViewScope, wire,
};
use ostiary_canon::{Digest, Revision};
use proptest::prelude::*;

use crate::fixture::{self, hours, now};

fn agent(n: u16) -> ShardNumber {
    ShardNumber::of_agent(&format!("acme/agent-{n}").parse().unwrap())
}

fn leaf(n: u16) -> Digest {
    Digest::of(&n.to_be_bytes())
}

#[derive(Clone, Debug)]
enum Turn {
    Set(u16, u16),
    Remove(u16),
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn = prop_oneof![
        3 => (0_u16..60, any::<u16>()).prop_map(|(at, value)| Turn::Set(at, value)),
        1 => (0_u16..60).prop_map(Turn::Remove),
    ];
    prop::collection::vec(turn, 0..120)
}

/// The tree after some turns, with the root asked for now and then, and what should be in it.
fn played(turns: &[Turn]) -> (Tree, BTreeMap<u16, Digest>) {
    let (mut tree, mut entries) = (Tree::new(), BTreeMap::new());
    for turn in turns {
        let (at, new) = match turn {
            Turn::Set(at, value) => (*at, Some(Digest::of(&[at.to_be_bytes(), value.to_be_bytes()].concat()))),
            Turn::Remove(at) => (*at, None),
        };
        let old = match new {
            Some(new) => entries.insert(at, new),
            None => entries.remove(&at),
        };
        tree.set(agent(at), old, new).unwrap();
        if at % 3 == 0 {
            tree.root();
        }
    }
    (tree, entries)
}

proptest! {
    #[test]
    fn step_by_step_is_the_same_as_from_scratch(turns in turns()) {
        let (mut tree, entries) = played(&turns);
        let mut scratch: Tree = entries.iter().rev().map(|(at, leaf)| (agent(*at), *leaf)).collect();
        prop_assert_eq!(tree.root(), scratch.root());
        prop_assert_eq!(tree.len(), entries.len());
        prop_assert_eq!(scratch.len(), entries.len());
    }

    #[test]
    fn one_entry_more_less_or_other_is_another_root(turns in turns(), at in 0_u16..60, value: u16) {
        let (mut tree, entries) = played(&turns);
        let before = tree.root();
        let old = entries.get(&at).copied();
        let other = leaf(value);
        prop_assume!(old != Some(other));
        tree.set(agent(at), old, Some(other)).unwrap();
        prop_assert_ne!(tree.root(), before);
        tree.set(agent(at), Some(other), old).unwrap();
        prop_assert_eq!(tree.root(), before);
    }
}

#[test]
fn a_lost_step_is_an_error_and_changes_nothing() {
    let mut tree: Tree = [(agent(1), leaf(1))].into_iter().collect();
    let before = tree.root();
    assert!(tree.set(agent(1), Some(leaf(2)), Some(leaf(3))).is_err());
    assert!(tree.set(agent(2), Some(leaf(1)), None).is_err());
    assert_eq!((tree.root(), tree.len()), (before, 1));
}

#[test]
fn an_entry_counts_in_the_shard_of_its_subject() {
    let (one, other) = (agent(1), agent(2));
    assert_ne!(one, other);
    let mut here: Tree = [(one, leaf(1))].into_iter().collect();
    let mut there: Tree = [(other, leaf(1))].into_iter().collect();
    assert_ne!(here.root(), there.root());
    assert!((0..2_000).all(|n| agent(n).index() < SHARDS));
    let namespace = Subject::Namespace("acme".into());
    assert_eq!(namespace.shard(), ShardNumber::of_namespace("acme"));
}

#[test]
fn an_index_has_the_tree_of_its_entries() {
    let record = |agent: &str, state| AdmissionRecord { agent: agent.parse().unwrap(), ..fixture::record(state) };
    let changes = [
        Change::Upsert(record("acme/a", State::Active)),
        Change::Upsert(record("acme/b", State::Draft)),
        Change::Upsert(record("other/a", State::Active)),
        Change::Enforce("acme".into(), Enforcement::Observe { until: now() + hours(1) }),
    ];
    let index = Index::new();
    index.publish(changes.clone(), Revision(1)).unwrap();
    let tree_of = |wanted: &[&Change]| -> Tree {
        wanted.iter().map(|change| (change.shard(), wire::leaf(&wire::entry_bytes(change)))).collect()
    };
    let frozen = index.freeze();
    let (mut all, mut own) = (frozen.tree(&ViewScope::All), frozen.tree(&"acme".parse().unwrap()));
    assert_eq!(all.root(), tree_of(&changes.each_ref()).root());
    assert_eq!(own.root(), tree_of(&[&changes[3], &changes[1], &changes[0]]).root());
    assert!(frozen.tree(&"nobody".parse().unwrap()).is_empty());
    // What was frozen stays as it was.
    index.publish([Change::Remove("acme/a".parse().unwrap(), "3.4.1".parse().unwrap())], Revision(2)).unwrap();
    assert_eq!(frozen.tree(&ViewScope::All).root(), all.root());
    assert_eq!(index.freeze().tree(&ViewScope::All).len(), 3);
    assert_eq!(index.leaf(&changes[1].subject()), Some(wire::leaf(&wire::entry_bytes(&changes[1]))));
    assert_eq!(index.leaf(&changes[0].subject()), None);
}

#[test]
fn a_leaf_costs_33_bytes() {
    const MANY: u64 = 50_000;
    let mut tree = None;
    let counted = allocation_counter::measure(|| {
        let leaves = (0..MANY).map(|n| {
            let agent = format!("acme/agent-{n}").parse().unwrap();
            (ShardNumber::of_agent(&agent), Digest::of(&n.to_be_bytes()))
        });
        tree = Some(leaves.collect::<Tree>());
    });
    // What a million leaves cost beside their own bytes is the shards' 230 KiB.
    let kept = u64::try_from(counted.bytes_current).unwrap() - 64 * 64 * 56 - 8 * 1024;
    assert!(kept <= MANY * 33, "{} bytes a leaf", kept / MANY);
    assert_eq!(tree.unwrap().len(), MANY as usize);
}
