//! Waivers: kept to their rules by whoever keeps them, and ended with all that rests on them (L-09).

use futures::future::join;
use ostiary_canon::Digest;
use ostiary_record::{CheckId, Gate, Outcome, ReasonCode};

use super::{Bench, world::World};
use crate::{
    WaiverId,
    lifecycle::StateName,
    ports::{Conflict, Idempotency, Refusal, StoreError},
    sample::{approver, hour, new_waiver, operator, publisher, subject},
    waiver::{NewGrant, NewRevocation, NewWaiver, Waived, WaiverError},
};

const CHECK: &str = "a2a.error.leak";

fn granted(by: crate::Actor, waiver: &WaiverId) -> NewGrant {
    let (waiver, reason, envelope) = (waiver.clone(), "seen".into(), "{\"signed\":true}".into());
    NewGrant { waiver, by, reason, envelope, idempotency: None }
}

fn revocation(waiver: &WaiverId, reason: &str) -> NewRevocation {
    NewRevocation { waiver: waiver.clone(), by: operator(), reason: reason.into(), idempotency: None }
}

fn refused<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> WaiverError {
    match answer {
        Err(StoreError::Refused(Refusal::Waiver(why))) => why,
        other => panic!("a waiver's rule refuses, not {other:?}"),
    }
}

/// One asks, another grants; neither the one who asked nor the submitter does, and it comes back as it was put.
pub async fn a_waiver_is_two_peoples_word(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::StaticValidated).await;
    let new = new_waiver("1.0.0", CHECK);
    let asked = world.store.request_waiver(new.clone()).await.expect("may be asked for");
    assert_eq!((&asked.request.check, &asked.granted), (&CheckId(CHECK.into()), &None));
    for by in [operator(), publisher()] {
        refused(world.store.grant_waiver(granted(by, &new.id)).await);
    }
    let grant = granted(approver(), &new.id);
    let done = world.store.grant_waiver(grant.clone()).await.expect("another person grants");
    assert_eq!(refused(world.store.grant_waiver(grant).await), WaiverError::Granted(new.id.clone()));
    let world = world.restart().await;
    let listed = world.store.waivers_of(&new.agent, &new.label).await.expect("a list");
    assert_eq!(listed, std::slice::from_ref(&done));
    assert_eq!(world.store.waiver(&new.id).await.expect("a look-up"), Some(done));
    world.is_sound().await;
}

/// Asked, granted and revoked, each twice by its key: three changes, and every repeat gets the first answer.
pub async fn waivers_repeat_by_their_keys(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let version = world.at("1.0.0", StateName::StaticValidated).await;
    let by_key = |key: &str| Some(Idempotency { key: key.into(), request: Digest::of(key.as_bytes()) });
    let new = NewWaiver { idempotency: by_key("ask"), ..new_waiver("1.0.0", CHECK) };
    let again = NewWaiver { id: WaiverId("another".into()), ..new.clone() };
    let asked = world.store.request_waiver(new.clone()).await.expect("asked");
    assert_eq!(world.store.request_waiver(again.clone()).await.expect("a repeat"), asked);
    let grant = NewGrant { idempotency: by_key("grant"), ..granted(approver(), &new.id) };
    let done = world.store.grant_waiver(grant.clone()).await.expect("granted");
    assert_eq!(world.store.grant_waiver(grant).await.expect("a repeat"), done);
    let revoke = NewRevocation { idempotency: by_key("revoke"), ..revocation(&new.id, "it hurts") };
    let ended = world.store.revoke_waiver(revoke.clone()).await.expect("revoked");
    assert_eq!(world.store.revoke_waiver(revoke).await.expect("a repeat"), ended);
    assert_eq!(world.store.waivers_of(&version.agent, &version.label).await.expect("a list"), [ended]);
    let other =
        NewWaiver { idempotency: by_key("ask").map(|i| Idempotency { request: Digest::of(b"x"), ..i }), ..again };
    let other = world.store.request_waiver(other).await;
    assert!(matches!(other, Err(StoreError::Conflict(Conflict::IdempotencyKey(_)))), "{other:?}");
    world.is_sound().await;
}

