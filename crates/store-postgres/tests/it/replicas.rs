//! Several servers on one database: each a store of its own, with its own connections and its own ids.

use std::collections::BTreeSet;

use futures::future::join_all;
use ostiary_canon::{Digest, Revision};
use ostiary_domain::{
    JobId,
    audit::{genesis, verify},
    conformance::world::{LEASE, World},
    job::NewJob,
    ports::{AuditLog as _, Claim, Conflict, GateCommitted, Idempotency, Queue as _, StoreError, Versions as _},
};
use ostiary_record::{Gate, Outcome};
use ostiary_store_postgres::{Hints, PostgresStore};

use crate::bench::{DatabaseBench, ports_from};

/// The world's store, and `count` more on the same database.
async fn replicas(bench: &DatabaseBench, count: u64) -> Vec<PostgresStore> {
    let open = (1..=count).map(|n| bench.another(ports_from(n * 100_000)));
    join_all(open).await
}

fn claim(worker: &str) -> Claim {
    Claim { worker: worker.into(), gates: Gate::ALL.into(), lease_for: LEASE }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_request_sent_to_every_server_is_one_submission() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 4).await;
    let mut submit = world.submission("1.0.0").await;
    submit.idempotency = Some(Idempotency { key: "k".into(), request: Digest::of(b"request") });
    let answers = join_all(servers.iter().map(|server| server.submit(submit.clone()))).await;
    let answers: Vec<_> = answers.into_iter().map(|answer| answer.expect("a submission")).collect();
    assert_eq!(answers.iter().filter(|answer| !answer.repeated).count(), 1, "{answers:?}");
    assert_eq!(answers.iter().map(|answer| answer.revision).collect::<BTreeSet<_>>().len(), 1);
    assert_eq!(world.store.versions(&submit.agent).await.expect("versions").len(), 1);
    world.is_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn submissions_to_every_server_make_revisions_without_a_gap() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 4).await;
    let before = world.store.revision().await.expect("a revision");
    let mut submissions = Vec::new();
    for n in 0..40 {
        submissions.push(world.submission(&format!("1.{n}.0")).await);
    }
    let sent = submissions.into_iter().zip(servers.iter().cycle()).map(|(submit, server)| server.submit(submit));
    let taken: BTreeSet<Revision> =
        join_all(sent).await.into_iter().map(|answer| answer.expect("a submission").revision).collect();
    let expected: BTreeSet<Revision> = (1..=40).map(|n| Revision(before.0 + n)).collect();
    assert_eq!(taken, expected);
    let entries = servers[0].audit(Revision(0), u32::MAX).await.expect("the audit");
    let head = servers[1].audit_head().await.expect("the head");
    assert_eq!(verify((Revision(0), genesis()), &entries, Some(head)), Ok(head));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_of_every_server_claim_each_job_once() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 4).await;
    for n in 0..12 {
        world.submit(&format!("1.{n}.0")).await;
    }
    let claims = servers.iter().cycle().take(16).map(|server| server.claim(claim("w")));
    let claimed: Vec<JobId> =
        join_all(claims).await.into_iter().filter_map(|c| c.expect("a claim")).map(|(job, _)| job.id).collect();
    let distinct: BTreeSet<&JobId> = claimed.iter().collect();
    assert_eq!((claimed.len(), distinct.len()), (12, 12), "every job once, and nobody waits for another's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_that_ask_for_one_gate_queue_it_once() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 4).await;
    let version = world.submit("1.0.0").await.version;
    world.run(Gate::Static, Outcome::Pass).await;
    let ask = servers.iter().enumerate().map(|(n, server)| {
        server.enqueue(NewJob { id: JobId(format!("j{n}")), version: version.clone(), gate: Gate::Static })
    });
    let ids: BTreeSet<JobId> = join_all(ask).await.into_iter().map(|id| id.expect("a job")).collect();
    assert_eq!(ids.len(), 1, "{ids:?}");
}

