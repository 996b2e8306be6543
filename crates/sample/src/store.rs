//! What the agent keeps: drafts, outbox events and tasks, in SQLite.
//!
//! One connection: the store is small, and one writer makes "one draft a key" a matter of one transaction.

use jiff::Timestamp;
use serde_json::Value;
use sqlx::{
    Row as _, SqliteConnection, SqlitePool,
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};

use crate::{
    config::StoreAt,
    task::Task,
    work::{Plan, WorkRequest},
};

const SCHEMA: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS drafts (
        tenant_id TEXT NOT NULL, request_id TEXT NOT NULL, plan_id TEXT NOT NULL UNIQUE,
        status TEXT NOT NULL, items TEXT NOT NULL, created_at TEXT NOT NULL,
        PRIMARY KEY (tenant_id, request_id)) STRICT",
    "CREATE TABLE IF NOT EXISTS outbox (
        event_id INTEGER PRIMARY KEY, tenant_id TEXT NOT NULL, plan_id TEXT NOT NULL,
        kind TEXT NOT NULL, created_at TEXT NOT NULL) STRICT",
    "CREATE TABLE IF NOT EXISTS tasks (
        task_id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, context_id TEXT NOT NULL,
        state TEXT NOT NULL, updated_at TEXT NOT NULL, document TEXT NOT NULL) STRICT",
    "CREATE INDEX IF NOT EXISTS tasks_by_time ON tasks (tenant_id, updated_at DESC, task_id DESC)",
];

/// The store could not do it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// SQLite said so.
    #[error("use the plan store")]
    Sql(#[from] sqlx::Error),
    /// A row does not hold what it must.
    #[error("read table `{table}`, row `{row}`")]
    Row {
        /// Which table.
        table: &'static str,
        /// Which row.
        row: String,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

/// How many records there are: what an onlooker counts to see effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ledger {
    /// Draft plans.
    pub drafts: u64,
    /// Outbox events.
    pub outbox: u64,
}

/// What became of a request to draft a plan.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Drafted {
    /// The plan: new, or the one that this key made before.
    Plan(Plan),
    /// The key was used for other work.
    KeyReused,
}

/// The page of a listing.
#[derive(Clone, Debug)]
pub(crate) struct Filter<'a> {
    /// `None` lists all tenants', which only a lie does.
    pub(crate) tenant: Option<&'a str>,
    pub(crate) context_id: Option<&'a str>,
    pub(crate) state: Option<&'a str>,
    pub(crate) since: Option<&'a str>,
    /// The last entry of the page before: its time and id.
    pub(crate) after: Option<(&'a str, &'a str)>,
    pub(crate) limit: i64,
}

#[derive(Clone, Debug)]
pub(crate) struct Store(SqlitePool);

// === impl Store ===

impl Store {
    pub(crate) async fn open(at: &StoreAt) -> Result<Self, StoreError> {
        let options = match at {
            StoreAt::Memory => SqliteConnectOptions::new().in_memory(true),
            StoreAt::File(path) => SqliteConnectOptions::new().filename(path).create_if_missing(true),
        };
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Normal);
        // one connection that never retires: with the in-memory store, it is the database
        let pool = SqlitePoolOptions::new().max_connections(1).idle_timeout(None).max_lifetime(None);
        let pool = pool.connect_with(options).await?;
        for statement in SCHEMA {
            sqlx::query(*statement).execute(&pool).await?;
        }
        Ok(Self(pool))
    }

    pub(crate) async fn close(&self) {
        self.0.close().await;
    }

    pub(crate) async fn put_task(&self, task: &Task) -> Result<(), StoreError> {
        put_task(&mut *self.0.acquire().await?, task).await
    }

    /// A task by id, of one tenant unless `tenant` is `None`. Another tenant's task and no task at all are one query
    /// with one answer.
    pub(crate) async fn task(&self, id: &str, tenant: Option<&str>) -> Result<Option<Task>, StoreError> {
        let query = "SELECT document FROM tasks WHERE task_id = ?1 AND (?2 IS NULL OR tenant_id = ?2)";
        let row = sqlx::query(query).bind(id).bind(tenant).fetch_optional(&self.0).await?;
        row.map(|row| read_task(row.try_get("document")?, id)).transpose()
    }

    /// One page of tasks, newest first, and how many there are on all pages.
    pub(crate) async fn tasks(&self, filter: &Filter<'_>) -> Result<(Vec<Task>, i64), StoreError> {
        const MATCHING: &str = "FROM tasks WHERE (?1 IS NULL OR tenant_id = ?1) AND (?2 IS NULL OR context_id = ?2) \
             AND (?3 IS NULL OR state = ?3) AND (?4 IS NULL OR updated_at >= ?4)";
        let count = sqlx::AssertSqlSafe(format!("SELECT COUNT(*) {MATCHING}"));
        let page = sqlx::AssertSqlSafe(format!(
            "SELECT task_id, document {MATCHING} AND (?5 IS NULL OR (updated_at, task_id) < (?5, ?6)) \
             ORDER BY updated_at DESC, task_id DESC LIMIT ?7"
        ));
        let total: i64 = sqlx::query_scalar(count)
            .bind(filter.tenant)
            .bind(filter.context_id)
            .bind(filter.state)
            .bind(filter.since)
            .fetch_one(&self.0)
            .await?;
        let rows = sqlx::query(page)
            .bind(filter.tenant)
            .bind(filter.context_id)
            .bind(filter.state)
            .bind(filter.since)
            .bind(filter.after.map(|(at, _)| at))
            .bind(filter.after.map(|(_, id)| id))
            .bind(filter.limit)
            .fetch_all(&self.0)
            .await?;
        let read = rows.iter().map(|row| read_task(row.try_get("document")?, row.try_get("task_id")?));
        Ok((read.collect::<Result<_, StoreError>>()?, total))
    }

    /// Drafts the plan and writes its outbox event, unless the key has made one already. In the same transaction the
    /// task is stored as `finish` makes it, so that a plan and its finished task exist together or not at all.
    pub(crate) async fn draft(
        &self,
        work: &WorkRequest,
        plan_id: &str,
        at: Timestamp,
        finish: impl FnOnce(&Drafted) -> Task + Send,
    ) -> Result<(Drafted, Task), StoreError> {
        let mut tx = self.0.begin().await?;
        let drafted = match find_draft(&mut tx, work).await? {
            Some(found) => found,
            None => insert_draft(&mut tx, work, plan_id, at).await?,
        };
        let task = finish(&drafted);
        put_task(&mut tx, &task).await?;
        tx.commit().await?;
        Ok((drafted, task))
    }

    /// How many drafts and outbox events there are, of one tenant or of all.
    pub(crate) async fn ledger(&self, tenant: Option<&str>) -> Result<Ledger, StoreError> {
        let query = "SELECT (SELECT COUNT(*) FROM drafts WHERE ?1 IS NULL OR tenant_id = ?1) AS drafts, \
             (SELECT COUNT(*) FROM outbox WHERE ?1 IS NULL OR tenant_id = ?1) AS outbox";
        let row = sqlx::query(query).bind(tenant).fetch_one(&self.0).await?;
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        Ok(Ledger { drafts: count(row.try_get("drafts")?), outbox: count(row.try_get("outbox")?) })
    }
}

