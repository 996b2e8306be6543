//! A quarantine that is proved: who has applied it, whose lease is over, whom to wait for (L-04).

use ostiary_admission::{State, wire};
use ostiary_canon::Revision;
use ostiary_pdp::Proof;
use ostiary_proto::admission::v1::{self as proto, Outcome, watch_admissions_response::Message};

use crate::{
    host::{Host, LEASE, as_caller},
    world::{put, question, seconds},
};

async fn host() -> Host {
    Host::with([put("acme/a", "1", State::Active), put("other/a", "1", State::Active)]).await
}

fn quarantine(host: &Host) -> Revision {
    host.publish([put("acme/a", "1", State::Quarantined)])
}

fn pending(proof: &Proof) -> Vec<&str> {
    let mut names: Vec<&str> = proof.pending.iter().map(|pending| pending.router_id.as_str()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_revision_is_proved_once_each_watcher_applied_it_or_lost_its_lease() {
    let host = host().await;
    let (mut quick, mut gone) = (host.watch("quick", "*").await, host.watch("gone", "acme").await);
    let mut silent = host.watch("silent", "*").await;
    for watcher in [&mut quick, &mut gone, &mut silent] {
        watcher.reach(Revision(1)).await;
    }
    let granted = host.lease_until();
    let revision = quarantine(&host);
    quick.reach(revision).await;
    let proof = host.hub.proof(revision);
    assert_eq!(pending(&proof), ["gone", "quick", "silent"], "to be told is not to have applied");
    assert!(proof.pending.iter().all(|pending| pending.granted_until == granted));
    quick.acknowledge(revision).await;
    drop(gone);
    host.until("the acknowledgement", |hub| hub.proof(revision).applied == 1).await;
    host.until("the stream to be gone", |hub| hub.proof(revision).pending.iter().any(|pending| !pending.connected))
        .await;
    let proof = host.hub.proof(revision);
    assert_eq!((pending(&proof), proof.is_complete()), (vec!["gone", "silent"], false));
    // Said twice, and late, it is the same.
    quick.acknowledge(revision).await;
    quick.acknowledge(Revision(1)).await;
    host.pass(LEASE - 1);
    assert_eq!(pending(&host.hub.proof(revision)), ["gone", "silent"]);
    host.pass(1);
    let proof = host.hub.proof(revision);
    assert_eq!((proof.applied, proof.lapsed, proof.is_complete()), (1, 2, true));
    drop(silent);
}

#[tokio::test]
async fn a_later_head_does_not_end_the_wait_but_an_acknowledgement_does() {
    let host = host().await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let revision = quarantine(&host);
    host.pass(2);
    host.renew_lease();
    host.ticks(20);
    // It is given a head that covers the quarantine; what it had before may still be what it decides on.
    watcher.reach(revision).await;
    watcher.next().await;
    assert_eq!(watcher.copy.verified.as_ref().unwrap().revision, revision);
    assert_eq!(pending(&host.hub.proof(revision)), ["a"]);
    watcher.acknowledge(revision).await;
    host.until("the acknowledgement", |hub| hub.proof(revision).is_complete()).await;
}

#[tokio::test]
async fn an_acknowledged_step_does_not_take_back_the_lease_on_what_was_applied() {
    let host = host().await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    let first = quarantine(&host);
    watcher.reach(first).await;
    watcher.acknowledge(first).await;
    host.until("the acknowledgement", |hub| hub.proof(first).is_complete()).await;
    // No head of `first` was sent yet. It decides on `first` under the lease of the head before.
    let second = host.publish([put("other/a", "1", State::Quarantined)]);
    assert_eq!(pending(&host.hub.proof(second)), ["a"]);
    host.pass(LEASE);
    assert!(host.hub.proof(second).is_complete());
}

#[tokio::test]
async fn only_who_could_know_of_it_is_waited_for() {
    let host = host().await;
    let mut other = host.watch("other", "other").await;
    other.reach(Revision(1)).await;
    let revision = quarantine(&host);
    assert!(host.hub.proof(revision).is_complete(), "a copy of another namespace never held the version");
    // Who comes afterwards never had anything older.
    let mut late = host.watch("late", "acme").await;
    late.reach(revision).await;
    let proof = host.hub.proof(revision);
    assert_eq!((proof.applied, proof.lapsed, proof.is_complete()), (0, 0, true));
    // What this view has not reached is not proved by anybody's silence.
    let future = host.hub.proof(Revision(revision.0 + 1));
    assert!(!future.reached && !future.is_complete());
}

#[tokio::test]
async fn an_answer_to_a_question_is_waited_for_as_long_as_it_may_be_used() {
    let host = host().await;
    let mut client = host.client().await;
    let answer = client.check_admission(as_caller("*", question("acme/a", "1"))).await.unwrap().into_inner();
    assert_eq!(answer.outcome(), Outcome::Allow);
    let revision = quarantine(&host);
    let proof = host.hub.proof(revision);
    assert!(proof.answers_until.is_some_and(|until| until >= host.lease_until()) && !proof.is_complete());
    // A denial, and what is asked afterwards, hold nothing up.
    let denied = client.check_admission(as_caller("*", question("acme/a", "1"))).await.unwrap().into_inner();
    assert_eq!(denied.outcome(), Outcome::Deny);
    host.pass(LEASE);
    host.renew_lease();
    client.check_admission(as_caller("*", question("other/a", "1"))).await.unwrap();
    host.pass(1);
    assert!(host.hub.proof(revision).is_complete());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_answer_slips_between_a_quarantine_and_its_proof() {
    const ROUNDS: usize = 2_000;
    let host = host().await;
    let round = std::sync::Barrier::new(2);
    let asked = question("acme/a", "1");
    let (mut slipped, mut allowed) = (0, 0);
    std::thread::scope(|scope| {
        let asker = scope.spawn(|| {
            let query = wire::query_of(&asked);
            let mut answers = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                round.wait();
                let decision = host.hub.decide(&query, None);
                answers.push((decision.allows(), decision.revision, decision.valid_until));
                round.wait();
            }
            answers
        });
        // Each round has a lease of its own, so that no earlier round's booking stands for it.
        let proofs: Vec<_> = (0..ROUNDS)
            .map(|n| {
                host.publish([put("acme/a", "1", State::Active)]);
                host.index().extend_lease(host.now() + seconds(LEASE + i64::try_from(n).unwrap()));
                round.wait();
                let revision = quarantine(&host);
                let until = host.hub.proof(revision).answers_until;
                round.wait();
                (revision, until)
            })
            .collect();
        for ((allows, decided_at, valid_until), (revision, until)) in asker.join().unwrap().into_iter().zip(proofs) {
            allowed += usize::from(allows);
            slipped += usize::from(allows && decided_at < revision && until < Some(valid_until));
        }
    });
    assert_eq!(slipped, 0, "of {allowed} allows");
    assert!(allowed > 0);
}

#[tokio::test]
async fn a_copy_without_a_stream_is_waited_for_until_its_lease_ends() {
    let host = host().await;
    let request = as_caller("acme", proto::GetSnapshotRequest { scope: "acme".to_owned() });
    host.client().await.get_snapshot(request).await.unwrap();
    let revision = quarantine(&host);
    assert_eq!(pending(&host.hub.proof(revision)), ["caller"]);
    host.pass(LEASE);
    assert!(host.hub.proof(revision).is_complete());
    host.ticks(1);
    assert_eq!(host.hub.proof(revision).lapsed, 0, "and is then forgotten");
}

#[tokio::test]
async fn everything_may_have_changed_when_all_is_replaced() {
    let host = host().await;
    let mut watcher = host.watch("a", "other").await;
    watcher.reach(Revision(1)).await;
    host.hub.replace([], Revision(2)).unwrap();
    let proof = host.hub.proof(Revision(2));
    assert_eq!(pending(&proof), ["a"]);
    assert_eq!(proof.answers_until, Some(host.lease_until()));
}

/// A head of before the quarantine may live when the watcher's own lease, and with it the wait for it, is over.
#[tokio::test]
async fn who_comes_back_after_a_proof_is_never_told_a_head_of_before() {
    let host = Host::with([put("acme/a", "1", State::Active)]).await;
    let mut watcher = host.watch("away", "*").await;
    watcher.reach(Revision(1)).await;
    let copy = watcher.copy.clone();
    drop(watcher);
    host.until("the stream to be gone", |hub| hub.counters().watching == 0).await;
    host.pass(LEASE - 1);
    host.renew_lease();
    let older = host.publish([put("acme/a", "2", State::Active)]);
    let revision = quarantine(&host);
    host.pass(2);
    assert!(host.hub.proof(revision).is_complete(), "its lease is over, and so is the wait");
    let mut again = host.resume("away", copy).await;
    assert!(matches!(again.next().await, Message::Resumed(_)));
    let Message::Delta(missed) = again.next().await else { panic!("what was missed") };
    let head = again.copy.verified.clone().unwrap();
    assert_eq!((Revision(missed.from), Revision(missed.to), head.revision), (Revision(1), revision, revision));
    assert!(head.lease_until > host.now() && older < revision, "a head of before would live as long");
    again.copy.assert_equals(host.index());
    // What comes later is told step by step.
    let next = host.publish([put("acme/a", "3", State::Active)]);
    again.reach(next).await;
    again.copy.assert_equals(host.index());
}

#[tokio::test]
async fn what_was_missed_and_only_lowers_needs_no_head_and_anything_else_waits_for_one() {
    let host = host().await;
    let mut watcher = host.watch("away", "*").await;
    watcher.reach(Revision(1)).await;
    let copy = watcher.copy.clone();
    drop(watcher);
    quarantine(&host);
    let revision = host.publish([put("other/a", "1", State::Rejected)]);
    host.key_usable(false);
    let mut again = host.resume("away", copy.clone()).await;
    again.reach(revision).await;
    again.copy.assert_equals(host.index());
    drop(again);
    // A raise that waits for a head cannot be told as history yet, and is part of it once there is one.
    let raised = host.publish([put("acme/a", "2", State::Active)]);
    host.key_usable(true);
    let mut again = host.resume("away", copy).await;
    again.reach(raised).await;
    let next = quarantine(&host).max(host.publish([put("acme/a", "3", State::Active)]));
    again.reach(next).await;
    again.copy.assert_equals(host.index());
    assert_eq!((again.copy.snapshots, again.copy.resyncs), (1, 0));
}

/// A relay that cannot decide says that every lease is over. Its followers may still decide on theirs.
#[tokio::test]
async fn a_lease_is_over_only_when_that_is_sure() {
    let host = host().await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    drop(watcher);
    host.until("the stream to be gone", |hub| hub.counters().watching == 0).await;
    let revision = quarantine(&host);
    host.pass(LEASE + 100);
    host.may_be_late(101);
    host.ticks(1);
    assert_eq!(pending(&host.hub.proof(revision)), ["a"]);
    assert_eq!(host.hub.floor().pending, 1);
    host.may_be_late(100);
    assert!(host.hub.proof(revision).is_complete());
}

#[tokio::test]
async fn what_was_said_of_revisions_that_nobody_signed_counts_no_more() {
    let host = host().await;
    let mut watcher = host.watch("a", "*").await;
    watcher.reach(Revision(1)).await;
    host.hub.publish([put("acme/a", "1", State::Quarantined)], Revision(900)).unwrap();
    watcher.reach(Revision(900)).await;
    watcher.acknowledge(Revision(900)).await;
    host.until("the acknowledgement", |hub| hub.proof(Revision(900)).applied == 1).await;
    let entries = ["acme/a", "other/a"].map(|agent| wire::entry_bytes(&put(agent, "1", State::Active)));
    host.hub.restart_sent(entries.map(|bytes| wire::Sent::read(&bytes, Revision(1)).unwrap()), Revision(1));
    assert_eq!(host.index().revision(), Revision(1));
    let revision = quarantine(&host);
    assert_eq!(revision, Revision(2));
    assert_eq!(pending(&host.hub.proof(revision)), ["a"]);
}

/// A relay asks elsewhere where its copy is silent, and its caller may use the answer as long as one of the copy's.
#[tokio::test]
async fn an_answer_that_was_decided_elsewhere_is_waited_for_too_and_is_not_of_before() {
    let host = host().await;
    let asked = question("acme/a", "1");
    let elsewhere = Host::with([put("acme/a", "1", State::Active)]).await;
    let decision = elsewhere.hub.decide(&wire::query_of(&asked), None);
    assert!(decision.allows() && host.hub.pass_on("acme/a", &decision));
    let revision = quarantine(&host);
    assert!(!host.hub.proof(revision).is_complete());
    assert!(!host.hub.pass_on("acme/a", &decision), "it is of before the quarantine");
    host.pass(LEASE + 1);
    assert!(host.hub.proof(revision).is_complete());
}
