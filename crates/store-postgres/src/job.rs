//! Tables `jobs` and `leases`: the queue, and who may commit a result.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Revision;
use ostiary_domain::{
    Attempt, Conflict, EnvironmentName, Failpoint, Job, JobId, JobState, Lease, Refusal, StoreError, VersionRef,
    job::NewJob,
    ports::{Answer, Claim, Queue},
};

use crate::{
    row::{Row, int, nanos, text, word},
    store::PostgresStore,
    transaction::{Db, Head, Writing},
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

// === impl PostgresStore ===

impl Queue for PostgresStore {
    fn enqueue(&self, job: NewJob) -> Answer<'_, JobId> {
        Box::pin(async move {
            self.transaction::<(), _, _>("job.enqueue", job, |tx, job| {
                let now = tx.now();
                Box::pin(enqueue(tx.db(), job.clone(), now))
            })
            .await
        })
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Option<(Job, Lease)>> {
        Box::pin(self.transaction("job.claim", claim, |tx, claim| Box::pin(take(tx, claim))))
    }

    fn heartbeat<'a>(&'a self, lease: &'a Lease, lease_for: SignedDuration) -> Answer<'a, Lease> {
        let command = (lease, lease_for);
        Box::pin(
            self.transaction("job.heartbeat", command, |tx, (lease, lease_for)| {
                Box::pin(prolong(tx, lease, *lease_for))
            }),
        )
    }

    fn give_back<'a>(&'a self, lease: &'a Lease, why: &'a str, again: Option<Timestamp>) -> Answer<'a, ()> {
        let command = (lease, why, again);
        Box::pin(self.transaction("job.give_back", command, |tx, (lease, why, again)| {
            Box::pin(give_back(tx, lease, why, *again))
        }))
    }

    fn job<'a>(&'a self, id: &'a JobId) -> Answer<'a, Option<Job>> {
        Box::pin(async move {
            let (mut tx, id) = (self.reading("job.load").await?, id.as_str());
            let mut db = tx.db();
            let found = select!("WHERE j.id = $1", id).fetch_optional(db.conn()).await;
            db.ok(found)?.map(Job::try_from).transpose()
        })
    }

    fn jobs_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<Job>> {
        Box::pin(async move {
            let mut tx = self.reading("job.list").await?;
            let (agent, label, attempt) =
                (version.agent.as_str(), version.label.as_str(), i64::from(version.attempt.0));
            let mut db = tx.db();
            let query = select!(
                "WHERE j.agent = $1 AND j.label = $2 AND j.attempt = $3 ORDER BY j.queued_at, j.id",
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
            let mut tx = self.reading("job.held").await?;
            let now = nanos(self.now(tx.db()).await?);
            let (id, epoch, token) = (lease.job.as_str(), int(lease.epoch), lease::digest(lease));
            let mut db = tx.db();
            let query = select!(
                "JOIN leases l ON l.job = j.id AND l.epoch = j.epoch
                 WHERE j.id = $1 AND j.epoch = $2 AND l.token_digest = $3 AND j.state = 'leased' AND j.lease_until > $4",
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
    let (agent, label, attempt) =
        (job.version.agent.as_str(), job.version.label.as_str(), i64::from(job.version.attempt.0));
    let gate = word(&job.gate);
    if let Some(open) = open(db.again(), &job).await? {
        return Ok(open);
    }
    let unknown = || Refusal::Unknown { what: "version", id: job.version.to_string() };
    let about = version::load(db.again(), &job.version).await?.ok_or_else(unknown)?;
    let (id, at) = (job.id.as_str(), nanos(now));
    let (bundle, environment) = (about.bundle.to_string(), about.environment.as_str());
    let query = sqlx::query!(
        "INSERT INTO jobs (id, agent, label, attempt, gate, bundle, environment, state, tries, queued_at, not_before,
                           epoch)
         VALUES ($1, $2, $3, $4, $5, $6, $7, 'queued', 0, $8, $8, 0)
         ON CONFLICT (agent, label, attempt, gate) WHERE state IN ('queued', 'leased') DO NOTHING",
        id,
        agent,
        label,
        attempt,
        gate,
        bundle,
        environment,
        at
    );
    let inserted = query.execute(db.conn()).await;
    if db.ok(inserted)?.rows_affected() == 1 {
        return Ok(job.id);
    }
    // Somebody queued the same gate between our look and our insert; unless it ended since, that job is the answer.
    open(db, &job).await?.ok_or_else(|| Conflict::Row(job.id.to_string()).into())
}

/// The job for the same try and gate that waits or runs.
async fn open(mut db: Db<'_>, job: &NewJob) -> Result<Option<JobId>, StoreError> {
    let (agent, label, gate) = (job.version.agent.as_str(), job.version.label.as_str(), word(&job.gate));
    let query = sqlx::query_scalar!(
        "SELECT id FROM jobs
         WHERE agent = $1 AND label = $2 AND attempt = $3 AND gate = $4 AND state IN ('queued', 'leased')",
        agent,
        label,
        i64::from(job.version.attempt.0),
        gate
    );
    let open = query.fetch_optional(db.conn()).await;
    Ok(db.ok(open)?.map(JobId))
}

async fn take(tx: &mut Writing, claim: &Claim) -> Result<Option<(Job, Lease)>, StoreError> {
    let now = nanos(tx.now());
    give_up(tx.db(), now).await?;
    let Some(mut job) = due(tx.db(), claim, now).await? else {
        return Ok(None);
    };
    let started = Head::read(tx.db()).await?.revision;
    let until = tx.now().saturating_add(claim.lease_for).unwrap_or(Timestamp::MAX);
    let token = tx.secret();
    let epoch = lend(tx.db(), &job.id, until, started).await?;
    let lease = Lease { job: job.id.clone(), token, epoch, until };
    lease::remember(tx.db(), &lease, &claim.worker, started).await?;
    tx.hit_after_commit(Failpoint::JobClaimed);
    job.state = JobState::Leased;
    job.tries += 1;
    job.started = Some(started);
    Ok(Some((job, lease)))
}

/// Jobs whose workers died too often. What somebody else is at is left to them.
async fn give_up(mut db: Db<'_>, now: i64) -> Result<(), StoreError> {
    let query = sqlx::query!(
        "UPDATE jobs SET state = 'failed', last_error = 'its worker stopped too often'
         WHERE id IN (
             SELECT id FROM jobs WHERE state = 'leased' AND lease_until <= $1 AND tries >= $2 FOR UPDATE SKIP LOCKED
         )",
        now,
        MAX_TRIES
    );
    let updated = query.execute(db.conn()).await;
    db.done(updated)
}

/// The oldest job that is due or whose lease ran out, and that nobody else is about to take; it is locked.
async fn due(mut db: Db<'_>, claim: &Claim, now: i64) -> Result<Option<Job>, StoreError> {
    let gates: Vec<String> = claim.gates.iter().map(word).collect();
    let query = select!(
        "WHERE ((j.state = 'queued' AND j.not_before <= $1) OR (j.state = 'leased' AND j.lease_until <= $1))
           AND j.gate = ANY($2)
         ORDER BY j.queued_at, j.id LIMIT 1
         FOR UPDATE OF j SKIP LOCKED",
        now,
        &gates
    );
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Job::try_from).transpose()
}

async fn lend(mut db: Db<'_>, id: &JobId, until: Timestamp, started: Revision) -> Result<u64, StoreError> {
    let (key, until, started) = (id.as_str(), nanos(until), int(started.0));
    let query = sqlx::query_scalar!(
        "UPDATE jobs SET state = 'leased', epoch = epoch + 1, tries = tries + 1, lease_until = $1, started = $2
         WHERE id = $3 RETURNING epoch",
        until,
        started,
        key
    );
    let epoch = query.fetch_one(db.conn()).await;
    let epoch = db.ok(epoch)?;
    Row { table: "jobs", id: key.to_owned() }.unsigned("epoch", epoch)
}

async fn prolong(tx: &mut Writing, lease: &Lease, lease_for: SignedDuration) -> Result<Lease, StoreError> {
    let until = tx.now().saturating_add(lease_for).unwrap_or(Timestamp::MAX);
    lease::mine(tx.db(), lease).await?;
    let (id, epoch, now, end) = (lease.job.as_str(), int(lease.epoch), nanos(tx.now()), nanos(until));
    let query = sqlx::query!(
        "UPDATE jobs SET lease_until = $1 WHERE id = $2 AND epoch = $3 AND state = 'leased' AND lease_until > $4",
        end,
        id,
        epoch,
        now
    );
    let mut db = tx.db();
    let updated = query.execute(db.conn()).await;
    match db.ok(updated)?.rows_affected() {
        1 => Ok(Lease { until, ..lease.clone() }),
        _ => Err(lease::lost(lease)),
    }
}

async fn give_back(tx: &mut Writing, lease: &Lease, why: &str, again: Option<Timestamp>) -> Result<(), StoreError> {
    lease::mine(tx.db(), lease).await?;
    let state = if again.is_some() { "queued" } else { "failed" };
    let (id, epoch, now) = (lease.job.as_str(), int(lease.epoch), nanos(tx.now()));
    let not_before = again.map_or(now, nanos);
    let query = sqlx::query!(
        "UPDATE jobs SET state = $1, last_error = $2, not_before = $3, lease_until = NULL
         WHERE id = $4 AND epoch = $5 AND state = 'leased' AND lease_until > $6",
        state,
        text(why),
        not_before,
        id,
        epoch,
        now
    );
    let mut db = tx.db();
    let updated = query.execute(db.conn()).await;
    match db.ok(updated)?.rows_affected() {
        1 => Ok(()),
        _ => Err(lease::lost(lease)),
    }
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
