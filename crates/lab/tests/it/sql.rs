//! The SQL observer on a SQLite file that somebody else writes (X-02: the real store is looked at, not a double).

use ostiary_lab::{SqlObserver, SqlOptions};
use ostiary_record::{Kind, ports::Observer};
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

use crate::story::tape;

/// A store as a candidate has it: open for writing all the time.
struct Store {
    folder: TempDir,
    connection: SqliteConnection,
}

impl Store {
    async fn new(schema: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        let options = SqliteConnectOptions::new().filename(folder.path().join("plan.db")).create_if_missing(true);
        let connection = SqliteConnection::connect_with(&options.pragma("journal_mode", "WAL")).await.unwrap();
        let mut store = Self { folder, connection };
        for statement in schema {
            store.run(statement).await;
        }
        store
    }

    async fn run(&mut self, statement: &str) {
        sqlx::query(AssertSqlSafe(statement.to_owned())).execute(&mut self.connection).await.unwrap();
    }

    fn options(&self, tables: &[&str]) -> SqlOptions {
        SqlOptions::new(&format!("sqlite:{}", self.folder.path().join("plan.db").display()), tables)
    }
}

const DRAFTS: &str = "CREATE TABLE drafts (tenant TEXT, id TEXT, title, PRIMARY KEY (tenant, id))";

/// What is seen when a statement runs between two looks.
async fn effects_of(store: &mut Store, options: SqlOptions, statements: &[&str]) -> (Value, bool) {
    let observer = SqlObserver::connect(options).await.unwrap();
    let tape = tape();
    let mark = observer.begin(&tape).await.unwrap();
    for statement in statements {
        store.run(statement).await;
    }
    match observer.since(&tape, mark).await.unwrap().kind {
        Kind::Observed { effects, complete, window } => {
            assert!(window.0 < window.1);
            (effects, complete)
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn keys_of_rows_that_came_changed_and_went_are_told_by_kind_of_effect() {
    let mut store = Store::new(&[
        DRAFTS,
        "CREATE TABLE outbox (id INTEGER PRIMARY KEY, body TEXT)",
        "INSERT INTO drafts VALUES ('a', 'p-1', 'one'), ('a', 'p-2', 'two'), ('b', 'p-1', 'three')",
    ])
    .await;
    let options = store.options(&["drafts", "outbox"]);
    let statements = [
        "INSERT INTO drafts VALUES ('b', 'p-2', 'four')",
        "UPDATE drafts SET title = 'TWO' WHERE id = 'p-2' AND tenant = 'a'",
        "DELETE FROM drafts WHERE tenant = 'b' AND id = 'p-1'",
        "INSERT INTO outbox (body) VALUES ('mail')",
    ];
    let (effects, complete) = effects_of(&mut store, options, &statements).await;
    let drafts = &effects["records"]["drafts"];
    assert_eq!(
        (&drafts["inserted"], &drafts["updated"], &drafts["deleted"]),
        (&json!([r#"["b","p-2"]"#]), &json!([r#"["a","p-2"]"#]), &json!([r#"["b","p-1"]"#]))
    );
    assert_eq!(effects["outbox"]["outbox"]["inserted"], json!(["[1]"]));
    assert!(complete);
}

#[tokio::test]
async fn nothing_is_seen_where_nothing_changed() {
    let mut store = Store::new(&[DRAFTS, "INSERT INTO drafts VALUES ('a', 'p-1', 'one')"]).await;
    let options = store.options(&["drafts"]);
    let (effects, complete) = effects_of(&mut store, options, &["UPDATE drafts SET title = 'one'"]).await;
    let drafts = &effects["records"]["drafts"];
    assert_eq!((&drafts["inserted"], &drafts["updated"], &drafts["deleted"]), (&json!([]), &json!([]), &json!([])));
    assert!(complete);
}

#[tokio::test]
async fn values_that_look_alike_are_told_apart() {
    for (before, after) in [
        ("NULL", "''"),
        ("1", "'1'"),
        ("1", "1.0"),
        ("'a'", "x'61'"),
        ("0.1", "0.1 + 1e-17 * 4"),
        ("'a' || char(0) || 'b'", "'a' || char(0) || 'c'"),
    ] {
        let insert = format!("INSERT INTO drafts VALUES ('a', 'p', {before})");
        let mut store = Store::new(&[DRAFTS, &insert]).await;
        let options = store.options(&["drafts"]);
        let update = format!("UPDATE drafts SET title = {after}");
        let (effects, _) = effects_of(&mut store, options, &[&update]).await;
        assert_eq!(effects["records"]["drafts"]["updated"], json!([r#"["a","p"]"#]), "{before} and {after}");
    }
}

#[tokio::test]
async fn a_table_without_a_key_says_so() {
    let mut store = Store::new(&["CREATE TABLE log (line)", "INSERT INTO log VALUES ('a'), ('a')"]).await;
    let options = store.options(&["log"]);
    let (effects, complete) = effects_of(&mut store, options, &["INSERT INTO log VALUES ('a')"]).await;
    let log = &effects["records"]["log"];
    assert_eq!((log["keyed"].as_bool(), log["inserted"].as_array().unwrap().len(), complete), (Some(false), 1, true));
}

#[tokio::test]
async fn a_longer_table_than_is_looked_at_is_not_complete() {
    let mut store = Store::new(&[DRAFTS, "INSERT INTO drafts VALUES ('a', 'p-1', 1), ('a', 'p-2', 2)"]).await;
    let options = SqlOptions { rows: 2, ..store.options(&["drafts"]) };
    let (effects, complete) = effects_of(&mut store, options, &["INSERT INTO drafts VALUES ('a', 'p-0', 0)"]).await;
    assert_eq!((complete, &effects["records"]["drafts"]["complete"]), (false, &json!(false)));
}

#[tokio::test]
async fn what_cannot_be_looked_at_is_said_before_it_is_needed() {
    let store = Store::new(&[DRAFTS]).await;
    let said = |options: SqlOptions| async move {
        SqlObserver::connect(options).await.err().map(|error| error.to_string()).unwrap_or_default()
    };
    assert!(said(store.options(&["nothing"])).await.contains("`nothing`"));
    assert!(said(store.options(&[])).await.contains("no table"));
    assert!(said(store.options(&["drafts\"; DROP TABLE drafts; --"])).await.contains("does not exist"));
    assert!(said(SqlOptions::new("mysql://host/db", &["drafts"])).await.contains("neither"));
    assert!(said(SqlOptions::new("sqlite:/nowhere/at/all.db", &["drafts"])).await.contains("failed to read"));
}

#[tokio::test]
async fn an_observer_cannot_make_what_it_looks_for() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("plan.db");
    SqlObserver::connect(SqlOptions::new(&format!("sqlite:{}", path.display()), &["drafts"])).await.err().unwrap();
    assert!(!path.exists());
}
