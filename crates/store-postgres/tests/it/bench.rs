//! One database on the tests' own server, for the length of one test.

use std::sync::{Arc, Mutex, PoisonError};

use ostiary_domain::{
    Store,
    conformance::{
        Bench, Tamper,
        doubles::{CountedIds, SetClock},
    },
    ports::StorePorts,
};
use ostiary_record::ports::BoxFuture;
use ostiary_store_postgres::{PostgresStore, Settings, TimeSource, cluster::Cluster};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::sync::OnceCell;

/// A database, made when it is first opened.
pub struct DatabaseBench {
    url: OnceCell<String>,
    opened: Mutex<Option<PostgresStore>>,
}

// === impl DatabaseBench ===

impl DatabaseBench {
    pub fn new() -> Self {
        Self { url: OnceCell::new(), opened: Mutex::default() }
    }

    /// The database's URL.
    pub async fn url(&self) -> &str {
        self.url.get_or_init(|| Cluster::shared().database()).await
    }

    /// How tests open it: with the clock that they set.
    pub async fn settings(&self) -> Settings {
        Settings::from_url(self.url().await).expect("a database URL").time(TimeSource::Ports)
    }

    /// One more server on the same database.
    pub async fn another(&self, ports: StorePorts) -> PostgresStore {
        PostgresStore::open(&self.settings().await, ports).await.expect("the database opens")
    }

    /// The database, as somebody sees it who has its password.
    pub async fn behind_the_back(&self) -> PgConnection {
        PgConnection::connect(self.url().await).await.expect("the database answers")
    }
}

impl Bench for DatabaseBench {
    fn open(&self, ports: StorePorts) -> BoxFuture<'_, Arc<dyn Store>> {
        Box::pin(async move {
            let store = self.another(ports).await;
            *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(store.clone());
            Arc::new(store) as Arc<dyn Store>
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner).take();
            opened.expect("it was opened").close().await;
        })
    }

    fn tamper(&self, how: Tamper) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let sql = match how {
                Tamper::EditAudit(r) => format!(
                    "UPDATE audit SET record = convert_to(replace(convert_from(record, 'UTF8'), 'acme', 'evil'), 'UTF8')
                     WHERE revision = {r};"
                ),
                Tamper::DeleteAudit(r) => format!("DELETE FROM audit WHERE revision = {r};"),
                Tamper::SwapAudit(a, b) => format!(
                    "UPDATE audit SET revision = -1 WHERE revision = {a};
                     UPDATE audit SET revision = {a} WHERE revision = {b};
                     UPDATE audit SET revision = {b} WHERE revision = -1;"
                ),
                Tamper::RefileAudit(r) => format!("UPDATE audit SET subject = 'elsewhere' WHERE revision = {r};"),
                Tamper::EditObjects => r"UPDATE objects SET bytes = '\x00';".to_owned(),
                Tamper::EditState => "UPDATE versions SET state = 'ACTIVE';".to_owned(),
            };
            let mut conn = self.behind_the_back().await;
            let triggers = "ALTER TABLE audit DISABLE TRIGGER USER;";
            sqlx::raw_sql(triggers).execute(&mut conn).await.expect("whoever owns the tables disables their triggers");
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut conn).await.expect("it is written");
            conn.close().await.expect("it closes");
        })
    }
}

/// A clock that stands, and ids that count from `first`.
pub fn ports_from(first: u64) -> StorePorts {
    StorePorts::new(Arc::new(SetClock::default()), Arc::new(CountedIds::from(first)))
}
