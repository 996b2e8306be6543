//! The feed: every revision shows, whole, and in order.

use std::collections::BTreeSet;

use ostiary_admission::Enforcement;
use ostiary_canon::Revision;
use ostiary_record::{Gate, Outcome};

use super::{Bench, world::World};
use crate::{
    hold::{HoldKind, Scope},
    lifecycle::StateName,
    names::{EvidenceId, HoldId},
    ports::{Action, HoldRequest},
    registry::Namespace,
    sample::{hour, operator},
};

/// Whoever follows the feed from any revision on ends with what a fresh reader sees.
pub async fn every_revision_appears_in_the_feed(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Canary).await;
    let hold = HoldRequest { id: HoldId("h".into()), kind: HoldKind::CanaryStopped, scope: Scope::Everything };
    world.act(&key, Action::SetHold(hold)).await.expect("a hold");
    let quarantined = world.act(&key, Action::Quarantine).await.expect("a quarantine").revision;
    world.submit("2.0.0").await;
    let head = world.store.revision().await.expect("a revision");
    let whole = world.store.changes_since(Revision(0), 100).await.expect("the feed");
    assert_eq!((whole.reached, whole.more, whole.told.len()), (head, false, 2));
    for told in &whole.told {
        assert_eq!(told.version, world.version(&told.version.key).await, "the feed says what a look-up says");
    }
    for since in 0..head.0 {
        let changes = world.store.changes_since(Revision(since), 100).await.expect("the feed");
        assert_eq!(changes.reached, head);
        let expected: Vec<_> = whole.told.iter().filter(|t| t.version.revision.0 > since).cloned().collect();
        assert_eq!(changes.told, expected, "since {since}");
    }
    let since = Revision(quarantined.0 - 1);
    let changes = world.store.changes_since(since, 100).await.expect("the feed");
    let told = changes.told.iter().find(|t| t.version.key == key).expect("the quarantine is told");
    assert_eq!((told.version.state.name(), told.version.revision), (StateName::Quarantined, quarantined));
    let nothing = world.store.changes_since(head, 100).await.expect("the feed");
    assert_eq!((nothing.told.len(), nothing.reached), (0, head));
}

/// What admitted the versions of a stretch is read at once, whatever the ids are.
pub async fn evidence_is_read_in_bulk(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let all = world.store.evidence_of(&key).await.expect("evidence");
    assert!(all.len() > 1, "each gate left some");
    let strange = ["nobody", "", "it's", "a\"b"].map(|id| EvidenceId(id.to_owned()));
    let ids = all.iter().map(|evidence| evidence.id.clone()).chain(strange).collect();
    let mut found = world.store.evidence_in_bulk(ids).await.expect("evidence");
    found.sort_by_key(|evidence| evidence.recorded);
    assert_eq!(found, all);
    assert_eq!(world.store.evidence_in_bulk(Vec::new()).await.expect("an answer"), []);
}

/// A promotion changes two versions in one revision: a reader gets both or none.
pub async fn a_stretch_ends_with_a_whole_revision(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::Active).await;
    world.at("2.0.0", StateName::Active).await;
    world.submit("3.0.0").await;
    let head = world.store.revision().await.expect("a revision");
    let (mut at, mut stretches, mut told) = (Revision(0), 0, BTreeSet::new());
    loop {
        let changes = world.store.changes_since(at, 1).await.expect("the feed");
        let active = changes.told.iter().filter(|t| t.version.state.name() == StateName::Active).count();
        assert_ne!((active, changes.told.len()), (1, 1), "the new ACTIVE came without the old one");
        told.extend(changes.told.iter().map(|t| t.version.key.clone()));
        assert!(changes.reached > at, "it goes on");
        (at, stretches) = (changes.reached, stretches + 1);
        if !changes.more {
            break;
        }
    }
    assert_eq!((at, stretches, told.len()), (head, 2, 3));
}

/// L-08: a changed mode reaches routers for every version of the namespace.
pub async fn a_namespace_that_changes_its_mode_is_told_anew(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let before = world.store.revision().await.expect("a revision");
    let enforcement = Enforcement::Observe { until: hour(24) };
    let row = world.version(&key).await.row;
    let namespace = Namespace { name: "acme".into(), enforcement, reason: Some("a trial".into()) };
    let put = world.store.put_namespace(namespace, operator()).await.expect("a namespace");
    let changes = world.store.changes_since(before, 100).await.expect("the feed");
    let told = changes.told.first().expect("the version is told");
    assert_eq!((told.enforcement, told.version.revision, changes.reached), (enforcement, put, put));
    assert_eq!(told.version.row, row, "and nobody's guard is broken by it");
}

/// A deprecated version with a sunset is still told while its label is tried again.
pub async fn a_new_try_does_not_hide_the_admitted_one(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let first = world.at("1.0.0", StateName::Active).await;
    let sunset = Action::Deprecate { sunset: Some(hour(24)) };
    world.act(&first, sunset).await.expect("a deprecation");
    let second = world.submit("1.0.0").await.version;
    let told = |world: &World<'_>| {
        let store = world.store.clone();
        async move {
            let whole = store.changes_since(Revision(0), 100).await.expect("the feed");
            let only = whole.told.first().expect("the label is told").version.key.clone();
            assert_eq!(whole.told.len(), 1, "one answer a label");
            only
        }
    };
    assert_eq!(told(&world).await, first);
    for gate in [Gate::Static, Gate::Conformance, Gate::Security, Gate::Admission] {
        world.run(gate, Outcome::Pass).await;
    }
    assert_eq!(told(&world).await, second);
}
