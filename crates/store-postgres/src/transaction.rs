//! Transactions: named, tried again in one place, with one time, at most one revision, and the audit entry that belongs to it.
//!
//! **Who waits for whom.** A command that makes a revision ([`Revising`]) begins by locking the counter's one row, before
//! it reads anything: such commands run one after the other, as the revisions that they make stand one after the other,
//! and each reads what the one before it committed. Moves of the queue ([`Writing`]) leave the counter alone and lock
//! rows of `jobs` only, those that somebody else has locked being passed over. So locks are taken in one order, counter,
//! then the rows of versions, then jobs, then leases, and nobody holds what the other waits for.
//!
//! **What is tried again.** PostgreSQL may still undo a transaction for the sake of another one. That is no answer for a
//! caller: the whole of it is done anew. Nothing else is: a lost connection during the commit leaves open whether it
//! happened, and only the caller's idempotency key can tell.
//!
//! **Where the time comes from.** [`Db::clock`] is the only place where SQL reads a clock, once for each transaction and
//! after the counter is locked, so that times never run against revisions.

use std::future::Future;

use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};
use ostiary_domain::{AuditDraft, Failpoint, Moment, StoreError, ports::StorePorts};
use ostiary_record::ports::BoxFuture;
use sqlx::{PgConnection, Postgres, Transaction};

use crate::{
    row::{Row, int},
    settings::TimeSource,
    store::PostgresStore,
};

/// How often a transaction that was undone for another's sake is done anew. By the order of locks above it should not
/// happen at all.
const TRIES: u32 = 5;

/// A transaction that writes; `H` is what it locked at its beginning.
pub(crate) struct Writing<H = ()> {
    name: &'static str,
    now: Timestamp,
    ports: StorePorts,
    after: Option<Failpoint>,
    held: H,
    inner: Transaction<'static, Postgres>,
}

/// A transaction that may make a revision: it holds the counter from its beginning to its end.
pub(crate) type Revising = Writing<Head>;

/// The newest revision, and the audit's newest hash.
pub(crate) struct Head {
    pub(crate) revision: Revision,
    pub(crate) hash: Digest,
}

/// What a transaction locks before it does anything else.
pub(crate) trait Held: Sized + Send {
    /// Locks it.
    fn hold(db: Db<'_>) -> impl Future<Output = Result<Self, StoreError>> + Send;
}

/// A transaction that reads one snapshot.
pub(crate) struct Reading {
    name: &'static str,
    inner: Transaction<'static, Postgres>,
}

/// A connection inside a named transaction.
pub(crate) struct Db<'a> {
    name: &'static str,
    conn: &'a mut PgConnection,
}

// === impl PostgresStore ===

impl PostgresStore {
    /// Does `act` in the writing transaction `name` and commits it, unless `act` fails; then nothing of it happened.
    ///
    /// What `act` needs is handed to it as `command`, because it is done again when PostgreSQL undid it for the sake of
    /// another transaction.
    pub(crate) async fn transaction<H, C, T>(
        &self,
        name: &'static str,
        command: C,
        act: impl for<'t> Fn(&'t mut Writing<H>, &'t C) -> BoxFuture<'t, Result<T, StoreError>> + Send + Sync,
    ) -> Result<T, StoreError>
    where
        H: Held,
        C: Send + Sync,
        T: Send,
    {
        let mut tries = 1;
        loop {
            match self.once(name, &command, &act).await {
                Err(error) if tries < TRIES && was_undone(&error) => {
                    tracing::debug!(name, tries, "transaction is done anew");
                    tries += 1;
                }
                answer => return answer,
            }
        }
    }

    async fn once<H, C, T>(
        &self,
        name: &'static str,
        command: &C,
        act: &(impl for<'t> Fn(&'t mut Writing<H>, &'t C) -> BoxFuture<'t, Result<T, StoreError>> + Send + Sync),
    ) -> Result<T, StoreError>
    where
        H: Held,
        C: Send + Sync,
        T: Send,
    {
        let mut inner =
            self.pool.begin_with("BEGIN ISOLATION LEVEL READ COMMITTED").await.map_err(unavailable(name))?;
        let mut db = Db { name, conn: &mut inner };
        let held = H::hold(db.again()).await?;
        let now = self.now(db).await?;
        let mut tx = Writing { name, now, ports: self.ports.clone(), after: None, held, inner };
        let answer = act(&mut tx, command).await?;
        let Writing { after, ports, inner, .. } = tx;
        inner.commit().await.map_err(unavailable(name))?;
        if let Some(point) = after {
            ports.failpoints.hit(point).map_err(StoreError::Crashed)?;
        }
        Ok(answer)
    }

    /// Begins the reading transaction `name`. One that only reads a snapshot is never undone.
    pub(crate) async fn reading(&self, name: &'static str) -> Result<Reading, StoreError> {
        let begun = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await;
        Ok(Reading { name, inner: begun.map_err(unavailable(name))? })
    }

    /// The time, by whichever clock counts.
    pub(crate) async fn now(&self, db: Db<'_>) -> Result<Timestamp, StoreError> {
        match self.time {
            TimeSource::Database => db.clock().await,
            TimeSource::Ports => Ok(self.ports.clock.now()),
        }
    }
}

