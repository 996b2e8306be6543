//! The process dies between any two steps: afterwards there is one legal state, and the work goes on.

use ostiary_record::{Gate, Outcome};

use super::{
    Bench,
    world::{LEASE, World},
};
use crate::{
    evidence::Standing,
    failpoint::Failpoint,
    lifecycle::StateName,
    ports::{GateCommitted, StoreError, Submit},
    sample,
};

/// The failpoints that a store passes itself; the others are the server's and the worker's.
const SUBMIT: [Failpoint; 2] = [Failpoint::SubmitWritten, Failpoint::SubmitCommitted];
const GATE: [Failpoint; 6] = [
    Failpoint::JobClaimed,
    Failpoint::CommitGuarded,
    Failpoint::CommitVersionWritten,
    Failpoint::CommitEvidenceWritten,
    Failpoint::CommitWritten,
    Failpoint::CommitDone,
];

/// A submission is there as a whole or not at all, and its repeat makes it whole.
pub async fn a_submission_survives_every_failpoint(bench: &dyn Bench) {
    let mut world = World::new(bench).await;
    for (number, point) in SUBMIT.into_iter().enumerate() {
        let label = format!("1.{number}.0");
        let submit = keyed(world.submission(&label).await, &label);
        world.failpoints.arm(point);
        let died = world.store.submit(submit.clone()).await;
        assert!(matches!(died, Err(StoreError::Crashed(_))), "{point}: {died:?}");
        world = world.restart().await;
        world.is_sound().await;
        let stored = world.store.version(&sample::key(&label)).await.expect("a look-up").is_some();
        assert_eq!(stored, point == Failpoint::SubmitCommitted, "{point}");
        let repeat = world.store.submit(submit).await.expect("the repeat");
        assert_eq!(repeat.repeated, stored, "{point}");
        world.run(Gate::Static, Outcome::Pass).await;
        world.run(Gate::Conformance, Outcome::Fail).await;
    }
}

fn keyed(submit: Submit, key: &str) -> Submit {
    let request = ostiary_canon::Digest::of(key.as_bytes());
    Submit { idempotency: Some(crate::ports::Idempotency { key: key.to_owned(), request }), ..submit }
}

/// Wherever a gate dies, the version is where it was or where it was going; then the gate is taken up again and ends once.
pub async fn a_gate_survives_every_failpoint(bench: &dyn Bench) {
    let mut world = World::new(bench).await;
    for (number, point) in GATE.into_iter().enumerate() {
        let label = format!("1.{number}.0");
        let key = world.submit(&label).await.version;
        world.failpoints.arm(point);
        die_in_the_static_gate(&world).await;
        assert!(world.failpoints.fired(), "{point} is not passed");
        world = world.restart().await;
        world.is_sound().await;

        let committed = point == Failpoint::CommitDone;
        let expected = if committed { StateName::StaticValidated } else { StateName::Draft };
        assert_eq!(world.state(&key).await, expected, "{point}");
        world.clock.pass(LEASE);
        if !committed {
            let again = world.run(Gate::Static, Outcome::Pass).await;
            assert!(matches!(again, GateCommitted::Done { .. }), "{point}: {again:?}");
        }
        assert_eq!(world.state(&key).await, StateName::StaticValidated, "{point}");
        let evidence = world.store.evidence_of(&key).await.expect("evidence");
        let decided = evidence.iter().filter(|e| e.standing == Standing::Decided).count();
        assert_eq!(decided, 1, "{point}: it moved once");
        world.run(Gate::Conformance, Outcome::Fail).await;
        world.is_sound().await;
    }
}

/// Claims, judges and commits, and stops where the failpoint says.
async fn die_in_the_static_gate(world: &World<'_>) {
    let claim = crate::ports::Claim { worker: "w".into(), gates: vec![Gate::Static], lease_for: LEASE };
    let claimed = match world.store.claim(claim).await {
        Ok(claimed) => claimed.expect("a job is due"),
        Err(StoreError::Crashed(_)) => return,
        Err(other) => panic!("{other}"),
    };
    let commit = world.judged(&claimed, Outcome::Pass).await;
    let died = world.store.commit_gate(commit).await;
    assert!(matches!(died, Err(StoreError::Crashed(_))), "{died:?}");
}
