//! Versions move as the lifecycle says, and what they carry stays.

use ostiary_canon::Digest;
use ostiary_record::{Gate, Outcome};

use super::{Bench, world::World};
use crate::{
    approval::{Edge, NewApproval},
    evidence::Standing,
    hold::{HoldKind, Scope},
    lifecycle::StateName,
    names::{Actor, ApprovalId, Attempt, EnvironmentName, HoldId, RowVersion, VersionRef},
    policy::Policy,
    ports::{Action, Conflict, GateCommitted, HoldRequest, Idempotency, Operate, Refusal, StoreError},
    route::RouteError,
    sample::{hour, judge, operator, publisher, subject},
};

/// L-01: each gate moves the version on, queues the next up to admission, and keeps its evidence.
pub async fn a_version_walks_from_draft_to_active(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    assert!(world.claim().await.is_none(), "nothing is left to do");
    let evidence = world.store.evidence_of(&key).await.expect("evidence");
    assert_eq!(evidence.iter().map(|e| e.gate).collect::<Vec<_>>(), Gate::ALL);
    assert!(evidence.iter().all(|e| e.standing == Standing::Decided));
    let version = world.version(&key).await;
    assert_eq!((version.row, version.holds.len()), (RowVersion(6), 0));
    let first = evidence.first().expect("evidence");
    assert_eq!(world.store.report(&first.id).await.expect("a report").as_deref(), Some(&b"{}"[..]));
    world.is_sound().await;
}

/// What a reader sees after a restart is what it saw before.
pub async fn what_is_stored_survives_a_restart(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Canary).await;
    let hold = HoldRequest { id: HoldId("h".into()), kind: HoldKind::CanaryStopped, scope: Scope::Everything };
    world.act(&key, Action::SetHold(hold)).await.expect("a hold");
    let seen = |world: &World<'_>| {
        let (store, key) = (world.store.clone(), key.clone());
        async move {
            let version = store.version(&key).await.expect("a look-up");
            let route = store.route(&key.agent).await.expect("a route");
            let evidence = store.evidence_of(&key).await.expect("evidence");
            let jobs = store.jobs_of(&key).await.expect("jobs");
            (version, route, evidence, jobs, store.audit_head().await.expect("the head"))
        }
    };
    let before = seen(&world).await;
    let world = world.restart().await;
    assert_eq!(seen(&world).await, before);
    world.is_sound().await;
}

/// Attempts: a label comes back only after its try ended, and starts from nothing.
pub async fn a_label_is_submitted_again_only_after_its_try_ended(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let first = world.submit("1.0.0").await.version;
    let again = world.submission("1.0.0").await;
    let open = world.store.submit(again.clone()).await.expect_err("the try is open");
    assert!(matches!(open, StoreError::Conflict(Conflict::TryOpen(ref key)) if *key == first), "{open}");
    world.run(Gate::Static, Outcome::Fail).await;
    assert_eq!(world.state(&first).await, StateName::Rejected);
    let second = world.store.submit(again).await.expect("the label is free").version;
    assert_eq!(second, VersionRef { attempt: Attempt(2), ..first.clone() });
    assert_eq!(world.state(&second).await, StateName::Draft);
    assert!(world.store.evidence_of(&second).await.expect("evidence").is_empty(), "new evidence only");
    assert_eq!(world.state(&first).await, StateName::Rejected);
    world.is_sound().await;
}

