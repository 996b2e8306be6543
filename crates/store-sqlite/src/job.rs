//! Tables `jobs` and `leases`: the queue, and who may commit a result.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Revision;
use ostiary_domain::{
    Attempt, EnvironmentName, Failpoint, Job, JobId, JobState, Lease, Refusal, StoreError, VersionRef,
    job::NewJob,
    ports::{Answer, Claim, Queue},
};

use crate::{
    row::{Row, int, json, nanos, word},
    store::SqliteStore,
    transaction::{Db, head},
    version,
};

pub(crate) mod lease;

/// A job whose worker died this often is given up: something in it kills workers.
const MAX_TRIES: i64 = 5;

struct Columns {
    id: String,
    agent: String,
    label: String,
    attempt: i64,
    gate: String,
    bundle: String,
    environment: String,
    state: String,
    tries: i64,
    not_before: i64,
    started: Option<i64>,
    last_error: Option<String>,
}

/// Selects whole rows: one list of columns for every condition.
macro_rules! select {
    ($condition:literal, $($bound:expr),*) => {
        sqlx::query_as!(
            Columns,
            "SELECT j.id, j.agent, j.label, j.attempt, j.gate, j.bundle, j.environment, j.state, j.tries, j.not_before,
                    j.started, j.last_error
             FROM jobs j " + $condition,
            $($bound),*
        )
    };
}

// === impl SqliteStore ===

impl Queue for SqliteStore {
    fn enqueue(&self, job: NewJob) -> Answer<'_, JobId> {
        Box::pin(async move {
            let mut tx = self.writing("job.enqueue").await?;
            let now = tx.now();
            let id = enqueue(tx.db(), job, now).await?;
            tx.commit().await?;
            Ok(id)
        })
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Option<(Job, Lease)>> {
        Box::pin(take(self, claim))
    }

    fn heartbeat<'a>(&'a self, lease: &'a Lease, lease_for: SignedDuration) -> Answer<'a, Lease> {
        Box::pin(async move {
            let mut tx = self.writing("job.heartbeat").await?;
            let until = tx.now().saturating_add(lease_for).unwrap_or(Timestamp::MAX);
            lease::mine(tx.db(), lease).await?;
            let (id, epoch, now, end) = (lease.job.as_str(), int(lease.epoch), nanos(tx.now()), nanos(until));
            let query = sqlx::query!(
                "UPDATE jobs SET lease_until = ? WHERE id = ? AND epoch = ? AND state = 'leased' AND lease_until > ?",
                end,
                id,
                epoch,
                now
            );
            let mut db = tx.db();
            let updated = query.execute(db.conn()).await;
            db.one(updated, id).map_err(|_| lease::lost(lease))?;
            tx.commit().await?;
            Ok(Lease { until, ..lease.clone() })
        })
    }

    fn give_back<'a>(&'a self, lease: &'a Lease, why: &'a str, again: Option<Timestamp>) -> Answer<'a, ()> {
        Box::pin(give_back(self, lease, why, again))
    }

    fn job<'a>(&'a self, id: &'a JobId) -> Answer<'a, Option<Job>> {
        Box::pin(async move {
            let (mut tx, id) = (self.reading("job.load").await?, id.as_str());
            let mut db = tx.db();
            let found = select!("WHERE j.id = ?", id).fetch_optional(db.conn()).await;
            db.ok(found)?.map(Job::try_from).transpose()
        })
    }

    fn jobs_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<Job>> {
        Box::pin(async move {
            let mut tx = self.reading("job.list").await?;
            let (agent, label, attempt) = (version.agent.as_str(), version.label.as_str(), version.attempt.0);
            let mut db = tx.db();
            let query = select!(
                "WHERE j.agent = ? AND j.label = ? AND j.attempt = ? ORDER BY j.queued_at, j.id",
                agent,
                label,
                attempt
            );
            let found = query.fetch_all(db.conn()).await;
            db.ok(found)?.into_iter().map(Job::try_from).collect()
        })
    }

    fn held<'a>(&'a self, lease: &'a Lease) -> Answer<'a, Option<Job>> {
        Box::pin(async move {
            let now = nanos(self.ports.clock.now());
            let mut tx = self.reading("job.held").await?;
            let (id, epoch, token) = (lease.job.as_str(), int(lease.epoch), lease::digest(lease));
            let mut db = tx.db();
            let query = select!(
                "JOIN leases l ON l.job = j.id AND l.epoch = j.epoch
                 WHERE j.id = ? AND j.epoch = ? AND l.token_digest = ? AND j.state = 'leased' AND j.lease_until > ?",
                id,
                epoch,
                token,
                now
            );
            let found = query.fetch_optional(db.conn()).await;
            db.ok(found)?.map(Job::try_from).transpose()
        })
    }
}

// === the queue ===

