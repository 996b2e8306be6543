//! The audit: one entry a revision, and whatever is done to it shows.

use futures::future::join_all;
use ostiary_canon::Revision;

use super::{Bench, Tamper, world::World};
use crate::{
    audit::{AuditAction, AuditError, genesis, verify},
    lifecycle::StateName,
};

/// Revisions have no gap and only go up, also when many write at once.
pub async fn revisions_have_no_gap_and_the_chain_verifies(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let before = world.store.revision().await.expect("a revision");
    let labels: Vec<String> = (0..8).map(|n| format!("1.{n}.0")).collect();
    let revisions = join_all(labels.iter().map(|label| world.submit(label))).await;
    let mut revisions: Vec<u64> = revisions.into_iter().map(|s| s.revision.0).collect();
    revisions.sort_unstable();
    assert_eq!(revisions, (before.0 + 1..=before.0 + 8).collect::<Vec<_>>());
    world.is_sound().await;

    let key = world.version(&crate::sample::key("1.3.0")).await.key;
    let about = world.store.audit_of(&key.to_string()).await.expect("the audit");
    let record = about.first().expect("an entry").record().expect("a record");
    assert_eq!((about.len(), record.action, record.actor), (1, AuditAction::Submit, crate::sample::publisher()));
    let page = world.store.audit(before, 3).await.expect("the audit");
    assert_eq!(page.iter().map(|e| e.revision.0).collect::<Vec<_>>(), [before.0 + 1, before.0 + 2, before.0 + 3]);
}

async fn broken(bench: &dyn Bench, how: Tamper) -> AuditError {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::Active).await;
    world.is_sound().await;
    let world = tampered(world, how).await;
    let head = world.store.audit_head().await.expect("the head");
    verify((Revision(0), genesis()), &world.audit().await, Some(head)).expect_err("the chain is broken")
}

async fn tampered(world: World<'_>, how: Tamper) -> World<'_> {
    world.bench.tamper(how).await;
    world.restart().await
}

/// Somebody changes what an entry says.
pub async fn an_edited_entry_is_found(bench: &dyn Bench) {
    assert_eq!(broken(bench, Tamper::EditAudit(4)).await, AuditError::Changed(Revision(4)));
}

/// Somebody deletes an entry.
pub async fn a_deleted_entry_is_found(bench: &dyn Bench) {
    let gap = AuditError::Gap { expected: Revision(4), found: Revision(5) };
    assert_eq!(broken(bench, Tamper::DeleteAudit(4)).await, gap);
}

/// Somebody lets two entries change places.
pub async fn a_moved_entry_is_found(bench: &dyn Bench) {
    assert_eq!(broken(bench, Tamper::SwapAudit(4, 5)).await, AuditError::Link(Revision(4)));
}

/// Somebody hides an entry from whoever looks for its subject, and leaves the record as it was.
pub async fn a_refiled_entry_is_found(bench: &dyn Bench) {
    assert_eq!(broken(bench, Tamper::RefileAudit(4)).await, AuditError::Misfiled(Revision(4)));
}

/// Somebody deletes the newest entry.
pub async fn a_cut_chain_is_found(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.submit("1.0.0").await;
    let newest = world.store.revision().await.expect("a revision");
    let world = tampered(world, Tamper::DeleteAudit(newest.0)).await;
    let head = world.store.audit_head().await.expect("the head");
    let found = verify((Revision(0), genesis()), &world.audit().await, Some(head));
    assert_eq!(found, Err(AuditError::Head { expected: newest, found: Revision(newest.0 - 1) }));
}
