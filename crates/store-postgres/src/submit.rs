//! Taking a submission: one transaction, and a repeat gets the first answer.

use ostiary_canon::Revision;
use ostiary_domain::{
    Attempt, AuditAction, AuditDraft, Conflict, Failpoint, JobId, Refusal, StoreError, Version, VersionRef,
    job::NewJob,
    ports::{Submit, Submitted},
};
use ostiary_record::Gate;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::{
    idempotency, job, registry,
    store::PostgresStore,
    transaction::{Db, Revising},
    version,
};

/// What a repeat is answered with.
#[derive(Serialize, Deserialize)]
struct Answered {
    version: VersionRef,
    job: JobId,
    revision: Revision,
}

/// Takes a submission.
pub(crate) async fn submit(store: &PostgresStore, submit: Submit) -> Result<Submitted, StoreError> {
    store.transaction("version.submit", submit, |tx, submit| Box::pin(take(tx, submit))).await
}

async fn take(tx: &mut Revising, submit: &Submit) -> Result<Submitted, StoreError> {
    let actor = submit.submission.by.clone();
    if let Some(answered) = idempotency::answered::<Answered>(tx.db(), &actor, submit.idempotency.as_ref()).await? {
        return Ok(answered.into_submitted(true));
    }
    let key = next_try(tx.db(), submit).await?;
    exists(tx.db(), submit).await?;
    registry::ensure_agent(tx.db(), &submit.agent).await?;
    let at = tx.moment();
    let version = Version::submitted(key.clone(), submit.submission.clone(), at);
    version::insert(tx.db(), &version).await?;
    let new = NewJob { id: JobId(tx.id("job")), version: key.clone(), gate: Gate::Static };
    let now = tx.now();
    let queued = job::enqueue(tx.db(), new, now).await?;
    tx.record(audit(&version, &queued), at).await?;
    let answer = Answered { version: key, job: queued, revision: at.revision };
    idempotency::remember(tx.db(), &actor, submit.idempotency.as_ref(), &answer, now).await?;
    tx.hit_after_commit(Failpoint::SubmitCommitted);
    tx.hit(Failpoint::SubmitWritten)?;
    Ok(answer.into_submitted(false))
}

/// The try that the submission becomes: the first, or the one after a try that ended.
async fn next_try(db: Db<'_>, submit: &Submit) -> Result<VersionRef, StoreError> {
    let tries = version::tries(db, &submit.agent, &submit.label).await?;
    let attempt = match tries.last() {
        Some(last) if !last.state.name().is_terminal() => return Err(Conflict::TryOpen(last.key.clone()).into()),
        Some(last) => last.key.attempt.next(),
        None => Attempt::FIRST,
    };
    Ok(VersionRef { agent: submit.agent.clone(), label: submit.label.clone(), attempt })
}

/// What a submission names must be there before.
async fn exists(mut db: Db<'_>, submit: &Submit) -> Result<(), StoreError> {
    let (namespace, bundle) = (submit.agent.namespace(), submit.submission.bundle.to_string());
    let environment = submit.submission.environment.as_str();
    let query = sqlx::query!(
        r#"SELECT EXISTS (SELECT 1 FROM namespaces WHERE name = $1) AS "namespace!",
                  EXISTS (SELECT 1 FROM bundles WHERE digest = $2) AS "bundle!",
                  EXISTS (SELECT 1 FROM environments WHERE name = $3) AS "environment!""#,
        namespace,
        bundle,
        environment
    );
    let found = query.fetch_one(db.conn()).await;
    let found = db.ok(found)?;
    let there = [
        ("namespace", namespace.to_owned(), found.namespace),
        ("bundle", bundle.clone(), found.bundle),
        ("environment", environment.to_owned(), found.environment),
    ];
    match there.into_iter().find(|(_, _, there)| !there) {
        Some((what, id, _)) => Err(Refusal::Unknown { what, id }.into()),
        None => Ok(()),
    }
}

fn audit(version: &Version, job: &JobId) -> AuditDraft {
    AuditDraft {
        actor: version.submitted_by.clone(),
        action: AuditAction::Submit,
        subject: version.key.to_string(),
        reason: version.change_reason.clone(),
        detail: json!({
            "bundle": version.bundle,
            "environment": version.environment,
            "activated": version.activated,
            "job": job,
        }),
    }
}

// === impl Answered ===

impl Answered {
    fn into_submitted(self, repeated: bool) -> Submitted {
        let Self { version, job, revision } = self;
        Submitted { version, job, revision, repeated }
    }
}