/// Whoever looked at the same open waiver at the same time: one word counts.
pub async fn two_grants_at_the_same_time_are_one(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.at("1.0.0", StateName::StaticValidated).await;
    let new = new_waiver("1.0.0", CHECK);
    world.store.request_waiver(new.clone()).await.expect("may be asked for");
    let grant = |name: &str| world.store.grant_waiver(granted(crate::Actor::person(name), &new.id));
    let (one, other) = join(grant("risk@acme"), grant("legal@acme")).await;
    let (won, lost) = if one.is_ok() { (one, other) } else { (other, one) };
    assert_eq!(refused(lost), WaiverError::Granted(new.id.clone()));
    let kept = world.store.waiver(&new.id).await.expect("a look-up").expect("is there");
    assert_eq!(kept, won.expect("one wins"));
    world.is_sound().await;
}

/// What was never measured cannot be waived; what was rejected can, for the next try.
pub async fn a_waiver_is_for_what_was_measured(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let absent = world.store.request_waiver(new_waiver("1.0.0", CHECK)).await;
    assert_eq!(refused(absent), WaiverError::Manifest(subject("1.0.0").manifest));
    let key = world.at("1.0.0", StateName::StaticValidated).await;
    world.run(Gate::Conformance, Outcome::Fail).await;
    assert_eq!(world.state(&key).await, StateName::Rejected);
    let other = NewWaiver { manifest: subject("2.0.0").manifest, ..new_waiver("1.0.0", CHECK) };
    assert_eq!(refused(world.store.request_waiver(other).await), WaiverError::Manifest(subject("2.0.0").manifest));
    world.store.request_waiver(new_waiver("1.0.0", CHECK)).await.expect("its evidence names the manifest");
    let unknown = WaiverId("none".into());
    let nothing = world.store.revoke_waiver(revocation(&unknown, "because")).await;
    assert!(matches!(nothing, Err(StoreError::Refused(Refusal::Unknown { what: "waiver", .. }))), "{nothing:?}");
    world.is_sound().await;
}

/// The word of a version that rests on a revoked waiver entitles to nothing, and routers are told so at that revision.
pub async fn a_revoked_waiver_calls_in_what_rests_on_it(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::SecurityVerified).await;
    let new = new_waiver("1.0.0", CHECK);
    world.store.request_waiver(new.clone()).await.expect("may be asked for");
    world.store.grant_waiver(granted(approver(), &new.id)).await.expect("another person grants");
    let claimed = world.claim_of(Gate::Admission).await;
    let mut commit = world.judged(&claimed, Outcome::Pass).await;
    let waived = Waived {
        check: CheckId(CHECK.into()),
        profile: None,
        failed: true,
        code: ReasonCode::TerminalStateReopened,
        waiver: new.id.clone(),
        until: hour(24),
    };
    commit.evidence.waived = vec![waived.clone()];
    if let Some(crate::Event::Admitted { authorization, .. }) = &mut commit.consequence.event {
        authorization.waived = vec![waived.clone()];
    }
    let evidence = commit.evidence.id.clone();
    world.store.commit_gate(commit).await.expect("admits");
    let kept = world.store.evidence(&evidence).await.expect("a look-up").expect("is there");
    assert_eq!(kept.waived, [waived]);
    assert!(world.version(&key).await.is_authorized(world.store.now().await.expect("a time")));

    let revoked = world.store.revoke_waiver(revocation(&new.id, "it hurts")).await.expect("anybody may lower trust");
    let at = revoked.revoked.as_ref().expect("revoked").at;
    let version = world.version(&key).await;
    assert_eq!((version.state.name(), version.revision), (StateName::RegistryAdmitted, at.revision));
    assert!(!version.is_authorized(at.time));
    let told = world.store.changes_since(ostiary_canon::Revision(at.revision.0 - 1), 10).await.expect("the feed");
    assert_eq!(told.told.len(), 1, "routers are told");
    let again = world.store.revoke_waiver(revocation(&new.id, "twice")).await;
    assert_eq!(refused(again), WaiverError::Revoked(new.id));
    world.is_sound().await;
}
