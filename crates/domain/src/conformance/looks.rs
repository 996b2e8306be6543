//! Where reports, looks, people and crashes meet (P-03): who wins, and that nothing is done twice or by half.

use futures::future::join_all;
use ostiary_record::{Gate, Outcome};

use super::{
    Bench,
    drift::{claim, claimed, conclusion, holds, look, other_card, report, saw, saw_nothing, tell},
    world::{LEASE, World},
};
use crate::{
    drift::{Conclusion, DriftAction, Looked, NewDriftReport, Saw},
    evidence::Standing,
    failpoint::Failpoint,
    hold::HoldKind,
    lifecycle::StateName,
    names::{Actor, HoldId},
    ports::{Action, Refusal, StoreError},
    sample::{self, operator},
};

/// Passed by every look that writes; a report passes those of it that are about it.
const LOOK: [Failpoint; 5] = [
    Failpoint::CommitGuarded,
    Failpoint::CommitVersionWritten,
    Failpoint::CommitEvidenceWritten,
    Failpoint::CommitWritten,
    Failpoint::CommitDone,
];
const REPORT: [Failpoint; 3] = [Failpoint::CommitVersionWritten, Failpoint::CommitWritten, Failpoint::CommitDone];

/// What people or other failures did meanwhile counts; what the control plane saw itself counts more than a lifted hold.
pub async fn what_happened_meanwhile_counts(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let lift = async |world: &World<'_>| {
        let hold = world.version(&key).await.holds[0].id.clone();
        world.act(&key, Action::LiftHold(hold)).await.expect("a person lifts any hold");
    };

    // A person lifts the hold, and the card cannot be seen: the person's word stands.
    tell(&world, "router-1", other_card()).await;
    let open = claimed(&world).await;
    lift(&world).await;
    assert_eq!(tell(&world, "router-2", other_card()).await.action, DriftAction::Recorded, "not set again");
    assert_eq!(conclusion(&look(&world, saw_nothing(open)).await), Conclusion::Lifted);
    assert_eq!(holds(&world, &key).await, []);

    // The evidence is made anew: a renewal changes nothing about the card.
    tell(&world, "router-3", other_card()).await;
    world.ask_and_run(&key, Gate::Admission, Outcome::Pass).await;
    assert_eq!(holds(&world, &key).await, [HoldKind::Revalidating]);

    // A person lifts the hold, and the control plane sees another card: that is news to that person, too.
    let open = claimed(&world).await;
    lift(&world).await;
    let seen = saw(&world, open, other_card());
    assert_eq!(conclusion(&look(&world, seen).await), Conclusion::Quarantined);
    world.is_sound().await;
}

/// A version that leaves the road while it is looked at stays where it went; what was seen is kept.
pub async fn a_look_that_was_overtaken_moves_nothing(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    tell(&world, "router-1", other_card()).await;
    let open = claimed(&world).await;
    world.act(&key, Action::Quarantine).await.expect("a person quarantines");
    assert_eq!(tell(&world, "router-2", other_card()).await.action, DriftAction::Recorded);
    let before = world.version(&key).await.state;
    let seen = saw(&world, open, other_card());
    assert_eq!(conclusion(&look(&world, seen.clone()).await), Conclusion::Overtaken);
    let version = world.version(&key).await;
    assert_eq!((version.state, version.holds.len()), (before, 0), "the way out of quarantine is not blocked");
    let Saw::Card(sighting) = seen.saw else { panic!("a card was seen") };
    let id = sighting.evidence.expect("it differs").0.id;
    let kept = world.store.evidence(&id).await.expect("a look-up").expect("is kept");
    assert_eq!(kept.standing, Standing::Kept);

    // After an end there is nothing to hold.
    let world = world.restart().await;
    world.act(&key, Action::Deprecate { sunset: None }).await.expect("a person ends it");
    assert_eq!(tell(&world, "router-3", other_card()).await.action, DriftAction::Recorded);
    assert_eq!(claim(&world).await, None);
    world.is_sound().await;
}

