//! Table `namespaces`.

use ostiary_canon::Revision;
use ostiary_domain::{Actor, AuditAction, StoreError, registry::Namespace};
use serde_json::json as value;

use crate::{
    row::{Row, json, text},
    store::PostgresStore,
    transaction::{Db, Revising},
    version,
};

struct Columns {
    name: String,
    enforcement: String,
    reason: Option<String>,
}

/// Makes or changes a namespace; routers are told anew about all its versions.
pub(crate) async fn put(store: &PostgresStore, namespace: Namespace, by: Actor) -> Result<Revision, StoreError> {
    store.transaction("namespace.put", (namespace, by), |tx, (namespace, by)| Box::pin(write(tx, namespace, by))).await
}

async fn write(tx: &mut Revising, namespace: &Namespace, by: &Actor) -> Result<Revision, StoreError> {
    let at = tx.moment();
    let (name, enforcement) = (namespace.name.as_str(), json(&namespace.enforcement));
    let reason = namespace.reason.as_deref().map(text);
    let query = sqlx::query!(
        "INSERT INTO namespaces (name, enforcement, reason) VALUES ($1, $2, $3)
         ON CONFLICT (name) DO UPDATE SET enforcement = excluded.enforcement, reason = excluded.reason",
        name,
        enforcement,
        reason
    );
    let mut db = tx.db();
    let put = query.execute(db.conn()).await;
    db.one(put, name)?;
    version::touch_namespace(tx.db(), name, at.revision.0).await?;
    let detail = value!({"enforcement": namespace.enforcement, "reason": namespace.reason});
    super::record(tx, (by, AuditAction::PutNamespace, namespace.name.clone()), detail).await
}

/// One namespace.
pub(crate) async fn load(mut db: Db<'_>, name: &str) -> Result<Option<Namespace>, StoreError> {
    let query = sqlx::query_as!(Columns, "SELECT name, enforcement, reason FROM namespaces WHERE name = $1", name);
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Namespace::try_from).transpose()
}

/// All, by name.
pub(crate) async fn all(mut db: Db<'_>) -> Result<Vec<Namespace>, StoreError> {
    let query = sqlx::query_as!(Columns, "SELECT name, enforcement, reason FROM namespaces ORDER BY name");
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(Namespace::try_from).collect()
}

impl TryFrom<Columns> for Namespace {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "namespaces", id: c.name.clone() };
        Ok(Self { name: c.name, enforcement: row.json("enforcement", &c.enforcement)?, reason: c.reason })
    }
}
