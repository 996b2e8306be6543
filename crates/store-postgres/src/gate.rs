//! Committing a judged gate: transition, evidence, holds, route, next job, audit and revision, or the evidence alone.

use ostiary_domain::{
    Conflict, Failpoint, JobId, Moment, Standing, StoreError,
    change::{self, Changes, Undone},
    job::NewJob,
    ports::{GateCommit, GateCommitted},
};

use crate::{
    evidence,
    job::lease::{self, Held, Outcome},
    operate,
    store::PostgresStore,
    transaction::Revising,
    version,
};

/// Commits a judged gate.
pub(crate) async fn commit(store: &PostgresStore, commit: GateCommit) -> Result<GateCommitted, StoreError> {
    store.transaction("gate.commit", commit, |tx, commit| Box::pin(judged(tx, commit))).await
}

async fn judged(tx: &mut Revising, commit: &GateCommit) -> Result<GateCommitted, StoreError> {
    let now = tx.now();
    let holds = match lease::standing(tx.db(), commit, now).await? {
        Held::Committed(revision) => return Ok(GateCommitted::Repeated { revision }),
        Held::Stranger => return Err(Conflict::Lease(commit.lease.job.clone()).into()),
        Held::Lost => false,
        Held::Now => true,
    };
    tx.hit(Failpoint::CommitGuarded)?;
    let at = tx.moment();
    match decide(tx, commit, holds, at).await? {
        Ok(changes) => done(tx, commit, changes, at).await,
        Err(because) => kept(tx, commit, because, holds, at).await,
    }
}

/// What the domain says, in the world as it is inside this transaction.
async fn decide(
    tx: &mut Revising,
    commit: &GateCommit,
    holds: bool,
    at: Moment,
) -> Result<Result<Changes, Undone>, StoreError> {
    if !holds {
        return Ok(Err(Conflict::Lease(commit.lease.job.clone()).into()));
    }
    let loaded = operate::loaded(tx.db(), &commit.version).await?;
    let next =
        commit.consequence.next.map(|gate| NewJob { id: JobId(tx.id("job")), version: commit.version.clone(), gate });
    Ok(change::gate(loaded, commit, next, at))
}

async fn done(
    tx: &mut Revising,
    commit: &GateCommit,
    changes: Changes,
    at: Moment,
) -> Result<GateCommitted, StoreError> {
    let audit = changes.audit.clone();
    lease::finish(tx.db(), &commit.lease, at.revision, Outcome::Done).await?;
    let next = operate::write(tx, changes, at).await?.into_iter().next();
    tx.hit(Failpoint::CommitVersionWritten)?;
    keep(tx, commit, Standing::Decided, at).await?;
    tx.hit(Failpoint::CommitEvidenceWritten)?;
    tx.record(audit, at).await?;
    let after = version::load(tx.db(), &commit.version).await?;
    let after = after.ok_or_else(|| Conflict::Row(commit.version.to_string()))?;
    finish(tx)?;
    Ok(GateCommitted::Done { version: Box::new(after), next, revision: at.revision })
}

/// The world changed: the evidence is true all the same, and moves nothing.
async fn kept(
    tx: &mut Revising,
    commit: &GateCommit,
    because: Undone,
    holds: bool,
    at: Moment,
) -> Result<GateCommitted, StoreError> {
    keep(tx, commit, Standing::Kept, at).await?;
    let outcome = match &because {
        _ if !holds => Outcome::NotOurs,
        // The try stands where it stood, so the same gate is worth another run.
        Undone::Conflict(Conflict::Row(_) | Conflict::Policy | Conflict::Baseline) => {
            Outcome::Again(because.to_string())
        }
        Undone::Conflict(_) | Undone::Refused(_) => Outcome::Failed(because.to_string()),
    };
    lease::finish(tx.db(), &commit.lease, at.revision, outcome).await?;
    tx.record(change::evidence_kept(commit, &because), at).await?;
    finish(tx)?;
    Ok(GateCommitted::EvidenceKept { because, revision: at.revision })
}

async fn keep(tx: &mut Revising, commit: &GateCommit, standing: Standing, at: Moment) -> Result<(), StoreError> {
    let record = commit.evidence.clone().recorded(commit.version.clone(), standing, at.revision);
    evidence::insert(tx.db(), &record).await?;
    match &commit.report {
        Some(report) => evidence::insert_report(tx.db(), &record.id, report).await,
        None => Ok(()),
    }
}

fn finish(tx: &mut Revising) -> Result<(), StoreError> {
    tx.hit_after_commit(Failpoint::CommitDone);
    tx.hit(Failpoint::CommitWritten)
}
