//! Leases: who may commit, and for how long.

use jiff::SignedDuration;
use ostiary_record::{Gate, Outcome};

use super::{
    Bench,
    world::{LEASE, World},
};
use crate::{
    change::Undone,
    evidence::Standing,
    job::{JobState, Lease, NewJob},
    lifecycle::StateName,
    names::JobId,
    ports::{Claim, Clock as _, Conflict, GateCommitted, StoreError},
};

fn lost(committed: &GateCommitted) -> bool {
    matches!(committed, GateCommitted::EvidenceKept { because: Undone::Conflict(Conflict::Lease(_)), .. })
}

/// The lease ran out and nobody else came: the result still moves nothing.
pub async fn an_expired_lease_cannot_commit(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.submit("1.0.0").await.version;
    let claimed = world.claim_of(Gate::Static).await;
    let commit = world.judged(&claimed, Outcome::Pass).await;
    world.clock.pass(LEASE);
    assert!(world.store.held(&claimed.1).await.expect("a look-up").is_none());
    let committed = world.store.commit_gate(commit).await.expect("a commit");
    assert!(lost(&committed), "{committed:?}");
    assert_eq!(world.state(&key).await, StateName::Draft);
    let evidence = world.store.evidence_of(&key).await.expect("evidence");
    assert_eq!(evidence.iter().map(|e| e.standing).collect::<Vec<_>>(), [Standing::Kept]);
    world.run(Gate::Static, Outcome::Pass).await;
    assert_eq!(world.state(&key).await, StateName::StaticValidated);
    world.is_sound().await;
}

/// The lease ran out and somebody else has the job: only the new holder's result counts.
pub async fn a_lease_that_went_to_somebody_else_cannot_commit(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.submit("1.0.0").await.version;
    let slow = world.claim_of(Gate::Static).await;
    assert!(world.claim().await.is_none(), "a lease that holds is nobody else's");
    world.clock.pass(LEASE);
    let fast = world.claim_of(Gate::Static).await;
    assert_eq!((fast.0.id.clone(), fast.1.epoch), (slow.0.id.clone(), slow.1.epoch + 1));
    assert_ne!(fast.1.token, slow.1.token);
    let (late, good) = (world.judged(&slow, Outcome::Fail).await, world.judged(&fast, Outcome::Pass).await);
    let (late, good) = futures::future::join(world.store.commit_gate(late), world.store.commit_gate(good)).await;
    assert!(lost(&late.expect("a commit")));
    assert!(matches!(good.expect("a commit"), GateCommitted::Done { .. }));
    assert_eq!(world.state(&key).await, StateName::StaticValidated);
    assert_eq!(world.store.evidence_of(&key).await.expect("evidence").len(), 2, "both are kept");
    world.is_sound().await;
}

/// A token that was never given out, and a true one for another gate, write nothing at all.
pub async fn a_lease_that_was_never_given_commits_nothing(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.submit("1.0.0").await.version;
    let claimed = world.claim_of(Gate::Static).await;
    let head = world.store.audit_head().await.expect("the head");
    let mut forged = world.judged(&claimed, Outcome::Pass).await;
    forged.lease.token = "guessed".into();
    let mut elsewhere = world.judged(&claimed, Outcome::Pass).await;
    elsewhere.evidence.gate = Gate::Security;
    for commit in [forged, elsewhere] {
        let refused = world.store.commit_gate(commit).await;
        assert!(matches!(refused, Err(StoreError::Conflict(Conflict::Lease(_)))), "{refused:?}");
    }
    let guessed = Lease { token: "guessed".into(), ..claimed.1.clone() };
    assert!(world.store.held(&guessed).await.expect("a look-up").is_none());
    assert!(world.store.heartbeat(&guessed, LEASE).await.is_err());
    assert!(world.store.give_back(&guessed, "no", None).await.is_err());
    assert_eq!(world.store.audit_head().await.expect("the head"), head);
    assert!(world.store.evidence_of(&key).await.expect("evidence").is_empty());
    assert!(world.store.held(&claimed.1).await.expect("a look-up").is_some(), "the honest holder still holds it");
}

