//! Table `leases`: every lease that was ever given out, and what became of it.

use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};
use ostiary_domain::{Conflict, Lease, StoreError, ports::GateCommit};

use crate::{
    row::{Row, int, nanos, text, word},
    transaction::Db,
};

/// How a lease that is shown stands.
pub(crate) enum Held {
    /// It holds.
    Now,
    /// It was given out, and ran out or was given to somebody else.
    Lost,
    /// Its result is committed.
    Committed(Revision),
    /// It was never given out, or for something else.
    Stranger,
}

/// What becomes of a job whose result came in.
pub(crate) enum Outcome {
    /// Its result moved the version.
    Done,
    /// It is to be run again.
    Again(String),
    /// It is moot.
    Failed(String),
    /// Somebody else holds it now.
    NotOurs,
}

/// Writes a lease that is given out.
pub(crate) async fn remember(mut db: Db<'_>, lease: &Lease, worker: &str, started: Revision) -> Result<(), StoreError> {
    let (job, epoch, token, started) = (lease.job.as_str(), int(lease.epoch), digest(lease), int(started.0));
    let query = sqlx::query!(
        "INSERT INTO leases (job, epoch, token_digest, worker, started) VALUES ($1, $2, $3, $4, $5)",
        job,
        epoch,
        token,
        text(worker),
        started
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

/// How the commit's lease stands at `now`; nobody else takes the job before this transaction ends.
pub(crate) async fn standing(mut db: Db<'_>, commit: &GateCommit, now: Timestamp) -> Result<Held, StoreError> {
    let (job, epoch, token) = (commit.lease.job.as_str(), int(commit.lease.epoch), digest(&commit.lease));
    let (agent, label) = (commit.version.agent.as_str(), commit.version.label.as_str());
    let (attempt, gate, started) =
        (i64::from(commit.version.attempt.0), word(&commit.evidence.gate), int(commit.evidence.run_started.0));
    let query = sqlx::query!(
        "SELECT l.committed, j.epoch, j.state, j.lease_until
         FROM leases l JOIN jobs j ON j.id = l.job
         WHERE l.job = $1 AND l.epoch = $2 AND l.token_digest = $3 AND l.started = $4
           AND j.agent = $5 AND j.label = $6 AND j.attempt = $7 AND j.gate = $8
         FOR UPDATE OF j",
        job,
        epoch,
        token,
        started,
        agent,
        label,
        attempt,
        gate
    );
    let found = query.fetch_optional(db.conn()).await;
    let Some(found) = db.ok(found)? else { return Ok(Held::Stranger) };
    let row = Row { table: "leases", id: format!("{job}/{epoch}") };
    if let Some(revision) = found.committed {
        return row.revision("committed", revision).map(Held::Committed);
    }
    let current = found.epoch == epoch && found.state == "leased";
    let holds = current && found.lease_until.is_some_and(|until| nanos(now) < until);
    Ok(if holds { Held::Now } else { Held::Lost })
}

/// Marks the lease as used, and the job by `outcome`.
pub(crate) async fn finish(
    mut db: Db<'_>,
    lease: &Lease,
    revision: Revision,
    outcome: Outcome,
) -> Result<(), StoreError> {
    let (job, epoch, revision) = (lease.job.as_str(), int(lease.epoch), int(revision.0));
    let query = sqlx::query!(
        "UPDATE leases SET committed = $1 WHERE job = $2 AND epoch = $3 AND committed IS NULL",
        revision,
        job,
        epoch
    );
    let updated = query.execute(db.conn()).await;
    db.one(updated, job)?;
    let (state, error) = match outcome {
        Outcome::Done => ("done", None),
        Outcome::Again(why) => ("queued", Some(text(&why))),
        Outcome::Failed(why) => ("failed", Some(text(&why))),
        Outcome::NotOurs => return Ok(()),
    };
    let query = sqlx::query!(
        "UPDATE jobs SET state = $1, last_error = $2, lease_until = NULL
         WHERE id = $3 AND epoch = $4 AND state = 'leased'",
        state,
        error,
        job,
        epoch
    );
    let updated = query.execute(db.conn()).await;
    db.one(updated, job)
}

/// Whether the lease was given out with that token.
pub(super) async fn mine(mut db: Db<'_>, lease: &Lease) -> Result<(), StoreError> {
    let (job, epoch, token) = (lease.job.as_str(), int(lease.epoch), digest(lease));
    let query = sqlx::query_scalar!(
        "SELECT worker FROM leases WHERE job = $1 AND epoch = $2 AND token_digest = $3",
        job,
        epoch,
        token
    );
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(|_| ()).ok_or_else(|| lost(lease))
}

/// What the store keeps of the secret.
pub(super) fn digest(lease: &Lease) -> String {
    Digest::of(lease.token.as_bytes()).to_string()
}

/// The lease does not hold.
pub(super) fn lost(lease: &Lease) -> StoreError {
    Conflict::Lease(lease.job.clone()).into()
}
