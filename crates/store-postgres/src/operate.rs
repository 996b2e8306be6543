//! Acts outside the gates, and how any command's changes are written.

use ostiary_canon::Revision;
use ostiary_domain::{
    JobId, Moment, Refusal, StateName, StoreError, VersionRef,
    change::{self, Changes, Loaded, Undone},
    ports::{Operate, Operated},
};
use serde::{Deserialize, Serialize};

use crate::{
    hold, idempotency, job, policy, route,
    store::PostgresStore,
    transaction::{Db, Revising},
    version,
};

/// What a repeat is answered with.
#[derive(Serialize, Deserialize)]
struct Answered {
    job: Option<JobId>,
    revision: Revision,
}

/// Does what `operate` asks for.
pub(crate) async fn operate(store: &PostgresStore, operate: Operate) -> Result<Operated, StoreError> {
    store.transaction("version.operate", operate, |tx, operate| Box::pin(act(tx, operate))).await
}

async fn act(tx: &mut Revising, operate: &Operate) -> Result<Operated, StoreError> {
    let asked = operate.idempotency.as_ref();
    if let Some(answered) = idempotency::answered::<Answered>(tx.db(), &operate.actor, asked).await? {
        let loaded = loaded(tx.db(), &operate.version).await?;
        let Answered { job, revision } = answered;
        return Ok(Operated { version: loaded.version, job, revision, repeated: true });
    }
    let loaded = loaded(tx.db(), &operate.version).await?;
    let at = tx.moment();
    let changes = change::operate(loaded, operate, at).map_err(undone)?;
    let audit = changes.audit.clone();
    let job = write(tx, changes, at).await?.into_iter().next();
    tx.record(audit, at).await?;
    let (now, answer) = (tx.now(), Answered { job, revision: at.revision });
    idempotency::remember(tx.db(), &operate.actor, asked, &answer, now).await?;
    let after = loaded_version(tx.db(), &operate.version).await?;
    Ok(Operated { version: after, job: answer.job, revision: answer.revision, repeated: false })
}

/// Reads what a decision about `key` needs.
pub(crate) async fn loaded(mut db: Db<'_>, key: &VersionRef) -> Result<Loaded, StoreError> {
    let version = loaded_version(db.again(), key).await?;
    let route = route::load(db.again(), &key.agent).await?;
    let peers = route::peers(db.again(), &route, &version).await?;
    let policy =
        policy::in_force(db).await?.ok_or_else(|| Refusal::Unknown { what: "policy", id: "in force".into() })?;
    Ok(Loaded { version, route, peers, policy })
}

async fn loaded_version(db: Db<'_>, key: &VersionRef) -> Result<ostiary_domain::Version, StoreError> {
    let unknown = || Refusal::Unknown { what: "version", id: key.to_string() };
    version::load(db, key).await?.ok_or_else(|| unknown().into())
}

/// Writes everything but the audit, each row under its guard. Answers the jobs that wait for it now.
pub(crate) async fn write(tx: &mut Revising, changes: Changes, at: Moment) -> Result<Vec<JobId>, StoreError> {
    let Changes { mut versions, route, set, lifted, jobs, .. } = changes;
    // Whoever leaves a place on the route goes first: the table allows one in each.
    versions.sort_by_key(|v| matches!(v.state.name(), StateName::Active | StateName::Canary));
    for version in &versions {
        version::update(tx.db(), version).await?;
    }
    for (key, hold) in &set {
        hold::insert(tx.db(), key, hold).await?;
    }
    for (_, id, how) in &lifted {
        hold::lift(tx.db(), id, how).await?;
    }
    if let Some(route) = &route {
        route::save(tx.db(), route, at.revision.0).await?;
    }
    let (now, mut queued) = (tx.now(), Vec::new());
    for job in jobs {
        queued.push(job::enqueue(tx.db(), job, now).await?);
    }
    Ok(queued)
}

pub(crate) fn undone(why: Undone) -> StoreError {
    match why {
        Undone::Conflict(conflict) => conflict.into(),
        Undone::Refused(refusal) => refusal.into(),
    }
}