/// Nothing is half-stored for a submission that names what is not there.
pub async fn a_submission_names_only_what_is_there(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let good = world.submission("1.0.0").await;
    let head = world.store.audit_head().await.expect("the head");
    let mut namespace = good.clone();
    namespace.agent = "nobody/planner".parse().expect("a name");
    let mut bundle = good.clone();
    bundle.submission.bundle = Digest::of(b"never stored");
    let mut environment = good.clone();
    environment.submission.environment = EnvironmentName("nowhere".into());
    for (what, submit) in [("namespace", namespace), ("bundle", bundle), ("environment", environment)] {
        match world.store.submit(submit).await {
            Err(StoreError::Refused(Refusal::Unknown { what: found, .. })) => assert_eq!(found, what),
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(world.store.audit_head().await.expect("the head"), head);
    assert!(world.claim().await.is_none());
    world.store.submit(good).await.expect("the honest twin is taken");
}

/// After admission: a first failure holds, a second quarantines, and only fresh runs and an approval lead back (L-04, L-10).
pub async fn failure_then_hold_then_quarantine_then_release(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    world.ask_and_run(&key, Gate::Conformance, Outcome::Fail).await;
    let held = world.version(&key).await;
    assert_eq!((held.state.name(), held.holds.len()), (StateName::Active, 1));
    assert_eq!(held.holds.first().map(|h| h.kind), Some(HoldKind::RouteDisabled));
    world.ask_and_run(&key, Gate::Conformance, Outcome::Fail).await;
    assert_eq!(world.state(&key).await, StateName::Quarantined);
    world.is_sound().await;

    world.ask_and_run(&key, Gate::Conformance, Outcome::Pass).await;
    world.run(Gate::Security, Outcome::Pass).await;
    world.run(Gate::Canary, Outcome::Pass).await;
    assert_eq!(world.state(&key).await, StateName::Canary);
    assert_eq!(world.version(&key).await.holds, held.holds, "the hold stays until a person lifts it");
    let id = held.holds.first().expect("a hold").id.clone();
    let lifted = world.act(&key, Action::LiftHold(id.clone())).await.expect("a person lifts it");
    assert!(lifted.version.holds.is_empty());
    let twice = world.act(&key, Action::LiftHold(id)).await;
    assert!(matches!(twice, Err(StoreError::Refused(Refusal::Hold(_)))));
    world.is_sound().await;
}

/// L-11.
pub async fn a_rollback_is_one_step(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let old = world.at("1.0.0", StateName::Active).await;
    let new = world.at("2.0.0", StateName::Active).await;
    assert_eq!(world.state(&old).await, StateName::RegistryAdmitted);
    let rolled = world.act(&new, Action::Rollback { hold: HoldId("h".into()) }).await.expect("one step");
    assert_eq!(rolled.version.state.name(), StateName::RegistryAdmitted);
    assert_eq!(rolled.version.holds.first().map(|h| h.kind), Some(HoldKind::RouteDisabled));
    assert_eq!(world.state(&old).await, StateName::Active);
    let twice = world.act(&old, Action::Rollback { hold: HoldId("h2".into()) }).await;
    assert!(matches!(twice, Err(StoreError::Refused(Refusal::Route(RouteError::NoPrevious)))));
    world.is_sound().await;
}

/// Approvals are a person's, not the submitter's, and for these digests.
pub async fn approvals_are_kept_to_their_rules(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::RegistryAdmitted).await;
    let approval = |id: &str, actor: Actor| NewApproval {
        id: ApprovalId(id.into()),
        version: key.clone(),
        edge: Edge::Release,
        actor,
        manifest: subject("1.0.0").manifest,
        policy: Policy::one().digest(),
        reason: "looked at it".into(),
        expires_at: hour(2),
        idempotency: None,
    };
    let mut other = approval("a", operator());
    other.manifest = Digest::of(b"other");
    for refused in [approval("a", publisher()), approval("a", judge()), other] {
        let refused = world.store.approve(refused).await;
        assert!(matches!(refused, Err(StoreError::Refused(Refusal::Approval(_)))), "{refused:?}");
    }
    let given = world.store.approve(approval("a", operator())).await.expect("the honest twin");
    assert_eq!(world.store.approvals_of(&key).await.expect("approvals"), std::slice::from_ref(&given));
    let by_key = |id: &str| NewApproval {
        idempotency: Some(Idempotency { key: "k".into(), request: Digest::of(b"consent") }),
        ..approval(id, operator())
    };
    let second = world.store.approve(by_key("b")).await.expect("another consent");
    assert_eq!(world.store.approve(by_key("c")).await.expect("a repeat"), second);
    assert_eq!(world.store.approvals_of(&key).await.expect("approvals"), [given, second]);
    world.is_sound().await;
}

/// A refusal by the route loses the transition and keeps the evidence.
pub async fn a_second_canary_is_refused_and_its_evidence_kept(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let first = world.at("1.0.0", StateName::Canary).await;
    let second = world.at("2.0.0", StateName::RegistryAdmitted).await;
    let committed = world.ask_and_run(&second, Gate::Canary, Outcome::Pass).await;
    let GateCommitted::EvidenceKept { because, .. } = committed else { panic!("{committed:?}") };
    assert_eq!(because, Refusal::Route(RouteError::CanaryTaken(first)).into());
    assert_eq!(world.state(&second).await, StateName::RegistryAdmitted);
    let evidence = world.store.evidence_of(&second).await.expect("evidence");
    assert_eq!(evidence.last().map(|e| (e.gate, e.standing)), Some((Gate::Canary, Standing::Kept)));
    world.is_sound().await;
}

/// A repeated request gets the first answer; the key for another request is a conflict.
pub async fn acts_repeat_by_their_key(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let act = |request: &[u8]| Operate {
        version: key.clone(),
        row: None,
        actor: operator(),
        reason: "it leaks".into(),
        action: Action::Quarantine,
        idempotency: Some(Idempotency { key: "k".into(), request: Digest::of(request) }),
    };
    let first = world.store.operate(act(b"one")).await.expect("an act");
    let repeat = world.store.operate(act(b"one")).await.expect("a repeat");
    assert_eq!((first.repeated, repeat.repeated, repeat.revision), (false, true, first.revision));
    let other = world.store.operate(act(b"two")).await;
    assert!(matches!(other, Err(StoreError::Conflict(Conflict::IdempotencyKey(_)))));
    world.is_sound().await;
}