/// Two servers took the upload of one run: a client that heard no answer asked the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_result_sent_to_two_servers_is_committed_once() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 2).await;
    let version = world.submit("1.0.0").await.version;
    let claimed = world.claim_of(Gate::Static).await;
    let commit = world.judged(&claimed, Outcome::Pass).await;
    let sent = join_all(servers.iter().map(|server| server.commit_gate(commit.clone()))).await;
    let sent: Vec<_> = sent.into_iter().map(|committed| committed.expect("a commit")).collect();
    assert_eq!(sent.iter().filter(|c| matches!(c, GateCommitted::Done { .. })).count(), 1, "{sent:?}");
    assert_eq!(sent.iter().filter(|c| matches!(c, GateCommitted::Repeated { .. })).count(), 1, "{sent:?}");
    assert_eq!(world.store.evidence_of(&version).await.expect("evidence").len(), 1);
    world.is_sound().await;
}

/// The lease ran out while the result was on its way: whoever comes first, both cannot win.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_late_result_and_the_next_claim_on_another_server_do_not_both_win() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 1).await;
    let version = world.submit("1.0.0").await.version;
    let slow = world.claim_of(Gate::Static).await;
    let late = world.judged(&slow, Outcome::Pass).await;
    // The clocks of `servers` stand; the world's has moved past the lease.
    world.clock.pass(LEASE);
    let next = async { world.claim().await };
    let (committed, next) = futures::join!(servers[0].commit_gate(late), next);
    match (committed.expect("a commit"), next) {
        (GateCommitted::Done { .. }, None) => {}
        (GateCommitted::Done { .. }, Some((job, _))) => assert_eq!(job.gate, Gate::Conformance, "the next gate's"),
        (GateCommitted::EvidenceKept { .. }, Some((job, lease))) => {
            assert_eq!((job.id, lease.epoch), (slow.0.id, slow.1.epoch + 1));
        }
        both => panic!("{version}: {both:?}"),
    }
    world.is_sound().await;
}

/// Heartbeats and results of one lease, from everywhere at once: nothing waits in a circle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_busy_queue_and_busy_gates_do_not_wait_in_a_circle() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let servers = replicas(&bench, 3).await;
    let mut commits = Vec::new();
    for n in 0..8 {
        world.submit(&format!("1.{n}.0")).await;
        let claimed = world.claim_of(Gate::Static).await;
        commits.push((world.judged(&claimed, Outcome::Pass).await, claimed.1));
    }
    let work = commits.iter().map(|(commit, lease)| async {
        let (committed, ..) = futures::join!(
            servers[0].commit_gate(commit.clone()),
            servers[1].heartbeat(lease, LEASE),
            servers[2].claim(claim("other")),
        );
        committed.expect("a commit")
    });
    let committed = join_all(work).await;
    assert!(committed.iter().all(|c| matches!(c, GateCommitted::Done { .. })), "{committed:?}");
    world.is_sound().await;
}

async fn heard(hints: &mut Hints) -> bool {
    tokio::time::timeout(std::time::Duration::from_secs(20), hints.next()).await.is_ok()
}

#[tokio::test]
async fn what_one_server_writes_wakes_the_other() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let other = bench.another(ports_from(100_000)).await;
    let mut hints = other.hints();
    assert!(heard(&mut hints).await, "the first hint says that listening began");
    world.submit("1.0.0").await;
    assert!(heard(&mut hints).await, "a new revision rings");
    // A move of the queue makes no revision, and must not ring: whatever rings next is the submission.
    world.claim_of(Gate::Static).await;
    let quiet = tokio::time::timeout(std::time::Duration::from_millis(300), hints.next()).await;
    assert!(quiet.is_err(), "a claim makes no revision");
}

#[tokio::test]
async fn a_view_that_is_old_on_one_server_loses_on_another() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let other = bench.another(ports_from(100_000)).await;
    let submit = world.submission("1.0.0").await;
    world.store.submit(submit.clone()).await.expect("a submission");
    let again = other.submit(submit).await;
    assert!(matches!(again, Err(StoreError::Conflict(Conflict::TryOpen(_)))), "{again:?}");
}
