//! Table `holds`.

use ostiary_domain::{EvidenceId, Hold, HoldId, Moment, StoreError, VersionRef, hold::Lifted};

use crate::{
    row::{Row, int, json, nanos, word},
    transaction::Db,
};

struct Columns {
    id: String,
    kind: String,
    scope: String,
    reason: String,
    author: String,
    evidence: Option<String>,
    set_at: i64,
    set_revision: i64,
}

/// The holds on a try that are not lifted, oldest first.
pub(crate) async fn standing(mut db: Db<'_>, key: &VersionRef) -> Result<Vec<Hold>, StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), key.attempt.0);
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, kind, scope, reason, author, evidence, set_at, set_revision
         FROM holds WHERE agent = ? AND label = ? AND attempt = ? AND lifted IS NULL
         ORDER BY set_revision, id",
        agent,
        label,
        attempt
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(Hold::try_from).collect()
}

/// Writes a hold on a try.
pub(crate) async fn insert(mut db: Db<'_>, key: &VersionRef, hold: &Hold) -> Result<(), StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), key.attempt.0);
    let (id, kind, scope) = (hold.id.as_str(), word(&hold.kind), json(&hold.scope));
    let (author, evidence) = (json(&hold.author), hold.evidence.as_ref().map(EvidenceId::as_str));
    let (at, revision) = (nanos(hold.set.time), int(hold.set.revision.0));
    let query = sqlx::query!(
        "INSERT INTO holds (id, agent, label, attempt, kind, scope, reason, author, evidence, set_at, set_revision)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id,
        agent,
        label,
        attempt,
        kind,
        scope,
        hold.reason,
        author,
        evidence,
        at,
        revision
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

/// Marks a hold as lifted, if it still stands.
pub(crate) async fn lift(mut db: Db<'_>, id: &HoldId, lifted: &Lifted) -> Result<(), StoreError> {
    let (key, how) = (id.as_str(), json(lifted));
    let query = sqlx::query!("UPDATE holds SET lifted = ? WHERE id = ? AND lifted IS NULL", how, key);
    let updated = query.execute(db.conn()).await;
    db.one(updated, key)
}

impl TryFrom<Columns> for Hold {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "holds", id: c.id.clone() };
        let set =
            Moment { time: row.time("set_at", c.set_at)?, revision: row.revision("set_revision", c.set_revision)? };
        Ok(Self {
            id: HoldId(c.id),
            kind: row.word("kind", &c.kind)?,
            scope: row.json("scope", &c.scope)?,
            reason: c.reason,
            author: row.json("author", &c.author)?,
            evidence: c.evidence.map(EvidenceId),
            set,
        })
    }
}
