//! Drift (P-03): what a report begins, what the control plane's own look ends, and who wins where things meet.

use bytes::Bytes;
use ostiary_canon::Digest;
use ostiary_record::{Gate, Outcome};

use super::{
    Bench,
    world::{LEASE, World},
};
use crate::{
    drift::{
        Claim, Conclusion, DriftAction, DriftFinding, DriftKind, DriftReported, Look, Looked, MOST_REPORTS,
        NewDriftReport, Revalidation, Saw, Sighting, UNFOUNDED_FOR, observer, revalidator,
    },
    evidence::{NewEvidence, Standing},
    hold::HoldKind,
    lifecycle::StateName,
    names::{Actor, DriftReportId, EvidenceId, VersionRef},
    ports::{Clock as _, Conflict, Idempotency, Ids as _, Refusal, StoreError},
    sample,
};

pub(super) fn other_card() -> Digest {
    Digest::of(b"a card that nobody admitted")
}

/// A report of `reporter` that it saw `card`, under a key of its own.
pub(super) fn report(world: &World<'_>, reporter: &str, card: Digest) -> NewDriftReport {
    let key = world.ids.next("key");
    let now = world.clock.now();
    NewDriftReport {
        id: DriftReportId(world.ids.next("drift")),
        agent: sample::agent(),
        label: "1.0.0".parse().expect("a label"),
        by: Actor::machine(reporter),
        key: Idempotency { request: Digest::of(key.as_bytes()), key },
        claim: Claim {
            router_id: format!("{reporter}-eu"),
            kind: DriftKind::Card,
            finding: DriftFinding::Mismatch,
            expected: Some(sample::subject("1.0.0").card),
            observed: Some(card),
            first_seen: now,
            last_seen: now,
            count: 1,
            sample_reference: None,
        },
    }
}

pub(super) async fn tell(world: &World<'_>, reporter: &str, card: Digest) -> DriftReported {
    world.store.report_drift(report(world, reporter, card)).await.expect("a report is taken")
}

/// The hold kinds on the version, in the order in which they were set.
pub(super) async fn holds(world: &World<'_>, key: &VersionRef) -> Vec<HoldKind> {
    world.version(key).await.holds.iter().map(|hold| hold.kind).collect()
}

pub(super) async fn claim(world: &World<'_>) -> Option<Revalidation> {
    world.store.claim_revalidation(LEASE).await.expect("a claim")
}

pub(super) async fn claimed(world: &World<'_>) -> Revalidation {
    claim(world).await.expect("a look is due")
}

/// What a look says that saw `card`.
pub(super) fn saw(world: &World<'_>, claimed: Revalidation, card: Digest) -> Look {
    let differs = card != sample::subject("1.0.0").card;
    let evidence = NewEvidence {
        id: EvidenceId(world.ids.next("ev")),
        verified_at: world.clock.now(),
        ..sample::evidence("1.0.0", Gate::Admission, Outcome::Fail, 0)
    };
    let evidence = differs.then(|| (evidence, Bytes::from_static(b"{}")));
    Look { claimed, saw: Saw::Card(Box::new(Sighting { card, evidence })) }
}

pub(super) fn saw_nothing(claimed: Revalidation) -> Look {
    Look { claimed, saw: Saw::Nothing { why: "connection refused".into() } }
}

pub(super) async fn look(world: &World<'_>, look: Look) -> Looked {
    world.store.looked(look).await.expect("a look is written")
}

pub(super) fn conclusion(looked: &Looked) -> Conclusion {
    match looked {
        Looked::Concluded { conclusion, .. } => *conclusion,
        other => panic!("it is over, not {other:?}"),
    }
}

/// The same key is the same report, also after a restart; the same key for something else is refused.
pub async fn a_report_is_taken_once(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::Active).await;
    let new = report(&world, "router-1", other_card());
    let first = world.store.report_drift(new.clone()).await.expect("it is taken");
    assert_eq!((first.action, first.repeated), (DriftAction::Revalidating, false));
    let world = world.restart().await;
    let again = world.store.report_drift(NewDriftReport { id: DriftReportId("x".into()), ..new.clone() }).await;
    assert_eq!(again.expect("the answer of then"), DriftReported { repeated: true, ..first.clone() });
    let key = Idempotency { request: Digest::of(b"something else"), ..new.key.clone() };
    let other = world.store.report_drift(NewDriftReport { key, ..new.clone() }).await;
    assert!(matches!(other, Err(StoreError::Conflict(Conflict::IdempotencyKey(_)))), "{other:?}");
    let mine = world.store.report_drift(NewDriftReport { by: Actor::machine("router-2"), ..new }).await;
    assert!(mine.is_err() || !mine.expect("taken").repeated, "a key is its reporter's own");
    let label = "1.0.0".parse().expect("a label");
    let listed = world.store.drift_reports(&sample::agent(), &label, 10).await.expect("a list");
    let kept = listed.iter().find(|report| report.id == first.id).expect("it is listed");
    assert_eq!((kept.by.name.as_str(), kept.claim.observed), ("router-1", Some(other_card())));
    world.is_sound().await;
}

