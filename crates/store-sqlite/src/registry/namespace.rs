//! Table `namespaces`.

use ostiary_canon::Revision;
use ostiary_domain::{Actor, AuditAction, StoreError, registry::Namespace};
use serde_json::json;

use crate::{
    row::{Row, json as text},
    store::SqliteStore,
    transaction::Db,
    version,
};

/// Makes or changes a namespace; routers are told anew about all its versions.
pub(crate) async fn put(store: &SqliteStore, namespace: Namespace, by: Actor) -> Result<Revision, StoreError> {
    let mut tx = store.writing("namespace.put").await?;
    let at = tx.moment().await?;
    let (name, enforcement) = (namespace.name.as_str(), text(&namespace.enforcement));
    let query = sqlx::query!(
        "INSERT INTO namespaces (name, enforcement) VALUES (?, ?)
         ON CONFLICT (name) DO UPDATE SET enforcement = excluded.enforcement",
        name,
        enforcement
    );
    let mut db = tx.db();
    let put = query.execute(db.conn()).await;
    db.one(put, name)?;
    version::touch_namespace(tx.db(), name, at.revision.0).await?;
    let detail = json!({"enforcement": namespace.enforcement});
    super::commit(tx, (by, AuditAction::PutNamespace, namespace.name), detail).await
}

/// All, by name.
pub(crate) async fn all(mut db: Db<'_>) -> Result<Vec<Namespace>, StoreError> {
    let found = sqlx::query!("SELECT name, enforcement FROM namespaces ORDER BY name").fetch_all(db.conn()).await;
    let read = |name: String, enforcement: &str| {
        let row = Row { table: "namespaces", id: name.clone() };
        Ok(Namespace { name, enforcement: row.json("enforcement", enforcement)? })
    };
    db.ok(found)?.into_iter().map(|c| read(c.name, &c.enforcement)).collect()
}
