//! Table `approvals`.

use ostiary_domain::{
    Approval, ApprovalId, AuditAction, AuditDraft, Moment, Refusal, StoreError, VersionRef, approval::NewApproval,
};
use serde_json::json as value;

use crate::{
    idempotency,
    row::{Row, int, json, nanos, text, word},
    store::PostgresStore,
    transaction::{Db, Revising},
    version,
};

struct Columns {
    id: String,
    edge: String,
    actor: String,
    manifest: String,
    policy: String,
    reason: String,
    given_at: i64,
    given_revision: i64,
    expires_at: i64,
}

/// Records an approval, if it may be given.
pub(crate) async fn approve(store: &PostgresStore, new: NewApproval) -> Result<Approval, StoreError> {
    store.transaction("approval.give", new, |tx, new| Box::pin(give(tx, new))).await
}

async fn give(tx: &mut Revising, new: &NewApproval) -> Result<Approval, StoreError> {
    let asked = new.idempotency.clone();
    if let Some(given) = idempotency::answered(tx.db(), &new.actor, asked.as_ref()).await? {
        return Ok(given);
    }
    let found = version::load(tx.db(), &new.version).await?;
    let unknown = || Refusal::Unknown { what: "version", id: new.version.to_string() };
    new.permitted(&found.ok_or_else(unknown)?, tx.now()).map_err(Refusal::Approval)?;
    let at = tx.moment();
    let approval = new.clone().given(at);
    insert(tx.db(), &approval).await?;
    let audit = AuditDraft {
        actor: approval.actor.clone(),
        action: AuditAction::Approve,
        subject: approval.version.to_string(),
        reason: Some(approval.reason.clone()),
        detail: value!({
            "approval": approval.id,
            "edge": approval.edge,
            "manifest": approval.manifest,
            "policy": approval.policy,
            "expires_at": approval.expires_at,
        }),
    };
    idempotency::remember(tx.db(), &approval.actor, asked.as_ref(), &approval, at.time).await?;
    tx.record(audit, at).await?;
    Ok(approval)
}

/// All approvals of a try, oldest first.
pub(crate) async fn of_version(mut db: Db<'_>, version: &VersionRef) -> Result<Vec<Approval>, StoreError> {
    let (agent, label, attempt) = (version.agent.as_str(), version.label.as_str(), i64::from(version.attempt.0));
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, edge, actor, manifest, policy, reason, given_at, given_revision, expires_at
         FROM approvals WHERE agent = $1 AND label = $2 AND attempt = $3 ORDER BY given_revision",
        agent,
        label,
        attempt
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(|c| read(version, c)).collect()
}

fn read(version: &VersionRef, c: Columns) -> Result<Approval, StoreError> {
    let row = Row { table: "approvals", id: c.id.clone() };
    Ok(Approval {
        id: ApprovalId(c.id),
        version: version.clone(),
        edge: row.word("edge", &c.edge)?,
        actor: row.json("actor", &c.actor)?,
        manifest: row.parse("manifest", &c.manifest)?,
        policy: row.parse("policy", &c.policy)?,
        reason: c.reason,
        at: Moment {
            time: row.time("given_at", c.given_at)?,
            revision: row.revision("given_revision", c.given_revision)?,
        },
        expires_at: row.time("expires_at", c.expires_at)?,
    })
}

async fn insert(mut db: Db<'_>, a: &Approval) -> Result<(), StoreError> {
    let (id, agent, label, attempt) =
        (a.id.as_str(), a.version.agent.as_str(), a.version.label.as_str(), i64::from(a.version.attempt.0));
    let (edge, actor) = (word(&a.edge), json(&a.actor));
    let (manifest, policy) = (a.manifest.to_string(), a.policy.to_string());
    let (at, revision, expires_at) = (nanos(a.at.time), int(a.at.revision.0), nanos(a.expires_at));
    let query = sqlx::query!(
        "INSERT INTO approvals (id, agent, label, attempt, edge, actor, manifest, policy, reason, given_at,
                                given_revision, expires_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)",
        id,
        agent,
        label,
        attempt,
        edge,
        actor,
        manifest,
        policy,
        text(&a.reason),
        at,
        revision,
        expires_at
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}
