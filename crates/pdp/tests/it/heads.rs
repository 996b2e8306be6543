//! Heads and leases: what is signed when, and that a lease is only as long as the database was read (L-05).

use std::time::Duration;

use ostiary_admission::{State, VerifiedHead};
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::watch_admissions_response::Message;
use tonic::Code;

use crate::{
    host::{Host, LEASE, Watcher, trusted, within},
    world::{put, seconds},
};

async fn watching(host: &Host) -> Watcher {
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    host.ticks(1);
    assert!(matches!(watcher.next().await, Message::Heartbeat(_)), "whoever comes is soon told a head");
    watcher
}

fn one() -> [ostiary_admission::Change; 1] {
    [put("acme/a", "1", State::Active)]
}

#[tokio::test]
async fn a_lowering_step_leaves_at_once_and_its_head_soon_follows() {
    let host = Host::with(one()).await;
    let mut watcher = watching(&host).await;
    let revision = host.publish([put("acme/a", "1", State::Quarantined)]);
    let Message::Delta(delta) = watcher.next().await else { panic!("a delta") };
    assert!(delta.head.is_empty());
    assert_eq!(watcher.copy.verified.as_ref().unwrap().revision, Revision(1));
    // Further steps within two tenths of a second are covered by the same head.
    host.ticks(1);
    let last = host.publish([put("acme/b", "1", State::Draft)]);
    host.ticks(1);
    watcher.next().await;
    let Message::Heartbeat(_) = watcher.next().await else { panic!("a head") };
    assert_eq!(watcher.copy.verified.as_ref().unwrap().revision, last);
    assert!(last > revision);
}

#[tokio::test]
async fn a_raise_carries_its_head() {
    let host = Host::with(one()).await;
    let mut watcher = watching(&host).await;
    let revision = host.publish([put("acme/b", "1", State::Active)]);
    let Message::Delta(delta) = watcher.next().await else { panic!("a delta") };
    assert!(!delta.head.is_empty());
    assert_eq!(watcher.copy.verified.as_ref().unwrap().revision, revision);
    // One that lowers and raises is a raise.
    host.publish([put("acme/a", "1", State::Quarantined), put("acme/c", "1", State::Active)]);
    let Message::Delta(delta) = watcher.next().await else { panic!("a delta") };
    assert_eq!((delta.entries.len(), delta.head.is_empty()), (2, false));
}

#[tokio::test]
async fn heartbeats_come_every_two_seconds_with_the_lease_of_now() {
    let host = Host::with(one()).await;
    let mut watcher = watching(&host).await;
    for _ in 0..3 {
        host.pass(2);
        host.renew_lease();
        host.ticks(20);
        let Message::Heartbeat(_) = watcher.next().await else { panic!("a heartbeat") };
        assert_eq!(watcher.copy.verified.as_ref().unwrap().lease_until, host.now() + seconds(LEASE));
    }
}

#[tokio::test]
async fn a_server_cut_off_from_its_database_extends_no_lease() {
    let host = Host::with(one()).await;
    let mut watcher = watching(&host).await;
    let granted = host.lease_until();
    for _ in 0..10 {
        host.pass(2);
        host.ticks(20);
        assert!(matches!(watcher.next().await, Message::Heartbeat(_)));
        assert_eq!(watcher.copy.verified.as_ref().unwrap().lease_until, granted);
    }
    assert!(host.now() > granted, "the heart beats on, but nobody may decide on it");
    // Nor does a new stream get a longer one.
    let mut late = host.watch("b", "*").await;
    late.reach(Revision(1)).await;
    assert_eq!(late.copy.verified.as_ref().unwrap().lease_until, granted);
}

#[tokio::test]
async fn without_a_key_a_raise_waits_and_a_snapshot_is_refused() {
    let host = Host::with(one()).await;
    let mut watcher = watching(&host).await;
    host.key_usable(false);
    host.publish([put("acme/b", "1", State::Active)]);
    host.publish([put("acme/c", "1", State::Active)]);
    let last = host.publish([put("acme/b", "1", State::Quarantined)]);
    host.ticks(40);
    let mut late = host.watch("b", "*").await;
    assert_eq!(late.ends().await.code(), Code::Unavailable);
    host.key_usable(true);
    host.ticks(1);
    // One step over all of them, with one head.
    let Message::Delta(delta) = watcher.next().await else { panic!("a delta") };
    assert_eq!((delta.from, Revision(delta.to), delta.entries.len()), (1, last, 2));
    assert!(VerifiedHead::read(&delta.head, &trusted()).is_ok());
    watcher.copy.assert_equals(host.index());
}

#[tokio::test]
async fn run_sends_what_is_due_by_itself() {
    let host = Host::with(one()).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let run = host.hub.run();
    let beats = async {
        for _ in 0..2 {
            assert!(matches!(watcher.next().await, Message::Heartbeat(_)));
        }
    };
    let beats = within("two heartbeats", tokio::time::timeout(Duration::from_secs(20), beats));
    tokio::select! { () = run => panic!("run ends only when it is dropped"), done = beats => done.unwrap() }
}

#[tokio::test]
async fn a_scope_that_nobody_watches_is_forgotten_after_a_while() {
    let host = Host::with(one()).await;
    let watcher = watching(&host).await;
    assert_eq!(host.hub.counters().scopes, 1);
    drop(watcher);
    host.until("the stream to be gone", |hub| hub.counters().watching == 0).await;
    host.ticks(5_000);
    assert_eq!(host.hub.counters().scopes, 1, "who comes back within minutes finds the history");
    host.ticks(2_000);
    assert_eq!(host.hub.counters().scopes, 0);
}
