//! Transactions: named, with one time, at most one revision, and the audit entry that belongs to it.
//!
//! None is retried: one process has one writing connection, so a transaction that began is never the victim of another.

use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};
use ostiary_domain::{AuditDraft, Failpoint, Moment, StoreError, ports::StorePorts};
use sqlx::{Sqlite, SqliteConnection, SqlitePool, Transaction};

use crate::{
    row::{Row, int},
    store::SqliteStore,
};

/// A transaction that writes. What is not committed is rolled back, also when its future is dropped.
pub(crate) struct Writing {
    name: &'static str,
    now: Timestamp,
    ports: StorePorts,
    inner: Transaction<'static, Sqlite>,
}

/// A transaction that reads one snapshot.
pub(crate) struct Reading {
    name: &'static str,
    inner: Transaction<'static, Sqlite>,
}

// === impl SqliteStore ===

impl SqliteStore {
    /// Begins the writing transaction `name`: it has the file to itself from here on.
    pub(crate) async fn writing(&self, name: &'static str) -> Result<Writing, StoreError> {
        let inner = self.write.begin_with("BEGIN IMMEDIATE").await.map_err(unavailable(name))?;
        Ok(Writing { name, now: self.ports.clock.now(), ports: self.ports.clone(), inner })
    }

    /// Begins the reading transaction `name`.
    pub(crate) async fn reading(&self, name: &'static str) -> Result<Reading, StoreError> {
        let inner = begin(&self.read, name).await?;
        Ok(Reading { name, inner })
    }
}

async fn begin(pool: &SqlitePool, name: &'static str) -> Result<Transaction<'static, Sqlite>, StoreError> {
    pool.begin().await.map_err(unavailable(name))
}

// === impl Reading ===

impl Reading {
    /// The connection, with the name that its errors carry.
    pub(crate) fn db(&mut self) -> Db<'_> {
        Db { name: self.name, conn: &mut self.inner }
    }
}

// === impl Writing ===

impl Writing {
    /// The connection, with the name that its errors carry.
    pub(crate) fn db(&mut self) -> Db<'_> {
        Db { name: self.name, conn: &mut self.inner }
    }

    /// The transaction's time.
    pub(crate) const fn now(&self) -> Timestamp {
        self.now
    }

    /// A new id.
    pub(crate) fn id(&self, kind: &'static str) -> String {
        self.ports.ids.next(kind)
    }

    /// A new secret.
    pub(crate) fn secret(&self) -> String {
        self.ports.ids.secret()
    }

    /// Where a test may stop the process.
    pub(crate) fn hit(&self, point: Failpoint) -> Result<(), StoreError> {
        self.ports.failpoints.hit(point).map_err(StoreError::Crashed)
    }

    /// The failpoints, for what comes after the commit.
    pub(crate) fn failpoints(&self) -> std::sync::Arc<dyn ostiary_domain::Failpoints> {
        self.ports.failpoints.clone()
    }

    /// The moment that this transaction will make: its time, and the next revision.
    pub(crate) async fn moment(&mut self) -> Result<Moment, StoreError> {
        let (revision, _) = head(self.db()).await?;
        Ok(Moment { time: self.now, revision: Revision(revision.0 + 1) })
    }

    /// Makes `at`: bumps the revision and appends the audit entry that belongs to it.
    pub(crate) async fn record(&mut self, draft: AuditDraft, at: Moment) -> Result<(), StoreError> {
        let (_, previous) = head(self.db()).await?;
        let subject = draft.subject.clone();
        let entry = draft.entry(at, previous);
        let (revision, before) = (int(at.revision.0), int(at.revision.0.saturating_sub(1)));
        let (previous, hash) = (entry.previous.to_string(), entry.hash.to_string());
        let mut db = self.db();
        let bump = sqlx::query!(
            "UPDATE counter SET revision = ?, audit_hash = ? WHERE id = 1 AND revision = ?",
            revision,
            hash,
            before
        );
        let bumped = bump.execute(db.conn()).await;
        db.one(bumped, "counter")?;
        let append = sqlx::query!(
            "INSERT INTO audit (revision, subject, record, previous, hash) VALUES (?, ?, ?, ?, ?)",
            revision,
            subject,
            entry.bytes,
            previous,
            hash
        );
        let appended = append.execute(db.conn()).await;
        db.done(appended)
    }

    /// Commits.
    pub(crate) async fn commit(self) -> Result<(), StoreError> {
        self.inner.commit().await.map_err(unavailable(self.name))
    }
}

/// The newest revision and the audit's newest hash.
pub(crate) async fn head(mut db: Db<'_>) -> Result<(Revision, Digest), StoreError> {
    let read = sqlx::query!("SELECT revision, audit_hash FROM counter WHERE id = 1").fetch_one(db.conn()).await;
    let row = db.ok(read)?;
    let at = Row { table: "counter", id: "1".to_owned() };
    Ok((at.revision("revision", row.revision)?, at.parse("audit_hash", &row.audit_hash)?))
}

/// A connection inside a named transaction.
pub(crate) struct Db<'a> {
    name: &'static str,
    conn: &'a mut SqliteConnection,
}

// === impl Db ===

impl Db<'_> {
    /// The same for a callee.
    pub(crate) fn again(&mut self) -> Db<'_> {
        Db { name: self.name, conn: self.conn }
    }

    /// What queries run on.
    pub(crate) fn conn(&mut self) -> &mut SqliteConnection {
        self.conn
    }

    /// A query's answer.
    pub(crate) fn ok<T>(&self, answer: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        answer.map_err(unavailable(self.name))
    }

    /// A statement that needs no count.
    pub(crate) fn done(&self, answer: Result<sqlx::sqlite::SqliteQueryResult, sqlx::Error>) -> Result<(), StoreError> {
        self.ok(answer).map(|_| ())
    }

    /// A guarded update: exactly one row, or somebody was faster.
    pub(crate) fn one(
        &self,
        answer: Result<sqlx::sqlite::SqliteQueryResult, sqlx::Error>,
        what: &str,
    ) -> Result<(), StoreError> {
        match self.ok(answer)?.rows_affected() {
            1 => Ok(()),
            _ => Err(ostiary_domain::Conflict::Row(what.to_owned()).into()),
        }
    }
}

fn unavailable(during: &'static str) -> impl FnOnce(sqlx::Error) -> StoreError {
    move |source| StoreError::Unavailable { during, source: Box::new(source) }
}