/// A heartbeat keeps the job; one that comes too late does not bring it back.
pub async fn a_heartbeat_prolongs_and_a_late_one_does_not(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.submit("1.0.0").await;
    let (_, lease) = world.claim_of(Gate::Static).await;
    world.clock.pass(SignedDuration::from_secs(59));
    let prolonged = world.store.heartbeat(&lease, LEASE).await.expect("the lease holds");
    assert_eq!(prolonged.until, world.clock.now() + LEASE);
    world.clock.pass(SignedDuration::from_secs(59));
    assert!(world.claim().await.is_none());
    world.clock.pass(SignedDuration::from_secs(1));
    let late = world.store.heartbeat(&prolonged, LEASE).await;
    assert!(matches!(late, Err(StoreError::Conflict(Conflict::Lease(_)))), "{late:?}");
    world.claim_of(Gate::Static).await;
}

/// A worker that heard no answer asks again, and nothing happens twice.
pub async fn a_result_is_committed_once(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.submit("1.0.0").await.version;
    let claimed = world.claim_of(Gate::Static).await;
    let commit = world.judged(&claimed, Outcome::Pass).await;
    let GateCommitted::Done { revision, next, .. } = world.store.commit_gate(commit.clone()).await.expect("a commit")
    else {
        panic!("nothing changed meanwhile")
    };
    assert!(next.is_some());
    let again = world.store.commit_gate(commit).await.expect("a repeat");
    assert_eq!(again, GateCommitted::Repeated { revision });
    assert_eq!(world.store.evidence_of(&key).await.expect("evidence").len(), 1);
    assert_eq!(world.store.jobs_of(&key).await.expect("jobs").len(), 2);
    world.is_sound().await;
}

/// A worker that could not run says so: the job waits, or ends.
pub async fn a_job_is_given_back_or_given_up(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.submit("1.0.0").await;
    let (job, lease) = world.claim_of(Gate::Static).await;
    let later = world.clock.now() + SignedDuration::from_mins(5);
    world.store.give_back(&lease, "unreachable", Some(later)).await.expect("given back");
    assert!(world.claim().await.is_none(), "it is not due");
    world.clock.pass(SignedDuration::from_mins(5));
    let (again, lease) = world.claim_of(Gate::Static).await;
    assert_eq!((again.id.clone(), again.tries, again.last_error.as_deref()), (job.id, 2, Some("unreachable")));
    world.store.give_back(&lease, "no such host", None).await.expect("given up");
    let ended = world.store.job(&again.id).await.expect("a look-up").expect("the job");
    assert_eq!(ended.state, JobState::Failed);
    assert!(world.claim().await.is_none());
}

/// A job whose workers all died does not take the next one down.
pub async fn a_job_that_kills_workers_is_given_up(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.submit("1.0.0").await.version;
    let mut tries = 0;
    while world.claim().await.is_some() {
        tries += 1;
        assert!(tries <= 10, "it is claimed for ever");
        world.clock.pass(LEASE);
    }
    assert_eq!(tries, 5);
    let jobs = world.store.jobs_of(&key).await.expect("jobs");
    assert_eq!(jobs.iter().map(|j| j.state).collect::<Vec<_>>(), [JobState::Failed]);
    assert_eq!(world.state(&key).await, StateName::Draft, "could not run is no verdict");
}

/// Asking twice for a gate queues it once.
pub async fn one_open_job_for_each_gate(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let submitted = world.submit("1.0.0").await;
    let again = NewJob { id: JobId("another".into()), version: submitted.version.clone(), gate: Gate::Static };
    assert_eq!(world.store.enqueue(again.clone()).await.expect("the open one"), submitted.job);
    world.run(Gate::Static, Outcome::Inconclusive).await;
    assert_eq!(world.state(&submitted.version).await, StateName::Draft);
    assert_eq!(world.store.enqueue(again).await.expect("a new one"), JobId("another".into()));
}

/// A worker that cannot run a gate is not given it.
pub async fn only_wanted_gates_are_claimed(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.submit("1.0.0").await;
    let claim = |gate| Claim { worker: "w".into(), gates: vec![gate], lease_for: LEASE };
    assert!(world.store.claim(claim(Gate::Security)).await.expect("a claim").is_none());
    assert!(world.store.claim(claim(Gate::Static)).await.expect("a claim").is_some());
}