async fn put_task(db: &mut SqliteConnection, task: &Task) -> Result<(), StoreError> {
    let document = serde_json::to_string(task);
    let document = document.map_err(|source| StoreError::Row { table: "tasks", row: task.id.clone(), source })?;
    let query = "INSERT INTO tasks (task_id, tenant_id, context_id, state, updated_at, document) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (task_id) \
         DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at, document = excluded.document";
    sqlx::query(query)
        .bind(&task.id)
        .bind(&task.tenant)
        .bind(&task.context_id)
        .bind(task.state.name())
        .bind(crate::clock::stamp(task.at))
        .bind(document)
        .execute(db)
        .await?;
    Ok(())
}

async fn find_draft(db: &mut SqliteConnection, work: &WorkRequest) -> Result<Option<Drafted>, StoreError> {
    let query = "SELECT plan_id, items FROM drafts WHERE tenant_id = ?1 AND request_id = ?2";
    let row = sqlx::query(query).bind(&work.tenant_id).bind(&work.request_id).fetch_optional(db).await?;
    let Some(row) = row else { return Ok(None) };
    let plan_id: String = row.try_get("plan_id")?;
    let items: Value = serde_json::from_str(row.try_get("items")?).map_err(|source| StoreError::Row {
        table: "drafts",
        row: plan_id.clone(),
        source,
    })?;
    let same = items == Value::Array(work.items.clone());
    Ok(Some(if same { Drafted::Plan(Plan { plan_id, items: work.items.clone() }) } else { Drafted::KeyReused }))
}

async fn insert_draft(
    db: &mut SqliteConnection,
    work: &WorkRequest,
    plan_id: &str,
    at: Timestamp,
) -> Result<Drafted, StoreError> {
    let at = crate::clock::stamp(at);
    let draft = "INSERT INTO drafts (tenant_id, request_id, plan_id, status, items, created_at) \
         VALUES (?1, ?2, ?3, 'draft', ?4, ?5)";
    sqlx::query(draft)
        .bind(&work.tenant_id)
        .bind(&work.request_id)
        .bind(plan_id)
        .bind(Value::Array(work.items.clone()).to_string())
        .bind(&at)
        .execute(&mut *db)
        .await?;
    let event = "INSERT INTO outbox (tenant_id, plan_id, kind, created_at) VALUES (?1, ?2, 'plan_drafted', ?3)";
    sqlx::query(event).bind(&work.tenant_id).bind(plan_id).bind(&at).execute(db).await?;
    Ok(Drafted::Plan(Plan { plan_id: plan_id.to_owned(), items: work.items.clone() }))
}

fn read_task(document: &str, id: &str) -> Result<Task, StoreError> {
    serde_json::from_str(document).map_err(|source| StoreError::Row { table: "tasks", row: id.to_owned(), source })
}
