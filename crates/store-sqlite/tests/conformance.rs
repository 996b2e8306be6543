//! The ports' conformance suite on a SQLite file, and what is particular to a file: one process owns it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use ostiary_domain::{
    Store,
    conformance::{
        Bench, Tamper,
        doubles::{CountedIds, SetClock},
    },
    ports::{Feed as _, StorePorts},
    store_conformance,
};
use ostiary_record::ports::BoxFuture;
use ostiary_store_sqlite::{OpenError, SqliteStore};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};
use tempfile::TempDir;

/// One file in a directory that vanishes with the test.
struct FileBench {
    directory: TempDir,
    opened: Mutex<Option<SqliteStore>>,
}

impl FileBench {
    fn new() -> Self {
        Self { directory: TempDir::new().expect("a directory"), opened: Mutex::default() }
    }

    fn file(&self) -> PathBuf {
        self.directory.path().join("ostiary.db")
    }

    fn opened(&self) -> std::sync::MutexGuard<'_, Option<SqliteStore>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file, as somebody sees it who has a shell on the machine.
    async fn behind_the_back(&self) -> SqliteConnection {
        let options = SqliteConnectOptions::new().filename(self.file());
        let mut conn = SqliteConnection::connect_with(&options).await.expect("the file opens");
        let triggers = "DROP TRIGGER audit_is_not_changed; DROP TRIGGER audit_is_not_deleted;";
        sqlx::raw_sql(triggers).execute(&mut conn).await.expect("whoever has the file drops its triggers");
        conn
    }
}

impl Bench for FileBench {
    fn open(&self, ports: StorePorts) -> BoxFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            let store = SqliteStore::open(&self.file(), ports).await.expect("the file opens");
            *self.opened() = Some(store.clone());
            Arc::new(store) as Arc<dyn Store>
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let opened = self.opened().take();
            opened.expect("it was opened").close().await;
        })
    }

    fn tamper(&self, how: Tamper) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut conn = self.behind_the_back().await;
            let sql = match how {
                Tamper::EditAudit(r) => format!(
                    "UPDATE audit SET record = CAST(replace(CAST(record AS TEXT), 'acme', 'evil') AS BLOB)
                     WHERE revision = {r};"
                ),
                Tamper::DeleteAudit(r) => format!("DELETE FROM audit WHERE revision = {r};"),
                Tamper::SwapAudit(a, b) => format!(
                    "UPDATE audit SET revision = -1 WHERE revision = {a};
                     UPDATE audit SET revision = {a} WHERE revision = {b};
                     UPDATE audit SET revision = {b} WHERE revision = -1;"
                ),
                Tamper::RefileAudit(r) => format!("UPDATE audit SET subject = 'elsewhere' WHERE revision = {r};"),
                Tamper::EditObjects => "UPDATE objects SET bytes = x'00';".to_owned(),
                Tamper::EditState => "UPDATE versions SET state = 'ACTIVE';".to_owned(),
            };
            sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut conn).await.expect("it is written");
            conn.close().await.expect("it closes");
        })
    }
}

store_conformance!(FileBench::new());

fn ports() -> StorePorts {
    StorePorts::new(Arc::new(SetClock::default()), Arc::new(CountedIds::default()))
}

#[tokio::test]
async fn a_second_opener_is_refused_and_told_by_whom() {
    let bench = FileBench::new();
    let first = SqliteStore::open(&bench.file(), ports()).await.expect("the file opens");
    let second = SqliteStore::open(&bench.file(), ports()).await.expect_err("the file is taken");
    let OpenError::InUse { holder, .. } = &second else { panic!("{second:?}") };
    assert_eq!(*holder, format!("process {}", std::process::id()));
    assert!(second.to_string().contains("one process owns the file"), "{second}");
    first.close().await;
    SqliteStore::open(&bench.file(), ports()).await.expect("the file is free again").close().await;
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused() {
    let bench = FileBench::new();
    std::fs::write(bench.file(), "this is a letter, not a database; it only has the wrong name".repeat(40)).unwrap();
    let refused = SqliteStore::open(&bench.file(), ports()).await.expect_err("it is no database");
    assert!(matches!(refused, OpenError::Open { .. } | OpenError::Migrate { .. }), "{refused:?}");
}

#[tokio::test]
async fn opening_twice_migrates_once() {
    let bench = FileBench::new();
    for _ in 0..2 {
        let store = SqliteStore::open(&bench.file(), ports()).await.expect("the file opens");
        assert_eq!(store.revision().await.expect("a revision").0, 0);
        store.close().await;
    }
}

/// Migrations are append-only; what they add up to stands in one readable file.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test that writes the page when it is asked to")]
async fn the_generated_schema_is_what_the_migrations_make() {
    let bench = FileBench::new();
    let store = SqliteStore::open(&bench.file(), ports()).await.expect("the file opens");
    store.close().await;
    let options = SqliteConnectOptions::new().filename(bench.file());
    let mut conn = SqliteConnection::connect_with(&options).await.expect("the file opens");
    let tables =
        "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE '_sqlx%' ORDER BY type DESC, name";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut conn).await.expect("the tables");
    let schema = tables.join(";\n\n") + ";\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../migrations/sqlite.schema.sql");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &schema).expect("it is written");
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), schema, "run with BLESS=1");
}
