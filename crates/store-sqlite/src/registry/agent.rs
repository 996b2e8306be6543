//! Table `agents`.

use ostiary_canon::{AgentId, Revision};
use ostiary_domain::{Actor, AuditAction, Refusal, StoreError, registry::Agent};
use serde_json::json;

use crate::{row::Row, store::SqliteStore, transaction::Db};

struct Columns {
    id: String,
    owner: Option<String>,
    description: Option<String>,
}

/// Makes or changes an agent of an existing namespace.
pub(crate) async fn put(store: &SqliteStore, agent: Agent, by: Actor) -> Result<Revision, StoreError> {
    let mut tx = store.writing("agent.put").await?;
    let (id, namespace) = (agent.id.as_str(), agent.id.namespace());
    let mut db = tx.db();
    let known = sqlx::query_scalar!("SELECT name FROM namespaces WHERE name = ?", namespace);
    let known = known.fetch_optional(db.conn()).await;
    if db.ok(known)?.is_none() {
        return Err(Refusal::Unknown { what: "namespace", id: namespace.to_owned() }.into());
    }
    let query = sqlx::query!(
        "INSERT INTO agents (id, namespace, owner, description) VALUES (?, ?, ?, ?)
         ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, description = excluded.description",
        id,
        namespace,
        agent.owner,
        agent.description
    );
    let put = query.execute(db.conn()).await;
    db.one(put, id)?;
    let detail = json!({"owner": agent.owner, "description": agent.description});
    super::commit(tx, (by, AuditAction::PutAgent, agent.id.to_string()), detail).await
}

/// Makes the agent's row, if a submission is the first word of it.
pub(crate) async fn ensure(mut db: Db<'_>, agent: &AgentId) -> Result<(), StoreError> {
    let (id, namespace) = (agent.as_str(), agent.namespace());
    let query = sqlx::query!("INSERT OR IGNORE INTO agents (id, namespace) VALUES (?, ?)", id, namespace);
    let ensured = query.execute(db.conn()).await;
    db.done(ensured)
}

/// One agent.
pub(crate) async fn load(mut db: Db<'_>, id: &AgentId) -> Result<Option<Agent>, StoreError> {
    let id = id.as_str();
    let query = sqlx::query_as!(Columns, "SELECT id, owner, description FROM agents WHERE id = ?", id);
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Agent::try_from).transpose()
}

/// The agents after `after`, by id.
pub(crate) async fn after(mut db: Db<'_>, after: Option<&AgentId>, limit: u32) -> Result<Vec<Agent>, StoreError> {
    let after = after.map_or("", AgentId::as_str);
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, owner, description FROM agents WHERE id > ? ORDER BY id LIMIT ?",
        after,
        limit
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(Agent::try_from).collect()
}

impl TryFrom<Columns> for Agent {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let id = Row { table: "agents", id: c.id.clone() }.parse("id", &c.id)?;
        Ok(Self { id, owner: c.owner, description: c.description })
    }
}
