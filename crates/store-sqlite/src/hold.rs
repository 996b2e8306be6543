//! Table `holds`.

use std::collections::BTreeMap;

use ostiary_domain::{Attempt, EvidenceId, Hold, HoldId, Moment, StoreError, VersionRef, hold::Lifted};

use crate::{
    row::{Row, int, json, nanos, word},
    transaction::Db,
};

struct Columns {
    agent: String,
    label: String,
    attempt: i64,
    id: String,
    kind: String,
    scope: String,
    reason: String,
    author: String,
    evidence: Option<String>,
    set_at: i64,
    set_revision: i64,
}

/// Selects whole rows: one list of columns for every condition.
macro_rules! select {
    ($condition:literal, $($bound:expr),*) => {
        sqlx::query_as!(
            Columns,
            "SELECT h.agent, h.label, h.attempt, h.id, h.kind, h.scope, h.reason, h.author, h.evidence, h.set_at,
                    h.set_revision
             FROM holds h " + $condition,
            $($bound),*
        )
    };
}

/// The holds on a try that are not lifted, oldest first.
pub(crate) async fn standing(mut db: Db<'_>, key: &VersionRef) -> Result<Vec<Hold>, StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), key.attempt.0);
    let query = select!(
        "WHERE h.agent = ? AND h.label = ? AND h.attempt = ? AND h.lifted IS NULL ORDER BY h.set_revision, h.id",
        agent,
        label,
        attempt
    );
    let found = query.fetch_all(db.conn()).await;
    let holds = db.ok(found)?.into_iter().map(|columns| columns.read().map(|(_, hold)| hold));
    holds.collect()
}

/// The standing holds of every label of which some try changed after `since` and not after `upto`, by try.
pub(crate) async fn changed(
    mut db: Db<'_>,
    since: i64,
    upto: i64,
) -> Result<BTreeMap<VersionRef, Vec<Hold>>, StoreError> {
    let query = select!(
        "WHERE h.lifted IS NULL AND (h.agent, h.label) IN (
             SELECT c.agent, c.label FROM versions c WHERE c.revision > ? AND c.revision <= ?
         )
         ORDER BY h.set_revision, h.id",
        since,
        upto
    );
    let found = query.fetch_all(db.conn()).await;
    let mut by_try: BTreeMap<VersionRef, Vec<Hold>> = BTreeMap::new();
    for columns in db.ok(found)? {
        let (key, hold) = columns.read()?;
        by_try.entry(key).or_default().push(hold);
    }
    Ok(by_try)
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

// === impl Columns ===

impl Columns {
    fn read(self) -> Result<(VersionRef, Hold), StoreError> {
        let row = Row { table: "holds", id: self.id.clone() };
        let key = VersionRef {
            agent: row.parse("agent", &self.agent)?,
            label: row.parse("label", &self.label)?,
            attempt: Attempt(row.small("attempt", self.attempt)?),
        };
        let set = Moment {
            time: row.time("set_at", self.set_at)?,
            revision: row.revision("set_revision", self.set_revision)?,
        };
        let hold = Hold {
            id: HoldId(self.id),
            kind: row.word("kind", &self.kind)?,
            scope: row.json("scope", &self.scope)?,
            reason: self.reason,
            author: row.json("author", &self.author)?,
            evidence: self.evidence.map(EvidenceId),
            set,
        };
        Ok((key, hold))
    }
}
