//! Table `environments`.

use bytes::Bytes;
use ostiary_canon::{Digest, Revision};
use ostiary_domain::{Actor, AuditAction, EnvironmentName, StoreError, registry::EnvironmentRecord};
use serde_json::json;

use crate::{
    row::{Row, json as json_text, nanos},
    store::PostgresStore,
    transaction::{Db, Revising},
};

struct Columns {
    name: String,
    document: Vec<u8>,
    changed_by: String,
    changed_at: i64,
}

/// Registers or changes an environment.
pub(crate) async fn put(
    store: &PostgresStore,
    name: &EnvironmentName,
    document: Bytes,
    by: Actor,
) -> Result<Revision, StoreError> {
    let command = (name, document, by);
    store
        .transaction("environment.put", command, |tx, (name, document, by)| Box::pin(write(tx, name, document, by)))
        .await
}

async fn write(
    tx: &mut Revising,
    name: &EnvironmentName,
    document: &Bytes,
    by: &Actor,
) -> Result<Revision, StoreError> {
    let (key, content, who, at) = (name.as_str(), document.as_ref(), json_text(by), nanos(tx.now()));
    let query = sqlx::query!(
        "INSERT INTO environments (name, document, changed_by, changed_at) VALUES ($1, $2, $3, $4)
         ON CONFLICT (name) DO UPDATE
         SET document = excluded.document, changed_by = excluded.changed_by, changed_at = excluded.changed_at",
        key,
        content,
        who,
        at
    );
    let mut db = tx.db();
    let put = query.execute(db.conn()).await;
    db.one(put, key)?;
    let detail = json!({"document": Digest::of(document)});
    super::record(tx, (by, AuditAction::PutEnvironment, key.to_owned()), detail).await
}

/// One environment.
pub(crate) async fn load(mut db: Db<'_>, name: &EnvironmentName) -> Result<Option<EnvironmentRecord>, StoreError> {
    let name = name.as_str();
    let query = sqlx::query_as!(
        Columns,
        "SELECT name, document, changed_by, changed_at FROM environments WHERE name = $1",
        name
    );
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(EnvironmentRecord::try_from).transpose()
}

/// All, by name.
pub(crate) async fn all(mut db: Db<'_>) -> Result<Vec<EnvironmentRecord>, StoreError> {
    let query =
        sqlx::query_as!(Columns, "SELECT name, document, changed_by, changed_at FROM environments ORDER BY name");
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(EnvironmentRecord::try_from).collect()
}

impl TryFrom<Columns> for EnvironmentRecord {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "environments", id: c.name.clone() };
        Ok(Self {
            name: EnvironmentName(c.name),
            document: Bytes::from(c.document),
            by: row.json("changed_by", &c.changed_by)?,
            at: row.time("changed_at", c.changed_at)?,
        })
    }
}
