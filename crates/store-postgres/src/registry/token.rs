//! Table `tokens`: digests of tokens, never tokens.

use ostiary_canon::{Digest, Revision};
use ostiary_domain::{Actor, AuditAction, StoreError, registry::Token};
use serde_json::json;

use crate::{
    row::{Row, json as text, nanos},
    store::PostgresStore,
    transaction::{Db, Revising},
};

/// Makes or changes a token.
pub(crate) async fn put(store: &PostgresStore, token: Token, by: Actor) -> Result<Revision, StoreError> {
    store.transaction("token.put", (token, by), |tx, (token, by)| Box::pin(write(tx, token, by))).await
}

async fn write(tx: &mut Revising, token: &Token, by: &Actor) -> Result<Revision, StoreError> {
    let (hash, actor, role) = (token.hash.to_string(), text(&token.actor), token.role.as_str());
    let expires_at = token.expires_at.map(nanos);
    let query = sqlx::query!(
        "INSERT INTO tokens (hash, actor, role, namespace, expires_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (hash) DO UPDATE
         SET actor = excluded.actor, role = excluded.role, namespace = excluded.namespace,
             expires_at = excluded.expires_at",
        hash,
        actor,
        role,
        token.namespace,
        expires_at
    );
    let mut db = tx.db();
    let put = query.execute(db.conn()).await;
    db.one(put, "token")?;
    let detail = json!({"role": token.role, "namespace": token.namespace, "expires_at": token.expires_at});
    super::record(tx, (by, AuditAction::PutToken, token.actor.name.clone()), detail).await
}

/// The token with that digest.
pub(crate) async fn load(mut db: Db<'_>, hash: &Digest) -> Result<Option<Token>, StoreError> {
    let key = hash.to_string();
    let query = sqlx::query!("SELECT actor, role, namespace, expires_at FROM tokens WHERE hash = $1", key);
    let found = query.fetch_optional(db.conn()).await;
    let Some(c) = db.ok(found)? else { return Ok(None) };
    // The digest of a token is no secret, and still nothing that belongs into a message.
    let row = Row { table: "tokens", id: "of a caller".to_owned() };
    Ok(Some(Token {
        hash: *hash,
        actor: row.json("actor", &c.actor)?,
        role: row.parse("role", &c.role)?,
        namespace: c.namespace,
        expires_at: c.expires_at.map(|at| row.time("expires_at", at)).transpose()?,
    }))
}

/// Takes a token away; `false` = there was none.
pub(crate) async fn revoke(store: &PostgresStore, hash: &Digest, by: Actor) -> Result<bool, StoreError> {
    store.transaction("token.revoke", (hash, by), |tx, (hash, by)| Box::pin(remove(tx, hash, by))).await
}

async fn remove(tx: &mut Revising, hash: &Digest, by: &Actor) -> Result<bool, StoreError> {
    let Some(token) = load(tx.db(), hash).await? else { return Ok(false) };
    let key = hash.to_string();
    let mut db = tx.db();
    let deleted = sqlx::query!("DELETE FROM tokens WHERE hash = $1", key).execute(db.conn()).await;
    db.one(deleted, "token")?;
    let detail = json!({"role": token.role, "namespace": token.namespace});
    super::record(tx, (by, AuditAction::RevokeToken, token.actor.name), detail).await?;
    Ok(true)
}
