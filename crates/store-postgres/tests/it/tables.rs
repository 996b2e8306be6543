//! The tables: twins of SQLite's, written down in one readable file, and what the database itself refuses.

use std::{fs, path::Path, process::Command};

use ostiary_domain::{
    StateName,
    conformance::{Bench as _, world::World},
    ports::{Action, Feed as _, HoldRequest, Operate},
    sample::operator,
};
use ostiary_store_postgres::{OpenError, PostgresStore, Settings, cluster::Cluster};
use sqlx::{Connection as _, SqliteConnection, migrate::Migrator};

use crate::bench::{DatabaseBench, ports_from};

fn migrations(database: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations").join(database)
}

fn names(database: &str) -> Vec<String> {
    let entries = fs::read_dir(migrations(database)).expect("a folder of migrations");
    let mut names: Vec<_> =
        entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("a name")).collect();
    names.sort();
    names
}

#[test]
fn both_databases_have_the_same_migrations_by_number_and_name() {
    let (postgres, sqlite) = (names("postgres"), names("sqlite"));
    assert_eq!(postgres, sqlite, "migrations are twins: each needs one of the same name in the other folder");
    assert!(!postgres.is_empty());
}

/// Columns of all tables as `table.column`, in order.
async fn columns_here(bench: &DatabaseBench) -> Vec<String> {
    let mut conn = bench.behind_the_back().await;
    let columns = "SELECT table_name || '.' || column_name FROM information_schema.columns
                   WHERE table_schema = 'public' AND table_name <> '_sqlx_migrations'";
    let mut columns: Vec<String> = sqlx::query_scalar(columns).fetch_all(&mut conn).await.expect("the columns");
    columns.sort();
    columns
}

/// The same of SQLite.
async fn columns_there() -> Vec<String> {
    let mut conn = SqliteConnection::connect("sqlite::memory:").await.expect("a database in memory");
    let twins = Migrator::new(migrations("sqlite")).await.expect("SQLite's migrations");
    twins.run(&mut conn).await.expect("they apply");
    let columns = "SELECT t.name || '.' || c.name FROM sqlite_master t JOIN pragma_table_info(t.name) c
                   WHERE t.type = 'table' AND t.name <> '_sqlx_migrations'";
    let mut columns: Vec<String> = sqlx::query_scalar(columns).fetch_all(&mut conn).await.expect("the columns");
    columns.sort();
    columns
}

#[tokio::test]
async fn both_databases_have_the_same_tables_and_columns() {
    let bench = DatabaseBench::new();
    bench.another(ports_from(0)).await.close().await;
    let here = columns_here(&bench).await;
    assert_eq!(here, columns_there().await);
    assert!(here.len() > 50, "{here:?}");
}

/// Migrations are append-only; what they add up to stands in one readable file.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test that writes the page when it is asked to")]
async fn the_generated_schema_is_what_the_migrations_make() {
    let bench = DatabaseBench::new();
    bench.another(ports_from(0)).await.close().await;
    let mut dump = Command::new(Cluster::shared().program("pg_dump"));
    dump.args(["--schema-only", "--no-owner", "--no-privileges", "--exclude-table=_sqlx_migrations"]);
    let dumped = dump.arg(format!("--dbname={}", bench.url().await)).output().expect("pg_dump runs");
    assert!(dumped.status.success(), "{}", String::from_utf8_lossy(&dumped.stderr));
    // What depends on the release of pg_dump, and not on our tables, is left out.
    let dumped = String::from_utf8(dumped.stdout).expect("text");
    let ours = |line: &&str| !["--", "SET ", "SELECT ", r"\"].iter().any(|start| line.starts_with(start));
    let mut schema = String::new();
    for line in dumped.lines().filter(ours) {
        if !(line.is_empty() && (schema.is_empty() || schema.ends_with("\n\n"))) {
            schema.push_str(line);
            schema.push('\n');
        }
    }
    let schema = format!("{}\n", schema.trim_end());
    let path = migrations("postgres.schema.sql");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, &schema).expect("it is written");
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), schema, "run with BLESS=1");
}