/// Only another card that nobody admitted begins anything; every report is in the audit under its reporter's name.
pub async fn only_another_card_begins_a_revalidation(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    world.at("2.0.0", StateName::RegistryAdmitted).await;
    let card = |label| sample::subject(label).card;
    assert_eq!(tell(&world, "router-1", card("1.0.0")).await.action, DriftAction::Matches);
    assert_eq!(tell(&world, "router-1", card("2.0.0")).await.action, DriftAction::RollOut);
    for (kind, finding) in [
        (DriftKind::Card, DriftFinding::Unreachable),
        (DriftKind::Contract, DriftFinding::Mismatch),
        (DriftKind::Producer, DriftFinding::Mismatch),
        (DriftKind::Identity, DriftFinding::Mismatch),
        (DriftKind::Behavior, DriftFinding::Mismatch),
    ] {
        let new = report(&world, "router-1", other_card());
        let claim = Claim { kind, finding, ..new.claim };
        let taken = world.store.report_drift(NewDriftReport { claim, ..new }).await.expect("it is taken");
        assert_eq!(taken.action, DriftAction::Recorded, "{kind:?} {finding:?}");
    }
    assert_eq!(holds(&world, &key).await, []);
    assert_eq!(claim(&world).await, None);
    let told = world.store.audit_of(&key.to_string()).await.expect("the audit");
    let told = told.iter().map(|entry| entry.record().expect("a record"));
    let told = told.filter(|record| record.action == crate::AuditAction::ReportDrift);
    assert!(told.clone().all(|record| record.actor == Actor::machine("router-1")));
    assert_eq!(told.count(), 7);
    let unknown = NewDriftReport { label: "9.9.9".parse().expect("a label"), ..report(&world, "r", other_card()) };
    let unknown = world.store.report_drift(unknown).await;
    assert!(matches!(unknown, Err(StoreError::Refused(Refusal::Unknown { .. }))), "{unknown:?}");
    world.is_sound().await;
}

/// The control plane looks itself, and what it sees decides: the admitted card, that of another admitted version, or
/// one that nobody admitted.
pub async fn what_the_control_plane_sees_decides(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    world.at("2.0.0", StateName::RegistryAdmitted).await;
    for (reporter, card, wanted) in [
        ("router-1", sample::subject("1.0.0").card, Conclusion::Unfounded),
        ("router-2", sample::subject("2.0.0").card, Conclusion::RollOut),
    ] {
        let told = tell(&world, reporter, other_card()).await;
        assert_eq!(told.action, DriftAction::Revalidating);
        assert_eq!(holds(&world, &key).await, [HoldKind::Revalidating]);
        let open = claimed(&world).await;
        assert_eq!((open.since.revision, open.observed), (told.revision, other_card()));
        assert_eq!(conclusion(&look(&world, saw(&world, open, card)).await), wanted);
        assert_eq!((world.state(&key).await, holds(&world, &key).await), (StateName::Active, vec![]));
        assert_eq!(claim(&world).await, None);
    }
    tell(&world, "router-3", other_card()).await;
    let seen = saw(&world, claimed(&world).await, other_card());
    assert_eq!(conclusion(&look(&world, seen.clone()).await), Conclusion::Quarantined);
    is_quarantined_on_evidence(&world, &key, &seen).await;
    assert_eq!(world.store.looked(seen).await.expect("an answer"), Looked::Late, "once is enough");
    world.is_sound().await;
}

async fn is_quarantined_on_evidence(world: &World<'_>, key: &VersionRef, seen: &Look) {
    let version = world.version(key).await;
    assert_eq!((version.state.name(), version.holds.len()), (StateName::Quarantined, 0));
    let Saw::Card(sighting) = &seen.saw else { panic!("a card was seen") };
    let (evidence, _) = sighting.evidence.as_ref().expect("it differs");
    let kept = world.store.evidence(&evidence.id).await.expect("a look-up").expect("is kept");
    assert_eq!((kept.outcome, kept.standing, kept.version), (Outcome::Fail, Standing::Decided, key.clone()));
    assert_eq!(version.newest, Some((Outcome::Fail, evidence.id.clone())));
    assert!(world.store.report(&evidence.id).await.expect("a look-up").is_some(), "people can read why");
    let (job, _) = world.claim_of(Gate::Conformance).await;
    assert_eq!(job.version, *key, "a new verification is queued");
    let entry = world.store.audit_of(&key.to_string()).await.expect("the audit").pop().expect("an entry");
    let record = entry.record().expect("a record");
    assert_eq!((record.action, &record.actor), (crate::AuditAction::Revalidate, &revalidator()));
    let told = crate::Happening::of(record).expect("people are told");
    assert_eq!(told.kind, crate::happening::Kind::Quarantined);
}

