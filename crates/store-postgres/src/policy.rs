//! Tables `policies` and `policy_in_force`.

use ostiary_canon::{Digest, Revision};
use ostiary_domain::{
    Actor, AuditAction, AuditDraft, Policy, StoreError,
    ports::{Answer, Policies},
};
use serde_json::json;

use crate::{
    row::{Row, json as text},
    store::PostgresStore,
    transaction::{Db, Revising},
};

// === impl PostgresStore ===

impl Policies for PostgresStore {
    fn put_policy(&self, policy: Policy, by: Actor) -> Answer<'_, Revision> {
        Box::pin(async move {
            let command = (policy, by);
            self.transaction("policy.put", command, |tx, (policy, by)| Box::pin(put_in_force(tx, policy, by))).await
        })
    }

    fn current_policy(&self) -> Answer<'_, Option<Policy>> {
        Box::pin(async move {
            let mut tx = self.reading("policy.current").await?;
            match in_force(tx.db()).await? {
                Some(digest) => load(tx.db(), &digest).await,
                None => Ok(None),
            }
        })
    }

    fn policy<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Policy>> {
        Box::pin(async move { load(self.reading("policy.load").await?.db(), digest).await })
    }
}

async fn put_in_force(tx: &mut Revising, policy: &Policy, by: &Actor) -> Result<Revision, StoreError> {
    let (at, digest) = (tx.moment(), policy.digest());
    put(tx.db(), &digest, policy).await?;
    let detail = json!({"policy": digest, "version": policy.version});
    let subject = format!("policy {}", policy.version);
    let audit = AuditDraft { actor: by.clone(), action: AuditAction::PutPolicy, subject, reason: None, detail };
    tx.record(audit, at).await?;
    Ok(at.revision)
}

/// The digest of the policy in force.
pub(crate) async fn in_force(mut db: Db<'_>) -> Result<Option<Digest>, StoreError> {
    let found = sqlx::query_scalar!("SELECT digest FROM policy_in_force WHERE id = 1").fetch_optional(db.conn()).await;
    let row = Row { table: "policy_in_force", id: "1".to_owned() };
    db.ok(found)?.map(|digest| row.parse("digest", &digest)).transpose()
}

async fn load(mut db: Db<'_>, digest: &Digest) -> Result<Option<Policy>, StoreError> {
    let key = digest.to_string();
    let query = sqlx::query_scalar!("SELECT document FROM policies WHERE digest = $1", key);
    let found = query.fetch_optional(db.conn()).await;
    let Some(document) = db.ok(found)? else { return Ok(None) };
    let row = Row { table: "policies", id: key };
    let policy: Policy = row.json("document", &document)?;
    if policy.digest() == *digest { Ok(Some(policy)) } else { Err(row.bad("document", "has another digest")) }
}

async fn put(mut db: Db<'_>, digest: &Digest, policy: &Policy) -> Result<(), StoreError> {
    let (key, document) = (digest.to_string(), text(policy));
    let query =
        sqlx::query!("INSERT INTO policies (digest, document) VALUES ($1, $2) ON CONFLICT DO NOTHING", key, document);
    let kept = query.execute(db.conn()).await;
    db.done(kept)?;
    let query = sqlx::query!(
        "INSERT INTO policy_in_force (id, digest) VALUES (1, $1)
         ON CONFLICT (id) DO UPDATE SET digest = excluded.digest",
        key
    );
    let in_force = query.execute(db.conn()).await;
    db.one(in_force, "policy in force")
}