#[tokio::test]
async fn opening_twice_migrates_once_also_at_the_same_time() {
    let bench = DatabaseBench::new();
    let settings = bench.settings().await;
    let open = || PostgresStore::open(&settings, ports_from(0));
    for store in futures::future::join_all([open(), open(), open()]).await {
        let store = store.expect("the database opens");
        assert_eq!(store.revision().await.expect("a revision").0, 0);
        store.close().await;
    }
    open().await.expect("the database opens again").close().await;
}

#[tokio::test]
async fn a_database_that_is_not_there_is_named_without_its_password() {
    let url = Cluster::shared().url("nowhere").replace("postgres@", "postgres:hunter2@");
    let settings = Settings::from_url(&url).expect("a database URL");
    let refused = PostgresStore::open(&settings, ports_from(0)).await.expect_err("there is no such database");
    assert!(matches!(refused, OpenError::Connect { .. }), "{refused:?}");
    let cause = std::error::Error::source(&refused).map(ToString::to_string).unwrap_or_default();
    let told = format!("{refused}: {cause}");
    assert!(told.contains("/nowhere") && !told.contains("hunter2"), "{told}");
}

/// What is written stays as it is, also for somebody who has the password and no intent to lie.
#[tokio::test]
async fn the_database_refuses_to_change_what_is_append_only() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    world.at("1.0.0", StateName::StaticValidated).await;
    let mut conn = bench.behind_the_back().await;
    for (sql, reason) in [
        ("UPDATE audit SET subject = 'x'", "audit is append-only"),
        ("DELETE FROM audit", "audit is append-only"),
        ("TRUNCATE audit", "audit is append-only"),
        ("UPDATE evidence SET outcome = 'pass'", "evidence is append-only"),
        ("DELETE FROM evidence", "evidence is append-only"),
        ("TRUNCATE evidence CASCADE", "evidence is append-only"),
        ("INSERT INTO counter (id, revision, audit_hash) VALUES (2, 0, 'x')", "counter_id_check"),
    ] {
        let refused = sqlx::raw_sql(sql).execute(&mut conn).await.expect_err(sql).to_string();
        assert!(refused.contains(reason), "{sql}: {refused}");
    }
    conn.close().await.expect("it closes");
    world.is_sound().await;
    bench.close().await;
}

/// PostgreSQL keeps no NUL in a text. A person who sends one is answered, not told to try again for ever.
#[tokio::test]
async fn a_reason_with_a_nul_is_kept_with_the_sign_for_what_cannot_be_shown() {
    let bench = DatabaseBench::new();
    let world = World::new(&bench).await;
    let key = world.at("1.0.0", StateName::Active).await;
    let kind = ostiary_domain::HoldKind::RouteDisabled;
    let hold = HoldRequest { id: ostiary_domain::HoldId("h".into()), kind, scope: ostiary_domain::Scope::Everything };
    let operate = Operate {
        version: key.clone(),
        row: None,
        actor: operator(),
        reason: "odd\0reason".into(),
        action: Action::SetHold(hold),
        idempotency: None,
    };
    world.store.operate(operate).await.expect("a hold");
    let reasons: Vec<_> = world.version(&key).await.holds.into_iter().map(|hold| hold.reason).collect();
    assert_eq!(reasons, ["odd\u{fffd}reason"]);
    world.is_sound().await;
}

/// SQL reads a clock in one place.
#[test]
fn only_the_clock_of_the_transaction_reads_the_time() {
    let mut found = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), migrations("postgres")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = fs::read_to_string(&path).expect("a text").to_ascii_lowercase();
            let words = ["clock_timestamp(", "now()\"", "current_timestamp", "localtimestamp", "statement_timestamp"];
            let times: usize = words.iter().map(|word| text.matches(word).count()).sum();
            found.extend(std::iter::repeat_n(path.file_name().expect("a name").to_owned(), times));
        }
    }
    assert_eq!(found, ["transaction.rs"]);
}
