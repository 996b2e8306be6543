//! The registry's other rows come back as they were put, and what contradicts itself is reported, not served.

use bytes::Bytes;
use ostiary_admission::Enforcement;
use ostiary_canon::Digest;

use super::{Bench, Tamper, world::World};
use crate::{
    lifecycle::StateName,
    names::EnvironmentName,
    ports::{ObjectKind, Refusal, StoreError},
    registry::{Agent, Namespace, Role, Token},
    sample::{agent, hour, operator},
};

/// Namespaces, agents, environments.
pub async fn rows_come_back_as_they_were_put(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let store = &world.store;
    let namespace = Namespace {
        name: "beta".into(),
        enforcement: Enforcement::Warn { until: hour(5) },
        reason: Some("a trial".into()),
    };
    store.put_namespace(namespace.clone(), operator()).await.expect("a namespace");
    assert_eq!(store.namespace("beta").await.expect("a look-up"), Some(namespace));
    assert_eq!(store.namespace("gamma").await.expect("a look-up"), None);

    let planner = Agent { id: agent(), owner: Some("team-plan".into()), description: None };
    store.put_agent(planner.clone(), operator()).await.expect("an agent");
    assert_eq!(store.agent(&agent()).await.expect("a look-up"), Some(planner.clone()));
    assert_eq!(store.agents(None, 10).await.expect("a list"), [planner]);
    assert_eq!(store.agents(Some(&agent()), 10).await.expect("a list"), []);
    let nowhere = Agent { id: "gamma/a".parse().expect("a name"), owner: None, description: None };
    let refused = store.put_agent(nowhere, operator()).await;
    assert!(matches!(refused, Err(StoreError::Refused(Refusal::Unknown { what: "namespace", .. }))));

    let (name, document) = (EnvironmentName("staging".into()), Bytes::from_static(b"name: changed\n"));
    store.put_environment(&name, document.clone(), operator()).await.expect("an environment");
    let found = store.environment(&name).await.expect("a look-up").expect("the environment");
    assert_eq!((found.document, found.by), (document, operator()));
    world.is_sound().await;
}

/// Only the digest of a token is kept.
pub async fn tokens_are_found_by_digest_until_revoked(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let token = Token {
        hash: Digest::of(b"text of the token"),
        actor: operator(),
        role: Role::Operator,
        namespace: Some("acme".into()),
        expires_at: Some(hour(1)),
    };
    world.store.put_token(token.clone(), operator()).await.expect("a token");
    assert_eq!(world.store.token(&token.hash).await.expect("a look-up"), Some(token.clone()));
    assert_eq!(world.store.token(&Digest::of(b"guessed")).await.expect("a look-up"), None);
    assert!(world.store.revoke_token(&token.hash, operator()).await.expect("a revocation"));
    assert!(!world.store.revoke_token(&token.hash, operator()).await.expect("a revocation"));
    assert_eq!(world.store.token(&token.hash).await.expect("a look-up"), None);
    world.is_sound().await;
}

/// Bytes are served under their digest or not at all.
pub async fn bytes_that_changed_are_not_served(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let run = Bytes::from_static(b"a run");
    let digest = world.store.put_object(ObjectKind::Run, run.clone()).await.expect("an object");
    assert_eq!(world.store.put_object(ObjectKind::Run, run.clone()).await.expect("the same"), digest);
    assert_eq!(world.store.object(&digest).await.expect("a look-up"), Some(run));
    assert_eq!(world.store.object(&Digest::of(b"other")).await.expect("a look-up"), None);
    world.bench.tamper(Tamper::EditObjects).await;
    let served = world.store.object(&digest).await;
    assert!(matches!(served, Err(StoreError::Inconsistent { table: "objects", .. })), "{served:?}");
}

/// A row that we cannot have written is an error with table, column and row, never a guess.
pub async fn a_row_that_contradicts_itself_is_reported(bench: &dyn Bench) {
    let world = World::new(bench).await;
    let key = world.at("1.0.0", StateName::StaticValidated).await;
    world.bench.tamper(Tamper::EditState).await;
    match world.store.version(&key).await {
        Err(StoreError::Inconsistent { table, column, id, .. }) => {
            assert_eq!((table, column, id), ("versions", "state", key.to_string()));
        }
        other => panic!("{other:?}"),
    }
}
