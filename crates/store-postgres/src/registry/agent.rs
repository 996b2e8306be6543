//! Table `agents`.

use ostiary_canon::{AgentId, Revision};
use ostiary_domain::{Actor, AuditAction, Refusal, StoreError, registry::Agent};
use serde_json::json;

use crate::{
    row::{Row, text},
    store::PostgresStore,
    transaction::{Db, Revising},
};

struct Columns {
    id: String,
    owner: Option<String>,
    description: Option<String>,
}

/// Makes or changes an agent of an existing namespace.
pub(crate) async fn put(store: &PostgresStore, agent: Agent, by: Actor) -> Result<Revision, StoreError> {
    store.transaction("agent.put", (agent, by), |tx, (agent, by)| Box::pin(write(tx, agent, by))).await
}

async fn write(tx: &mut Revising, agent: &Agent, by: &Actor) -> Result<Revision, StoreError> {
    let (id, namespace) = (agent.id.as_str(), agent.id.namespace());
    let (owner, description) = (agent.owner.as_deref().map(text), agent.description.as_deref().map(text));
    let mut db = tx.db();
    let known = sqlx::query_scalar!("SELECT name FROM namespaces WHERE name = $1", namespace);
    let known = known.fetch_optional(db.conn()).await;
    if db.ok(known)?.is_none() {
        return Err(Refusal::Unknown { what: "namespace", id: namespace.to_owned() }.into());
    }
    let query = sqlx::query!(
        "INSERT INTO agents (id, namespace, owner, description) VALUES ($1, $2, $3, $4)
         ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, description = excluded.description",
        id,
        namespace,
        owner,
        description
    );
    let put = query.execute(db.conn()).await;
    db.one(put, id)?;
    let detail = json!({"owner": agent.owner, "description": agent.description});
    super::record(tx, (by, AuditAction::PutAgent, agent.id.to_string()), detail).await
}

/// Makes the agent's row, if a submission is the first word of it.
pub(crate) async fn ensure(mut db: Db<'_>, agent: &AgentId) -> Result<(), StoreError> {
    let (id, namespace) = (agent.as_str(), agent.namespace());
    let query =
        sqlx::query!("INSERT INTO agents (id, namespace) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, namespace);
    let ensured = query.execute(db.conn()).await;
    db.done(ensured)
}

/// One agent.
pub(crate) async fn load(mut db: Db<'_>, id: &AgentId) -> Result<Option<Agent>, StoreError> {
    let id = id.as_str();
    let query = sqlx::query_as!(Columns, "SELECT id, owner, description FROM agents WHERE id = $1", id);
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Agent::try_from).transpose()
}

/// The agents after `after`, by id.
pub(crate) async fn after(mut db: Db<'_>, after: Option<&AgentId>, limit: u32) -> Result<Vec<Agent>, StoreError> {
    let after = after.map_or("", AgentId::as_str);
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, owner, description FROM agents WHERE id > $1 ORDER BY id LIMIT $2",
        after,
        i64::from(limit)
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
