//! Two writers at the same time: exactly one wins, and nothing that the other found out is lost.

use futures::future::join;
use ostiary_canon::Digest;
use ostiary_record::{Gate, Outcome};

use super::{Bench, world::World};
use crate::{
    change::Undone,
    evidence::Standing,
    job::JobState,
    lifecycle::StateName,
    names::{HoldId, JobId},
    policy::Policy,
    ports::{Action, Conflict, GateCommitted, HoldRequest, Idempotency, Operate, StoreError},
    sample::operator,
};

fn done(committed: &GateCommitted) -> bool {
    matches!(committed, GateCommitted::Done { .. })
}

/// Two gates of one version, judged on the same row, committed at the same time.
pub async fn two_results_on_one_row_exactly_one_wins(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    for (gate, job) in [(Gate::Conformance, "j1"), (Gate::Security, "j2")] {
        let ask = Action::RequestGate { gate, job: JobId(job.into()) };
        world.act(&key, ask).await.expect("the gate can be asked for");
    }
    let (one, other) = (world.claim_of(Gate::Conformance).await, world.claim_of(Gate::Security).await);
    let (first, second) = (world.judged(&one, Outcome::Fail).await, world.judged(&other, Outcome::Fail).await);
    let (first, second) = join(world.store.commit_gate(first), world.store.commit_gate(second)).await;
    let committed = [first.expect("a commit"), second.expect("a commit")];
    assert_eq!(committed.iter().filter(|c| done(c)).count(), 1, "{committed:?}");
    let lost = committed.iter().find(|c| !done(c)).expect("one lost");
    let GateCommitted::EvidenceKept { because: Undone::Conflict(Conflict::Row(_)), .. } = lost else {
        panic!("{lost:?}")
    };
    let evidence = world.store.evidence_of(&key).await.expect("evidence");
    let standings: Vec<Standing> = evidence.iter().skip(6).map(|e| e.standing).collect();
    assert_eq!(standings.len(), 2, "the loser's evidence is kept");
    assert_eq!(standings.iter().filter(|s| **s == Standing::Kept).count(), 1);
    assert_eq!(world.version(&key).await.holds.len(), 1, "and sets no hold");
    let jobs = world.store.jobs_of(&key).await.expect("jobs");
    let again = jobs.iter().filter(|j| j.state == JobState::Queued).count();
    assert_eq!(again, 1, "the loser's gate is run again");
    world.is_sound().await;
}

/// A quarantine between look and commit wins over the promotion.
pub async fn an_act_beats_a_result_that_looked_before(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Canary).await;
    let ask = Action::RequestGate { gate: Gate::Active, job: JobId("j1".into()) };
    world.act(&key, ask).await.expect("the gate can be asked for");
    let claimed = world.claim_of(Gate::Active).await;
    let promotion = world.judged(&claimed, Outcome::Pass).await;
    world.act(&key, Action::Quarantine).await.expect("a quarantine");
    let committed = world.store.commit_gate(promotion).await.expect("a commit");
    let GateCommitted::EvidenceKept { because: Undone::Conflict(Conflict::State { expected, found, .. }), .. } =
        committed
    else {
        panic!("{committed:?}")
    };
    assert_eq!((expected, found), (StateName::Canary, StateName::Quarantined));
    assert_eq!(world.state(&key).await, StateName::Quarantined);
    let job = world.store.job(&claimed.0.id).await.expect("a look-up").expect("the job");
    assert_eq!(job.state, JobState::Failed, "a moot job is not run again");
    world.is_sound().await;
}

/// Two people act on the row that both looked at.
pub async fn two_acts_on_one_row_exactly_one_wins(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let row = world.version(&key).await.row;
    let act = |id: &str| Operate {
        version: key.clone(),
        row: Some(row),
        actor: operator(),
        reason: "because".into(),
        action: Action::SetHold(HoldRequest {
            id: HoldId(id.into()),
            kind: crate::HoldKind::RouteDisabled,
            scope: crate::Scope::Everything,
        }),
        idempotency: None,
    };
    let (first, second) = join(world.store.operate(act("h1")), world.store.operate(act("h2"))).await;
    let lost = [first.err(), second.err()].into_iter().flatten().collect::<Vec<_>>();
    assert!(matches!(lost[..], [StoreError::Conflict(Conflict::Row(_))]), "{lost:?}");
    assert_eq!(world.version(&key).await.holds.len(), 1);
    world.is_sound().await;
}

/// Idempotent submission, also when the repeat overtakes.
pub async fn submissions_at_the_same_time_are_one_try(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let mut submit = world.submission("1.0.0").await;
    submit.idempotency = Some(Idempotency { key: "k".into(), request: Digest::of(b"request") });
    let (first, second) = join(world.store.submit(submit.clone()), world.store.submit(submit.clone())).await;
    let (first, second) = (first.expect("a submission"), second.expect("a submission"));
    assert_eq!((&first.version, &first.job, first.revision), (&second.version, &second.job, second.revision));
    assert_ne!(first.repeated, second.repeated);
    let later = world.store.submit(submit.clone()).await.expect("a repeat");
    assert_eq!((later.revision, later.repeated), (first.revision, true));
    submit.idempotency = Some(Idempotency { key: "k".into(), request: Digest::of(b"another") });
    let other = world.store.submit(submit).await;
    assert!(matches!(other, Err(StoreError::Conflict(Conflict::IdempotencyKey(_)))), "{other:?}");
    assert_eq!(world.store.versions(&first.version.agent).await.expect("versions").len(), 1);
    world.is_sound().await;
}

/// L-07: what was judged by a policy that is no longer in force admits nobody.
pub async fn another_policy_in_force_keeps_the_evidence_only(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.submit("1.0.0").await.version;
    let claimed = world.claim_of(Gate::Static).await;
    let commit = world.judged(&claimed, Outcome::Pass).await;
    let tighter = Policy { version: 2, ..Policy::one() };
    world.store.put_policy(tighter.clone(), operator()).await.expect("a policy");
    let committed = world.store.commit_gate(commit).await.expect("a commit");
    let GateCommitted::EvidenceKept { because: Undone::Conflict(Conflict::Policy), .. } = committed else {
        panic!("{committed:?}")
    };
    assert_eq!(world.state(&key).await, StateName::Draft);
    assert_eq!(world.store.current_policy().await.expect("a look-up"), Some(tighter));
    let old = Policy::one();
    assert_eq!(world.store.policy(&old.digest()).await.expect("a look-up"), Some(old), "the old one is still readable");
    world.claim_of(Gate::Static).await;
    world.is_sound().await;
}
