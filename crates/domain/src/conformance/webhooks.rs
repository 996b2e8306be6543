//! Receivers: each told in order, by one courier at a time, and nothing that was given up is forgotten (L-12).

use futures::future::join_all;
use jiff::SignedDuration;
use ostiary_canon::{Digest, Revision};
use ostiary_record::Gate;

use super::{Bench, world::World};
use crate::{
    WebhookId,
    happening::{Attempted, NewWebhook, mode_expired},
    ports::{Conflict, Idempotency, Refusal, StoreError},
    registry::Namespace,
    sample::{hour, operator},
};

const LEASE: SignedDuration = SignedDuration::from_mins(1);

fn hook() -> NewWebhook {
    let (id, url) = (WebhookId("hook".into()), "https://hooks.example/ostiary".into());
    let (namespace, by) = (Some("acme".into()), operator());
    NewWebhook { id, url, allow_private: false, namespace, by, most: 2, idempotency: None }
}

/// Many at once: as many get in as may, and a repeat by its key is no second one.
pub async fn receivers_at_the_same_time_do_not_exceed_their_number(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let one = |n: usize| NewWebhook { id: WebhookId(format!("hook-{n}")), most: 3, ..hook() };
    let all = join_all((0..6).map(|n| world.store.put_webhook(one(n)))).await;
    let refused = all.iter().filter(|answer| matches!(answer, Err(StoreError::Refused(Refusal::Full { .. }))));
    assert_eq!((all.iter().filter(|answer| answer.is_ok()).count(), refused.count()), (3, 3), "{all:?}");
    assert_eq!(world.store.webhooks().await.expect("a list").len(), 3);
    let elsewhere = NewWebhook { namespace: Some("globex".into()), ..one(7) };
    world.store.put_webhook(elsewhere).await.expect("another namespace has places of its own");
    world.is_sound().await;
}

/// A repeat by its key gets the first answer; the key for another request is a conflict. No key stands in the audit.
pub async fn a_receiver_is_registered_once_by_its_key(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let asked = |request: &[u8], id: &str| NewWebhook {
        id: WebhookId(id.into()),
        url: "https://hooks.example/ostiary?key=s3cret".into(),
        idempotency: Some(Idempotency { key: "k".into(), request: Digest::of(request) }),
        ..hook()
    };
    let first = world.store.put_webhook(asked(b"one", "a")).await.expect("registered");
    let repeat = world.store.put_webhook(asked(b"one", "b")).await.expect("an answer");
    assert_eq!((&repeat, world.store.webhooks().await.expect("a list").len()), (&first, 1));
    let other = world.store.put_webhook(asked(b"two", "c")).await;
    assert!(matches!(other, Err(StoreError::Conflict(Conflict::IdempotencyKey(_)))), "{other:?}");
    let audit = world.store.audit(Revision(0), 100).await.expect("entries");
    assert!(audit.iter().all(|entry| !format!("{entry:?}").contains("s3cret")), "{audit:?}");
    world.is_sound().await;
}

/// One courier at a time; the next try follows the last one, and a restart forgets nothing.
pub async fn a_receiver_is_claimed_once_and_moves_on(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let registered = world.store.put_webhook(hook()).await.expect("registered");
    assert_eq!(world.store.claim_webhook(LEASE).await.expect("a claim"), None, "nothing happened since");
    world.submit("1.0.0").await;
    let claimed = world.store.claim_webhook(LEASE).await.expect("a claim").expect("is due");
    assert_eq!((&claimed.facts, claimed.reached), (&registered.facts, registered.reached));
    assert_eq!(world.store.claim_webhook(LEASE).await.expect("a claim"), None, "somebody is at it");
    let now = world.store.now().await.expect("a time");
    let again = Attempted::Again { error: "down".into(), at: now.saturating_add(LEASE).expect("a time") };
    assert!(world.store.attempted(&claimed, again.clone()).await.expect("written"));
    assert!(!world.store.attempted(&claimed, again).await.expect("an answer"), "a try ends once");
    let world = world.restart().await;
    let listed = world.store.webhooks().await.expect("a list");
    assert_eq!((listed[0].tries, listed[0].last_error.as_deref()), (1, Some("down")));
    world.clock.pass(LEASE);
    let claimed = world.store.claim_webhook(LEASE).await.expect("a claim").expect("is due again");
    let head = world.store.revision().await.expect("the head");
    assert!(world.store.attempted(&claimed, Attempted::Delivered(head)).await.expect("written"));
    assert_eq!(world.store.claim_webhook(LEASE).await.expect("a claim"), None, "it has been told everything");
    assert!(world.store.remove_webhook(&claimed.facts.id, operator()).await.expect("removed"));
    assert!(!world.store.remove_webhook(&claimed.facts.id, operator()).await.expect("an answer"));
    assert_eq!(world.store.webhooks().await.expect("a list"), []);
    world.is_sound().await;
}

/// A receiver that never takes something does not hold up what follows, and people see what it missed.
pub async fn what_is_given_up_stays_visible(bench: &dyn Bench) {
    let world = World::new(bench).await;
    world.store.put_webhook(hook()).await.expect("registered");
    world.submit("1.0.0").await;
    let claimed = world.store.claim_webhook(LEASE).await.expect("a claim").expect("is due");
    let revision = Revision(claimed.reached.0 + 1);
    let given_up = Attempted::GivenUp { revision, error: "410".into() };
    assert!(world.store.attempted(&claimed, given_up).await.expect("written"));
    let dead = world.store.dead_letters(&claimed.facts.id).await.expect("a list");
    assert_eq!((dead[0].revision, dead[0].last_error.as_str(), dead[0].tries), (revision, "410", 1));
    assert_eq!(world.store.webhooks().await.expect("a list")[0].reached, revision);
    assert_eq!(world.claim_of(Gate::Static).await.0.gate, Gate::Static, "the queue of gates is another one");
    world.is_sound().await;
}

/// Two servers look at the same clock: one entry.
pub async fn a_notice_is_told_once(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let enforcement = crate::Enforcement::Observe { until: hour(2) };
    let namespace = Namespace { name: "acme".into(), enforcement, reason: Some("a trial".into()) };
    let notice = mode_expired(&namespace, hour(3)).expect("has ended");
    let first = world.store.notice(notice.clone()).await.expect("written");
    assert!(first.is_some());
    assert_eq!(world.store.notice(notice).await.expect("an answer"), None);
    assert_eq!(world.store.revision().await.expect("the head"), first.expect("a revision"));
    world.is_sound().await;
}