// === impl Reading ===

impl Reading {
    /// The connection, with the name that its errors carry.
    pub(crate) fn db(&mut self) -> Db<'_> {
        Db { name: self.name, conn: &mut self.inner }
    }
}

// === impl Writing ===

impl<H> Writing<H> {
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

    /// Where a test may stop the process once this is committed.
    pub(crate) const fn hit_after_commit(&mut self, point: Failpoint) {
        self.after = Some(point);
    }
}

impl Revising {
    /// The moment that this transaction will make: its time, and the next revision.
    pub(crate) const fn moment(&self) -> Moment {
        Moment { time: self.now, revision: Revision(self.held.revision.0 + 1) }
    }

    /// Makes `at`: bumps the revision, appends the audit entry that belongs to it, and wakes whoever listens.
    pub(crate) async fn record(&mut self, draft: AuditDraft, at: Moment) -> Result<(), StoreError> {
        let subject = draft.subject.clone();
        let entry = draft.entry(at, self.held.hash);
        let (revision, before) = (int(at.revision.0), int(self.held.revision.0));
        let (previous, hash) = (entry.previous.to_string(), entry.hash.to_string());
        let mut db = self.db();
        let bump = sqlx::query!(
            "UPDATE counter SET revision = $1, audit_hash = $2 WHERE id = 1 AND revision = $3",
            revision,
            hash,
            before
        );
        let bumped = bump.execute(db.conn()).await;
        db.one(bumped, "counter")?;
        let append = sqlx::query!(
            "INSERT INTO audit (revision, subject, record, previous, hash) VALUES ($1, $2, $3, $4, $5)",
            revision,
            subject,
            entry.bytes,
            previous,
            hash
        );
        let appended = append.execute(db.conn()).await;
        db.done(appended)?;
        // Delivered at the commit, or not at all. Only these rare transactions notify: at their commit, notifying ones
        // wait for each other across the whole server.
        let woken = sqlx::query!("NOTIFY ostiary_revision").execute(db.conn()).await;
        db.done(woken)
    }
}

// === impl Held ===

impl Held for () {
    async fn hold(_: Db<'_>) -> Result<Self, StoreError> {
        Ok(())
    }
}

impl Held for Head {
    async fn hold(mut db: Db<'_>) -> Result<Self, StoreError> {
        let locked = sqlx::query!("SELECT revision, audit_hash FROM counter WHERE id = 1 FOR UPDATE");
        let locked = locked.fetch_one(db.conn()).await;
        let row = db.ok(locked)?;
        Self::of(row.revision, &row.audit_hash)
    }
}

// === impl Head ===

impl Head {
    /// As it is now, for somebody who only looks.
    pub(crate) async fn read(mut db: Db<'_>) -> Result<Self, StoreError> {
        let read = sqlx::query!("SELECT revision, audit_hash FROM counter WHERE id = 1").fetch_one(db.conn()).await;
        let row = db.ok(read)?;
        Self::of(row.revision, &row.audit_hash)
    }

    fn of(revision: i64, hash: &str) -> Result<Self, StoreError> {
        let at = Row { table: "counter", id: "1".to_owned() };
        Ok(Self { revision: at.revision("revision", revision)?, hash: at.parse("audit_hash", hash)? })
    }
}

// === impl Db ===

impl Db<'_> {
    /// The same for a callee.
    pub(crate) fn again(&mut self) -> Db<'_> {
        Db { name: self.name, conn: self.conn }
    }

    /// What queries run on.
    pub(crate) fn conn(&mut self) -> &mut PgConnection {
        self.conn
    }

    /// The database's clock.
    async fn clock(mut self) -> Result<Timestamp, StoreError> {
        let read = sqlx::query_scalar!(
            r#"SELECT (extract(epoch FROM clock_timestamp()) * 1000000000)::BIGINT AS "nanoseconds!""#
        );
        let nanoseconds = read.fetch_one(self.conn()).await;
        Row { table: "clock", id: "of the database".to_owned() }.time("now", self.ok(nanoseconds)?)
    }

    /// A query's answer.
    pub(crate) fn ok<T>(&self, answer: Result<T, sqlx::Error>) -> Result<T, StoreError> {
        answer.map_err(unavailable(self.name))
    }

    /// A statement that needs no count.
    pub(crate) fn done(&self, answer: Result<sqlx::postgres::PgQueryResult, sqlx::Error>) -> Result<(), StoreError> {
        self.ok(answer).map(|_| ())
    }

    /// A guarded update: exactly one row, or somebody was faster.
    pub(crate) fn one(
        &self,
        answer: Result<sqlx::postgres::PgQueryResult, sqlx::Error>,
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

/// Whether PostgreSQL undid the transaction for the sake of another: serialization_failure, deadlock_detected.
fn was_undone(error: &StoreError) -> bool {
    let StoreError::Unavailable { source, .. } = error else { return false };
    let database = source.downcast_ref::<sqlx::Error>().and_then(sqlx::Error::as_database_error);
    database.and_then(|error| error.code()).is_some_and(|code| matches!(&*code, "40001" | "40P01"))
}
