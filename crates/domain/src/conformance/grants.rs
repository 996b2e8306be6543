//! Grants: each replica's bounds, for every other to read (L-04).

use jiff::SignedDuration;
use ostiary_canon::Revision;

use super::{Bench, world::World};
use crate::{
    ReplicaId,
    grants::{FORGOTTEN_AFTER, Given},
    sample::hour,
};

fn given(replica: &str) -> Given {
    Given {
        replica: ReplicaId(replica.into()),
        applied: Revision(3),
        applied_until: hour(1),
        view: Revision(4),
        view_until: hour(2),
        lease: SignedDuration::from_secs(15),
        watchers: 1,
        pending: 1,
    }
}

/// Rows come back as written, the newest one of each replica, also after a restart; the feed does not notice.
pub async fn a_replica_keeps_one_row_and_makes_no_revision(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let before = world.store.revision().await.expect("the head");
    world.store.put_grants(given("b")).await.expect("written");
    world.store.put_grants(given("a")).await.expect("written");
    let newer = Given { applied: Revision(4), pending: 0, ..given("b") };
    world.store.put_grants(newer.clone()).await.expect("written");
    assert_eq!(world.store.revision().await.expect("the head"), before);
    let world = world.restart().await;
    let rows = world.store.grants().await.expect("rows");
    assert_eq!(rows.into_iter().map(|row| row.given).collect::<Vec<_>>(), [given("a"), newer]);
    world.is_sound().await;
}

/// A dead replica's row stays long after its leases ended, and not for ever.
pub async fn a_silent_replica_is_forgotten_late(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let replicas = || async {
        let rows = world.store.grants().await.expect("rows");
        rows.into_iter().map(|row| row.given.replica.0).collect::<Vec<_>>()
    };
    world.store.put_grants(given("dead")).await.expect("written");
    world.clock.pass(FORGOTTEN_AFTER);
    world.store.put_grants(given("live")).await.expect("written");
    assert_eq!(replicas().await, ["dead", "live"]);
    world.clock.pass(SignedDuration::from_secs(1));
    world.store.put_grants(given("live")).await.expect("written");
    assert_eq!(replicas().await, ["live"]);
}
