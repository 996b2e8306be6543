//! Table `revalidations`.

use jiff::SignedDuration;
use ostiary_canon::AgentId;
use ostiary_domain::{Attempt, HoldId, Moment, StoreError, VersionRef, drift::Revalidation};

use crate::{
    row::{Row, int, nanos},
    store::SqliteStore,
    transaction::Db,
};

struct Columns {
    agent: String,
    label: String,
    attempt: i64,
    hold: Option<String>,
    for_all: Option<String>,
    observed: String,
    since_at: i64,
    since_revision: i64,
    failed: i64,
    not_before: i64,
    last_error: Option<String>,
}

/// Hands out the revalidation that has waited longest; the lease is the next due time.
pub(super) async fn claim(store: &SqliteStore, lease_for: SignedDuration) -> Result<Option<Revalidation>, StoreError> {
    let mut tx = store.writing("revalidation.claim").await?;
    let now = nanos(tx.now());
    let lease = nanos(tx.now().saturating_add(lease_for).unwrap_or(tx.now()));
    let query = sqlx::query_as!(
        Columns,
        "UPDATE revalidations SET not_before = ? WHERE (agent, label, attempt) = (
             SELECT agent, label, attempt FROM revalidations WHERE not_before <= ?
             ORDER BY not_before, agent, label, attempt LIMIT 1
         ) RETURNING agent, label, attempt, hold, for_all, observed, since_at, since_revision, failed, not_before,
                     last_error",
        lease,
        now
    );
    let mut db = tx.db();
    let found = query.fetch_optional(db.conn()).await;
    let claimed = db.ok(found)?.map(Revalidation::try_from).transpose()?;
    tx.commit().await?;
    Ok(claimed)
}

/// The open revalidation of a try.
pub(super) async fn load(mut db: Db<'_>, key: &VersionRef) -> Result<Option<Revalidation>, StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), key.attempt.0);
    let query = sqlx::query_as!(
        Columns,
        "SELECT agent, label, attempt, hold, for_all, observed, since_at, since_revision, failed, not_before, last_error
         FROM revalidations WHERE agent = ? AND label = ? AND attempt = ?",
        agent,
        label,
        attempt
    );
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Revalidation::try_from).transpose()
}

/// The open revalidations of an agent.
pub(super) async fn of_agent(mut db: Db<'_>, agent: &AgentId) -> Result<Vec<Revalidation>, StoreError> {
    let agent = agent.as_str();
    let query = sqlx::query_as!(
        Columns,
        "SELECT agent, label, attempt, hold, for_all, observed, since_at, since_revision, failed, not_before, last_error
         FROM revalidations WHERE agent = ? ORDER BY label, attempt",
        agent
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(Revalidation::try_from).collect()
}

/// Writes a revalidation as it is to be.
pub(super) async fn put(mut db: Db<'_>, open: &Revalidation) -> Result<(), StoreError> {
    let key = &open.version;
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), key.attempt.0);
    let (hold, for_all) = (open.hold.as_ref().map(HoldId::as_str), open.for_all.as_ref().map(HoldId::as_str));
    let (observed, since, revision) = (open.observed.to_string(), nanos(open.since.time), int(open.since.revision.0));
    let not_before = nanos(open.not_before);
    let query = sqlx::query!(
        "INSERT INTO revalidations (agent, label, attempt, hold, for_all, observed, since_at, since_revision, failed,
                                    not_before, last_error)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT (agent, label, attempt) DO UPDATE
         SET hold = excluded.hold, for_all = excluded.for_all, observed = excluded.observed,
             since_at = excluded.since_at, since_revision = excluded.since_revision, failed = excluded.failed,
             not_before = excluded.not_before, last_error = excluded.last_error",
        agent,
        label,
        attempt,
        hold,
        for_all,
        observed,
        since,
        revision,
        open.failed,
        not_before,
        open.last_error
    );
    let written = query.execute(db.conn()).await;
    db.done(written)
}

/// Takes it away: it concluded.
pub(super) async fn remove(mut db: Db<'_>, key: &VersionRef) -> Result<(), StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), key.attempt.0);
    let query =
        sqlx::query!("DELETE FROM revalidations WHERE agent = ? AND label = ? AND attempt = ?", agent, label, attempt);
    let deleted = query.execute(db.conn()).await;
    db.one(deleted, &key.to_string())
}

impl TryFrom<Columns> for Revalidation {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "revalidations", id: format!("{}@{}#{}", c.agent, c.label, c.attempt) };
        let version = VersionRef {
            agent: row.parse("agent", &c.agent)?,
            label: row.parse("label", &c.label)?,
            attempt: Attempt(row.small("attempt", c.attempt)?),
        };
        Ok(Self {
            version,
            hold: c.hold.map(HoldId),
            for_all: c.for_all.map(HoldId),
            observed: row.parse("observed", &c.observed)?,
            since: Moment {
                time: row.time("since_at", c.since_at)?,
                revision: row.revision("since_revision", c.since_revision)?,
            },
            failed: row.small("failed", c.failed)?,
            not_before: row.time("not_before", c.not_before)?,
            last_error: c.last_error,
        })
    }
}
