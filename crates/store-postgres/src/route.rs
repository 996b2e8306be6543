//! Table `routes`.

use ostiary_canon::AgentId;
use ostiary_domain::{Route, RowVersion, StoreError, Version};

use crate::{
    row::{Row, int, json},
    transaction::Db,
    version,
};

/// The agent's route; one that was never written is empty.
pub(crate) async fn load(mut db: Db<'_>, agent: &AgentId) -> Result<Route, StoreError> {
    let key = agent.as_str();
    let query =
        sqlx::query!("SELECT active, canary, previous, revision, row_version FROM routes WHERE agent = $1", key);
    let found = query.fetch_optional(db.conn()).await;
    let Some(c) = db.ok(found)? else { return Ok(Route::empty(agent.clone())) };
    let row = Row { table: "routes", id: key.to_owned() };
    Ok(Route {
        agent: agent.clone(),
        active: c.active.map(|v| row.json("active", &v)).transpose()?,
        canary: c.canary.map(|v| row.json("canary", &v)).transpose()?,
        previous: c.previous.map(|v| row.json("previous", &v)).transpose()?,
        revision: row.revision("revision", c.revision)?,
        row: RowVersion(row.unsigned("row_version", c.row_version)?),
    })
}

/// Every version on the route but `but`.
pub(crate) async fn peers(mut db: Db<'_>, route: &Route, but: &Version) -> Result<Vec<Version>, StoreError> {
    let mut peers = Vec::new();
    for key in route.versions().filter(|key| **key != but.key) {
        let row = Row { table: "routes", id: route.agent.to_string() };
        let found = version::load(db.again(), key).await?;
        peers.push(found.ok_or_else(|| row.bad("active", format!("names `{key}`, which is not there")))?);
    }
    Ok(peers)
}

/// Writes the route as it is to be, if its row is still the one that was read.
pub(crate) async fn save(mut db: Db<'_>, route: &Route, revision: u64) -> Result<(), StoreError> {
    let agent = route.agent.as_str();
    let (active, canary) = (route.active.as_ref().map(json), route.canary.as_ref().map(json));
    let previous = route.previous.as_ref().map(json);
    let (revision, read, next) = (int(revision), int(route.row.0), int(route.row.next().0));
    let query = sqlx::query!(
        "INSERT INTO routes (agent, active, canary, previous, revision, row_version) VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (agent) DO UPDATE
         SET active = excluded.active, canary = excluded.canary, previous = excluded.previous,
             revision = excluded.revision, row_version = excluded.row_version
         WHERE routes.row_version = $7",
        agent,
        active,
        canary,
        previous,
        revision,
        next,
        read
    );
    let saved = query.execute(db.conn()).await;
    db.one(saved, agent)
}