/// Many report at the same time: one hold, one look.
pub async fn reports_at_the_same_time_are_one_revalidation(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let names: Vec<String> = (0..8).map(|n| format!("router-{n}")).collect();
    let told = join_all(names.iter().map(|name| tell(&world, name, other_card()))).await;
    assert!(told.iter().all(|told| told.action == DriftAction::Revalidating), "{told:?}");
    assert_eq!(holds(&world, &key).await, [HoldKind::Revalidating]);
    let (open, second) = (claimed(&world).await, claim(&world).await);
    assert_eq!(second, None, "it is handed out to one");
    world.clock.pass(LEASE);
    let taken_over = claimed(&world).await;
    let late = saw(&world, open, other_card());
    assert_eq!(look(&world, late).await, Looked::Late, "who was away too long changes nothing");
    let seen = saw(&world, taken_over, sample::subject("1.0.0").card);
    assert_eq!(conclusion(&look(&world, seen).await), Conclusion::Unfounded);
    world.is_sound().await;
}

/// Wherever a report dies, it is there as a whole or not at all, and its repeat makes it whole.
pub async fn a_report_survives_every_failpoint(bench: &dyn Bench) {
    let mut world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    for point in REPORT {
        let new = report(&world, &format!("router at {point}"), other_card());
        world.failpoints.arm(point);
        let died = world.store.report_drift(new.clone()).await;
        assert!(matches!(died, Err(StoreError::Crashed(_))), "{point}: {died:?}");
        world = world.restart().await;
        world.is_sound().await;
        let repeat = world.store.report_drift(new).await.expect("the repeat");
        assert_eq!((repeat.repeated, repeat.action), (point == Failpoint::CommitDone, DriftAction::Revalidating));
        assert_eq!(holds(&world, &key).await, [HoldKind::Revalidating], "{point}");
        let seen = saw(&world, claimed(&world).await, sample::subject("1.0.0").card);
        look(&world, seen).await;
    }
    world.is_sound().await;
}

/// Wherever a look dies, the version is where it was or where it was going, and another look ends it once.
pub async fn a_look_survives_every_failpoint(bench: &dyn Bench) {
    let mut world = World::new(bench).await;
    for (number, point) in LOOK.into_iter().enumerate() {
        let label = format!("1.0.{number}");
        let key = world.at(&label, StateName::RegistryAdmitted).await;
        let about = |world: &World<'_>| NewDriftReport { label: key.label.clone(), ..report(world, "r", other_card()) };
        world.store.report_drift(about(&world)).await.expect("it is taken");
        let seen = saw(&world, claimed(&world).await, other_card());
        world.failpoints.arm(point);
        let died = world.store.looked(seen).await;
        assert!(matches!(died, Err(StoreError::Crashed(_))), "{point}: {died:?}");
        world = world.restart().await;
        world.is_sound().await;
        let done = world.state(&key).await == StateName::Quarantined;
        assert_eq!(done, point == Failpoint::CommitDone, "{point}");
        world.clock.pass(LEASE);
        if !done {
            assert_eq!(holds(&world, &key).await, [HoldKind::Revalidating], "{point}");
            let seen = saw(&world, claimed(&world).await, other_card());
            assert_eq!(conclusion(&look(&world, seen).await), Conclusion::Quarantined, "{point}");
        }
        assert_eq!((world.state(&key).await, claim(&world).await), (StateName::Quarantined, None), "{point}");
        let evidence = world.store.evidence_of(&key).await.expect("evidence");
        let failed = evidence.iter().filter(|e| e.outcome == Outcome::Fail).count();
        assert_eq!(failed, 1, "{point}: it moved once");
        world.run(Gate::Conformance, Outcome::Fail).await;
        world.is_sound().await;
    }
}

/// Only the revalidator lifts its own hold; another machine does not.
pub async fn another_machine_lifts_no_revalidation(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    tell(&world, "router-1", other_card()).await;
    let hold: HoldId = world.version(&key).await.holds[0].id.clone();
    let act = |actor: Actor| crate::ports::Operate {
        version: key.clone(),
        row: None,
        actor,
        reason: "because".into(),
        action: Action::LiftHold(hold.clone()),
        idempotency: None,
    };
    let refused = world.store.operate(act(Actor::machine("router-1"))).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Hold(_)))), "{refused:?}");
    world.store.operate(act(operator())).await.expect("a person lifts any hold");
    world.is_sound().await;
}
