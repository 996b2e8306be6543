//! Watch streams: no gap, no silent loss, nobody waits for a slow one (L-04, L-05, L-12).

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_admission::{
    Change, Enforcement, State,
    wire::{self, Sent},
};
use ostiary_canon::{Digest, Revision};
use ostiary_proto::admission::v1::{
    self as proto, entry::Entry as Kind, get_snapshot_response::Message as Part,
    watch_admissions_request::Message as Say, watch_admissions_response::Message,
};
use prost::Message as _;
use tonic::Code;

use crate::{
    copy::Copy,
    host::{Host, as_caller, within},
    world::{put, record, seconds},
};

fn many(count: usize) -> impl Iterator<Item = Change> {
    (0..count).map(|n| put(&format!("team-{}/agent-{n}", n % 7), "1", State::Active))
}

/// Swaps the state of one version back and forth: a raise and a lowering step in turn.
fn swap(host: &Host, agent: &str) -> Revision {
    let state = match host.index().get(agent, "1").map(|record| record.state) {
        Some(State::Active) => State::Quarantined,
        _ => State::Active,
    };
    host.publish([put(agent, "1", state)])
}

fn swaps(host: &Host, count: usize) -> Revision {
    (0..count).fold(host.index().revision(), |_, _| swap(host, "team-2/agent-2"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deltas_join_the_snapshot_without_a_gap_while_the_world_goes_on() {
    const STEPS: u64 = 150;
    let host = Host::with(many(3_000)).await;
    let (mut all, mut own) = (host.watch("a", "*").await, host.watch("b", "team-3").await);
    // Before they have read more than the beginning of their snapshots:
    all.next().await;
    own.next().await;
    let hub = std::sync::Arc::clone(&host.hub);
    let publisher = std::thread::spawn(move || {
        for n in 0..STEPS {
            let state = if n % 2 == 0 { State::Quarantined } else { State::Active };
            let agent = format!("team-{}/agent-{}", n % 7, n % 49);
            hub.publish([put(&agent, "1", state)], Revision(n + 2)).unwrap();
        }
    });
    for watcher in [&mut all, &mut own] {
        watcher.reach(Revision(STEPS + 1)).await;
    }
    publisher.join().unwrap();
    for watcher in [all, own] {
        watcher.copy.assert_equals(host.index());
        assert_eq!((watcher.copy.snapshots, watcher.copy.resyncs), (1, 0));
        let steps: Vec<u64> = watcher.copy.seen.iter().map(|revision| revision.0).collect();
        assert_eq!(steps, (1..=STEPS + 1).collect::<Vec<_>>());
        assert!(watcher.copy.largest_chunk <= 256 << 10);
    }
}

#[tokio::test]
async fn a_scope_is_all_that_one_sees() {
    let host = Host::with(many(50)).await;
    let mut own = host.watch("a", "team-3").await;
    own.reach(Revision(1)).await;
    assert!(own.copy.entries.keys().all(|subject| subject.namespace() == "team-3"));
    assert_eq!(own.copy.entries.len(), 7);
    // What happens elsewhere is a step without entries: the revision is known, and nothing else.
    let revision = swap(&host, "team-2/agent-2");
    let Message::Delta(delta) = own.next().await else { panic!("a delta") };
    assert_eq!((Revision(delta.to), delta.entries.len()), (revision, 0));
    own.copy.assert_equals(host.index());
}

#[tokio::test]
async fn a_resumed_watch_gets_what_it_missed_and_nothing_else() {
    let host = Host::with(many(100)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let copy = watcher.copy.clone();
    drop(watcher);
    let last = swaps(&host, 5);
    let mut again = host.resume("a", copy).await;
    assert!(matches!(again.next().await, Message::Resumed(_)));
    again.reach(last).await;
    again.copy.assert_equals(host.index());
    assert_eq!((again.copy.snapshots, again.copy.resyncs), (1, 0));
    assert_eq!(again.copy.seen.len(), 6);
}

#[tokio::test]
async fn another_history_and_a_pruned_one_are_answered_with_resync() {
    let host = Host::with(many(20)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let honest = watcher.copy.clone();
    let forked = |change: fn(&mut ostiary_admission::Head)| {
        let mut copy = honest.clone();
        change(copy.verified.as_mut().unwrap());
        copy
    };
    let cases = [
        ("another root", forked(|head| head.root = Digest::of(b"another history"))),
        ("the future", forked(|head| head.revision = Revision(77))),
        ("the past of another server", forked(|head| head.revision = Revision(0))),
    ];
    for (what, copy) in cases {
        let mut resumed = host.resume("b", copy).await;
        let Message::Resync(_) = resumed.heard().await.unwrap() else { panic!("{what}") };
        (resumed.copy.verified, resumed.copy.complete) = (None, false);
        resumed.reach(Revision(1)).await;
        resumed.copy.assert_equals(host.index());
    }
    assert_eq!(host.hub.counters().resyncs, 3);
    // More steps than are kept.
    let last = swaps(&host, 4_200);
    let mut late = host.resume("c", honest).await;
    assert!(matches!(late.next().await, Message::Resync(_)));
    late.copy.complete = false;
    late.reach(last).await;
    late.copy.assert_equals(host.index());
}

#[tokio::test]
async fn a_step_larger_than_a_message_is_told_as_a_snapshot() {
    let host = Host::with(many(10)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let revision = host.publish(many(12_000));
    watcher.reach(revision).await;
    assert_eq!((watcher.copy.resyncs, watcher.copy.snapshots), (1, 2));
    watcher.copy.assert_equals(host.index());
    // And it goes on from there.
    let next = swap(&host, "team-2/agent-2");
    watcher.reach(next).await;
    watcher.copy.assert_equals(host.index());
    assert_eq!(watcher.copy.resyncs, 1);
}

#[tokio::test]
async fn what_was_replaced_is_told_as_a_snapshot() {
    let host = Host::with(many(10)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    host.hub.replace(many(3), Revision(9)).unwrap();
    watcher.reach(Revision(9)).await;
    watcher.copy.assert_equals(host.index());
    assert_eq!(watcher.copy.resyncs, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_is_cut_and_nobody_waits_for_it() {
    const STEPS: u64 = 4_500;
    let host = Host::with(many(10)).await;
    let (mut slow, mut quick) = (host.watch("slow", "*").await, host.watch("quick", "*").await);
    slow.reach(Revision(1)).await;
    quick.reach(Revision(1)).await;
    for n in 0..STEPS {
        let revision = swap(&host, "team-2/agent-2");
        if n % 500 == 0 {
            quick.reach(revision).await;
        }
    }
    quick.reach(Revision(STEPS + 1)).await;
    quick.copy.assert_equals(host.index());
    // It reads what was on its way already, and then is told; never a gap.
    let status = slow.ends().await;
    assert_eq!(status.code(), Code::ResourceExhausted, "{status:?}");
    assert!(slow.copy.revision < Revision(STEPS + 1));
    assert_eq!(host.hub.counters().slow_readers_cut, 1);
    assert_eq!(quick.copy.resyncs, 0);
}

#[tokio::test]
async fn a_refused_revision_is_counted_and_ends_the_stream() {
    let host = Host::with(many(3)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let reason = proto::RefusalReason::Signature.into();
    watcher.say(Say::Refused(proto::Refused { revision: 1, reason, detail: "no".to_owned() })).await;
    assert_eq!(watcher.ends().await.code(), Code::FailedPrecondition);
    assert_eq!(host.hub.counters().refused, 1);
    host.until("the stream to be gone", |hub| hub.counters().watching == 0).await;
}

#[tokio::test]
async fn whoever_asks_is_told_the_time() {
    let host = Host::with(many(3)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    for nonce in [7, 0, u64::MAX] {
        host.pass(1);
        watcher.say(Say::Echo(proto::Echo { nonce })).await;
        let Message::EchoReply(reply) = watcher.next().await else { panic!("a reply") };
        let at: Option<Timestamp> = reply.at.as_ref().and_then(wire::timestamp_from_wire);
        assert_eq!((reply.nonce, at), (nonce, Some(host.now())));
    }
}

#[tokio::test]
async fn a_stream_that_does_not_keep_to_the_order_is_ended() {
    let host = Host::with(many(3)).await;
    let mut twice = host.watch("a", "*").await;
    twice.reach(Revision(1)).await;
    twice.say(Say::Start(proto::WatchStart::default())).await;
    assert_eq!(twice.ends().await.code(), Code::InvalidArgument);
    let mut early = host.watch("a", "*").await;
    early.reach(Revision(1)).await;
    early.acknowledge(Revision(2)).await;
    assert_eq!(early.ends().await.code(), Code::InvalidArgument, "nobody was sent revision 2");
    let mut nameless = host.watch("", "*").await;
    assert_eq!(nameless.ends().await.code(), Code::InvalidArgument);
}

#[tokio::test]
async fn a_snapshot_alone_is_the_same_and_ends() {
    let host = Host::with(many(3_000)).await;
    let mut copy = Copy::of("team-3");
    let request = as_caller("team-3", proto::GetSnapshotRequest { scope: "team-3".to_owned() });
    let mut stream = host.client().await.get_snapshot(request).await.unwrap().into_inner();
    while let Some(response) = within("a part", stream.message()).await.unwrap() {
        copy.take(&match response.message.unwrap() {
            Part::SnapshotBegin(begin) => Message::SnapshotBegin(begin),
            Part::SnapshotChunk(chunk) => Message::SnapshotChunk(chunk),
            Part::SnapshotEnd(end) => Message::SnapshotEnd(end),
        });
    }
    assert!(copy.complete);
    copy.assert_equals(host.index());
}

#[tokio::test]
async fn what_a_relay_does_not_understand_it_passes_on_as_it_came() {
    let host = Host::with(many(3)).await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let bytes = wire::record_bytes(&record("team-1/agent-1", "1", State::Active));
    let mut entry = proto::Entry::decode(bytes).unwrap();
    if let Some(Kind::Record(record)) = &mut entry.entry {
        record.state = 4_711;
    }
    let strange = Bytes::from(entry.encode_to_vec());
    host.hub.publish_sent([Sent::read(&strange, Revision(2)).unwrap()], Revision(2)).unwrap();
    let Message::Delta(delta) = watcher.heard().await.unwrap() else { panic!("a delta") };
    assert_eq!(delta.entries, std::slice::from_ref(&strange));
    // Also to whoever comes later.
    let mut late = host.watch("b", "team-1").await;
    late.heard().await.unwrap();
    let Message::SnapshotChunk(chunk) = late.heard().await.unwrap() else { panic!("a chunk") };
    assert!(chunk.entries.contains(&strange));
}

#[tokio::test]
async fn modes_are_entries_too() {
    let host = Host::with(many(3)).await;
    let mut watcher = host.watch("a", "team-1").await;
    watcher.reach(Revision(1)).await;
    let until = host.now() + seconds(60);
    for mode in [Enforcement::Observe { until }, Enforcement::Warn { until }, Enforcement::Enforce] {
        let revision = host.publish([Change::Enforce("team-1".into(), mode)]);
        watcher.reach(revision).await;
        watcher.copy.assert_equals(host.index());
    }
    assert_eq!(watcher.copy.entries.len(), 2);
    // The same again is a step about nothing.
    let revision = host.publish([Change::Enforce("team-1".into(), Enforcement::Enforce)]);
    let Message::Delta(delta) = watcher.next().await else { panic!("a delta") };
    assert_eq!((Revision(delta.to), delta.entries.len()), (revision, 0));
}
