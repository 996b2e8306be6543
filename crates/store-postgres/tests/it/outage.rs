//! The server goes away, hangs, or undoes what it was told: callers hear it, and afterwards everything goes on.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use ostiary_domain::{
    Clock as _, StateName, StoreError,
    conformance::{doubles::SetClock, world::World},
    ports::{Feed as _, Registry as _, Versions as _},
    registry::Namespace,
    sample::{self, operator},
};
use ostiary_record::{Gate, Outcome};
use ostiary_store_postgres::{PostgresStore, Settings, cluster::Cluster};
use sqlx::Connection as _;

use crate::bench::{DatabaseBench, ports_from};

fn unavailable<T: std::fmt::Debug>(answer: &Result<T, StoreError>) -> bool {
    matches!(answer, Err(StoreError::Unavailable { .. }))
}

#[tokio::test]
async fn a_server_that_is_gone_is_unavailable_and_taken_up_again_when_it_is_back() {
    let cluster = Cluster::start().expect("a server of this test's own");
    let url = cluster.database().await;
    let settings = Settings::from_url(&url).expect("a database URL").patience(Duration::from_secs(1));
    let store = PostgresStore::open(&settings, ports_from(0)).await.expect("the database opens");
    let namespace = Namespace { name: "acme".into(), enforcement: ostiary_domain::Enforcement::Enforce, reason: None };
    let before = store.put_namespace(namespace.clone(), operator()).await.expect("a namespace");
    let mut hints = store.hints();
    hints.next().await;

    cluster.stop().expect("it stops");
    let read = store.revision().await;
    assert!(unavailable(&read), "{read:?}");
    let write = store.put_namespace(namespace.clone(), operator()).await;
    assert!(unavailable(&write), "{write:?}");

    cluster.restart().expect("it starts");
    assert_eq!(store.revision().await.expect("a revision"), before, "what was committed is there, nothing else is");
    let heard = tokio::time::timeout(Duration::from_secs(20), hints.next()).await;
    assert!(heard.is_ok(), "listening begins anew, and says so");
    let after = store.put_namespace(namespace, operator()).await.expect("a namespace");
    assert_eq!(after.0, before.0 + 1);
}

/// Somebody holds the counter and does nothing: callers are told within the limit, not held with it.
#[tokio::test]
async fn a_lock_that_nobody_lets_go_is_unavailable_within_the_limit() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let mut conn = bench.behind_the_back().await;
    let mut stuck = conn.begin().await.expect("a transaction");
    sqlx::raw_sql("SELECT * FROM counter FOR UPDATE").execute(&mut *stuck).await.expect("the counter is held");
    let policy = ostiary_domain::Policy::one();
    let waited =
        tokio::time::timeout(Duration::from_secs(20), world.store.put_policy(policy.clone(), operator())).await;
    let waited = waited.expect("the wait is bounded");
    assert!(unavailable(&waited), "{waited:?}");
    assert!(world.store.current_policy().await.expect("readers wait for nobody").is_some());
    stuck.rollback().await.expect("it lets go");
    world.store.put_policy(policy, operator()).await.expect("and everything goes on");
    world.is_sound().await;
}

/// PostgreSQL chooses our transaction as the victim of a deadlock: the caller never hears of it.
#[tokio::test]
async fn a_transaction_that_was_undone_for_anothers_sake_is_done_anew() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let key = world.submit("1.0.0").await.version;
    let claimed = world.claim_of(Gate::Static).await;
    let commit = world.judged(&claimed, Outcome::Pass).await;
    let mut conn = bench.behind_the_back().await;
    // Undoes the first write of a version, as the server does with a victim, and only that one: a sequence is not undone.
    sqlx::raw_sql(
        "CREATE SEQUENCE tries;
         CREATE FUNCTION undo_first() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             IF nextval('tries') = 1 THEN RAISE EXCEPTION 'a victim' USING ERRCODE = 'deadlock_detected'; END IF;
             RETURN NEW;
         END
         $$;
         CREATE TRIGGER undo_first BEFORE UPDATE ON versions FOR EACH ROW EXECUTE FUNCTION undo_first();",
    )
    .execute(&mut conn)
    .await
    .expect("a trigger");
    world.store.commit_gate(commit).await.expect("the second attempt is committed");
    let tries: i64 = sqlx::query_scalar("SELECT last_value FROM tries").fetch_one(&mut conn).await.expect("a number");
    assert_eq!(tries, 2, "it was tried twice");
    assert_eq!(world.state(&key).await, StateName::StaticValidated);
    assert_eq!(world.store.evidence_of(&key).await.expect("evidence").len(), 1, "and happened once");
    world.is_sound().await;
}

/// What is undone again and again is reported, not tried for ever.
#[tokio::test]
async fn a_transaction_that_is_always_undone_ends() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let submit = world.submission("1.0.0").await;
    let mut conn = bench.behind_the_back().await;
    sqlx::raw_sql(
        "CREATE FUNCTION undo() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN RAISE EXCEPTION 'a victim' USING ERRCODE = 'serialization_failure'; END $$;
         CREATE TRIGGER undo BEFORE INSERT ON versions FOR EACH ROW EXECUTE FUNCTION undo();",
    )
    .execute(&mut conn)
    .await
    .expect("a trigger");
    let answer = world.store.submit(submit).await;
    assert!(unavailable(&answer), "{answer:?}");
    world.is_sound().await;
}

/// In production the database's clock counts, not the server's.
#[tokio::test]
async fn times_are_the_databases_unless_a_test_sets_them() {
    let bench = DatabaseBench::new();
    let settings = Settings::from_url(bench.url().await).expect("a database URL");
    let store = PostgresStore::open(&settings, ports_from(0)).await.expect("the database opens");
    let mut conn = bench.behind_the_back().await;
    let clock = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT";
    let micros = || async { sqlx::query_scalar::<_, i64>(clock) };
    let before = micros().await.fetch_one(&mut conn).await.expect("a time");
    let told = store.now().await.expect("a time");
    let after = micros().await.fetch_one(&mut conn).await.expect("a time");
    let time = |micros: i64| Timestamp::from_microsecond(micros).expect("a time");
    assert!((time(before)..=time(after)).contains(&told), "{told}");

    let set = Arc::new(SetClock::default());
    set.pass(SignedDuration::from_hours(5));
    let mocked = bench.another(ostiary_domain::ports::StorePorts { clock: set.clone(), ..ports_from(0) }).await;
    assert_eq!(mocked.now().await.expect("a time"), set.now());
    assert!(store.versions(&sample::agent()).await.expect("versions").is_empty());
}