/// Queues a job, unless one for the same try and gate waits or runs.
pub(crate) async fn enqueue(mut db: Db<'_>, job: NewJob, now: Timestamp) -> Result<JobId, StoreError> {
    let (agent, label, attempt) = (job.version.agent.as_str(), job.version.label.as_str(), job.version.attempt.0);
    let gate = word(&job.gate);
    let query = sqlx::query_scalar!(
        "SELECT id FROM jobs
         WHERE agent = ? AND label = ? AND attempt = ? AND gate = ? AND state IN ('queued', 'leased')",
        agent,
        label,
        attempt,
        gate
    );
    let open = query.fetch_optional(db.conn()).await;
    if let Some(open) = db.ok(open)? {
        return Ok(JobId(open));
    }
    let unknown = || Refusal::Unknown { what: "version", id: job.version.to_string() };
    let about = version::load(db.again(), &job.version).await?.ok_or_else(unknown)?;
    let (id, at) = (job.id.as_str(), nanos(now));
    let (bundle, environment) = (about.bundle.to_string(), about.environment.as_str());
    let query = sqlx::query!(
        "INSERT INTO jobs (id, agent, label, attempt, gate, bundle, environment, state, tries, queued_at, not_before,
                           epoch)
         VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', 0, ?, ?, 0)",
        id,
        agent,
        label,
        attempt,
        gate,
        bundle,
        environment,
        at,
        at
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)?;
    Ok(job.id)
}

async fn take(store: &SqliteStore, claim: Claim) -> Result<Option<(Job, Lease)>, StoreError> {
    let mut tx = store.writing("job.claim").await?;
    let now = nanos(tx.now());
    give_up(tx.db(), now).await?;
    let Some(mut job) = due(tx.db(), &claim, now).await? else {
        tx.commit().await?;
        return Ok(None);
    };
    let (started, _) = head(tx.db()).await?;
    let until = tx.now().saturating_add(claim.lease_for).unwrap_or(Timestamp::MAX);
    let token = tx.secret();
    let epoch = lend(tx.db(), &job.id, until, started).await?;
    let lease = Lease { job: job.id.clone(), token, epoch, until };
    lease::remember(tx.db(), &lease, &claim.worker, started).await?;
    let failpoints = tx.failpoints();
    tx.commit().await?;
    failpoints.hit(Failpoint::JobClaimed).map_err(StoreError::Crashed)?;
    job.state = JobState::Leased;
    job.tries += 1;
    job.started = Some(started);
    Ok(Some((job, lease)))
}

/// Jobs whose workers died too often.
async fn give_up(mut db: Db<'_>, now: i64) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "UPDATE jobs SET state = 'failed', last_error = 'its worker stopped too often'
         WHERE state = 'leased' AND lease_until <= ? AND tries >= ?",
        now,
        MAX_TRIES
    );
    let updated = query.execute(db.conn()).await;
    db.done(updated)
}

/// The oldest job that is due or whose lease ran out.
async fn due(mut db: Db<'_>, claim: &Claim, now: i64) -> Result<Option<Job>, StoreError> {
    let gates = json(&claim.gates);
    let query = select!(
        "WHERE ((j.state = 'queued' AND j.not_before <= ?) OR (j.state = 'leased' AND j.lease_until <= ?))
           AND j.gate IN (SELECT value FROM json_each(?))
         ORDER BY j.queued_at, j.id LIMIT 1",
        now,
        now,
        gates
    );
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Job::try_from).transpose()
}

async fn lend(mut db: Db<'_>, id: &JobId, until: Timestamp, started: Revision) -> Result<u64, StoreError> {
    let (key, until, started) = (id.as_str(), nanos(until), int(started.0));
    let query = sqlx::query_scalar!(
        "UPDATE jobs SET state = 'leased', epoch = epoch + 1, tries = tries + 1, lease_until = ?, started = ?
         WHERE id = ? RETURNING epoch",
        until,
        started,
        key
    );
    let epoch = query.fetch_one(db.conn()).await;
    let epoch = db.ok(epoch)?;
    Row { table: "jobs", id: key.to_owned() }.unsigned("epoch", epoch)
}

async fn give_back(store: &SqliteStore, lease: &Lease, why: &str, again: Option<Timestamp>) -> Result<(), StoreError> {
    let mut tx = store.writing("job.give_back").await?;
    lease::mine(tx.db(), lease).await?;
    let state = if again.is_some() { "queued" } else { "failed" };
    let (id, epoch, now) = (lease.job.as_str(), int(lease.epoch), nanos(tx.now()));
    let not_before = again.map_or(now, nanos);
    let query = sqlx::query!(
        "UPDATE jobs SET state = ?, last_error = ?, not_before = ?, lease_until = NULL
         WHERE id = ? AND epoch = ? AND state = 'leased' AND lease_until > ?",
        state,
        why,
        not_before,
        id,
        epoch,
        now
    );
    let mut db = tx.db();
    let updated = query.execute(db.conn()).await;
    db.one(updated, id).map_err(|_| lease::lost(lease))?;
    tx.commit().await
}

impl TryFrom<Columns> for Job {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "jobs", id: c.id.clone() };
        let version = VersionRef {
            agent: row.parse("agent", &c.agent)?,
            label: row.parse("label", &c.label)?,
            attempt: Attempt(row.small("attempt", c.attempt)?),
        };
        Ok(Self {
            id: JobId(c.id),
            version,
            gate: row.parse("gate", &c.gate)?,
            bundle: row.parse("bundle", &c.bundle)?,
            environment: EnvironmentName(c.environment),
            state: row.word("state", &c.state)?,
            tries: row.small("tries", c.tries)?,
            not_before: row.time("not_before", c.not_before)?,
            started: c.started.map(|r| row.revision("started", r)).transpose()?,
            last_error: c.last_error,
        })
    }
}