/// One router lies as often, about as many cards and under as many names as it likes: nobody is denied who sees the
/// admitted card, and its version stays on the road.
pub async fn one_router_alone_takes_nothing_down(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let (mut taken, mut refused) = (0, 0);
    for n in 0..1_000_u32 {
        let new = report(&world, "liar", Digest::of(&n.to_be_bytes()));
        let renamed = Claim { router_id: format!("router-{n}"), ..new.claim };
        match world.store.report_drift(NewDriftReport { claim: renamed, ..new }).await {
            Ok(told) => {
                assert_ne!(told.action, DriftAction::RevalidatingForAll);
                taken += 1;
            }
            Err(StoreError::Refused(Refusal::TooManyReports(_))) => refused += 1,
            Err(other) => panic!("{other}"),
        }
        if n % 100 == 0
            && let Some(open) = claim(&world).await
        {
            look(&world, saw_nothing(open)).await;
            world.clock.pass(jiff::SignedDuration::from_secs(10));
        }
    }
    assert_eq!((taken, refused), (MOST_REPORTS, 1_000 - MOST_REPORTS));
    assert_eq!((world.state(&key).await, holds(&world, &key).await), (StateName::Active, vec![HoldKind::Revalidating]));
    world.is_sound().await;
}

/// While the control plane cannot look, a second router that saw the same card stops all, in whichever order the two
/// things happen; a look that sees the admitted card ends it.
pub async fn a_second_router_counts_while_nobody_can_look(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let both = [HoldKind::Revalidating, HoldKind::RevalidatingForAll];
    tell(&world, "router-1", other_card()).await;
    assert_eq!(tell(&world, "router-2", other_card()).await.action, DriftAction::Revalidating, "it is looked first");
    let again = look(&world, saw_nothing(claimed(&world).await)).await;
    assert!(matches!(again, Looked::Again { revision: Some(_), .. }), "{again:?}");
    assert_eq!(holds(&world, &key).await, both);
    assert_eq!(claim(&world).await, None, "not at once");
    world.clock.pass(LEASE);
    let seen = saw(&world, claimed(&world).await, sample::subject("1.0.0").card);
    assert_eq!(conclusion(&look(&world, seen).await), Conclusion::Unfounded);
    assert_eq!(holds(&world, &key).await, []);

    tell(&world, "router-3", other_card()).await;
    let again = look(&world, saw_nothing(claimed(&world).await)).await;
    assert!(matches!(again, Looked::Again { revision: None, .. }), "{again:?}");
    assert_eq!(tell(&world, "router-3", other_card()).await.action, DriftAction::Revalidating, "the same router");
    let elsewhere = Digest::of(b"a third card");
    let own = observer().name;
    assert_eq!(tell(&world, &own, other_card()).await.action, DriftAction::Revalidating, "it may be the same router");
    assert_eq!(tell(&world, "router-4", elsewhere).await.action, DriftAction::Revalidating, "another finding");
    assert_eq!(tell(&world, "router-5", other_card()).await.action, DriftAction::RevalidatingForAll);
    assert_eq!(holds(&world, &key).await, both);
    assert_eq!(world.state(&key).await, StateName::Active, "routers take nothing down");
    world.is_sound().await;
}

/// A reporter that was wrong begins nothing for a while; the control plane looks once when that is over. Others are heard.
pub async fn an_unfounded_reporter_is_heard_later(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let honest = sample::subject("1.0.0").card;
    tell(&world, "rogue", other_card()).await;
    let seen = saw(&world, claimed(&world).await, honest);
    look(&world, seen).await;
    for n in 0..10_u8 {
        assert_eq!(tell(&world, "rogue", Digest::of(&[n])).await.action, DriftAction::Recorded);
    }
    assert_eq!((holds(&world, &key).await, claim(&world).await), (vec![], None));
    world.clock.pass(UNFOUNDED_FOR);
    let quiet = claimed(&world).await;
    assert_eq!(quiet.hold, None);
    assert_eq!(conclusion(&look(&world, saw_nothing(quiet)).await), Conclusion::Unseen);
    assert_eq!(claim(&world).await, None, "an agent that is away is no reason to go on");

    assert_eq!(tell(&world, "rogue", other_card()).await.action, DriftAction::Recorded);
    assert_eq!(tell(&world, "router-2", other_card()).await.action, DriftAction::Revalidating);
    assert_eq!(holds(&world, &key).await, [HoldKind::Revalidating]);
    let seen = saw(&world, claimed(&world).await, other_card());
    assert_eq!(conclusion(&look(&world, seen).await), Conclusion::Quarantined, "the facts count, whoever told of them");
    world.is_sound().await;
}
