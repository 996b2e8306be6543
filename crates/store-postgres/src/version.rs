//! Table `versions`, and the port over it.

use ostiary_canon::{AgentId, VersionLabel};
use ostiary_domain::{
    Attempt, EnvironmentName, EvidenceId, Moment, Route, RowVersion, State, StoreError, Version, VersionRef,
    ports::{Answer, GateCommit, GateCommitted, Operate, Operated, Submit, Submitted, Versions},
};

use crate::{
    gate, hold, operate, route,
    row::{Row, int, json, nanos, text, word},
    store::PostgresStore,
    submit,
    transaction::Db,
};

/// The columns of one row.
pub(crate) struct Columns {
    agent: String,
    label: String,
    attempt: i64,
    state: String,
    facts: String,
    bundle: String,
    activated: String,
    environment: String,
    class: String,
    submitted_by: String,
    submitted_at: i64,
    submitted_revision: i64,
    change_reason: Option<String>,
    implementation_diff: Option<String>,
    newest_outcome: Option<String>,
    newest_evidence: Option<String>,
    failing: String,
    revision: i64,
    row_version: i64,
}

/// Selects whole rows: one list of columns for every condition.
macro_rules! select {
    ($condition:literal, $($bound:expr),*) => {
        sqlx::query_as!(
            Columns,
            "SELECT v.agent, v.label, v.attempt, v.state, v.facts, v.bundle, v.activated, v.environment, v.class,
                    v.submitted_by, v.submitted_at, v.submitted_revision, v.change_reason, v.implementation_diff, v.newest_outcome,
                    v.newest_evidence, v.failing, v.revision, v.row_version
             FROM versions v " + $condition,
            $($bound),*
        )
    };
}

// === impl PostgresStore ===

impl Versions for PostgresStore {
    fn version<'a>(&'a self, key: &'a VersionRef) -> Answer<'a, Option<Version>> {
        Box::pin(async move { load(self.reading("version.load").await?.db(), key).await })
    }

    fn tries<'a>(&'a self, agent: &'a AgentId, label: &'a VersionLabel) -> Answer<'a, Vec<Version>> {
        Box::pin(async move {
            let mut tx = self.reading("version.tries").await?;
            tries(tx.db(), agent, label).await
        })
    }

    fn versions<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Vec<Version>> {
        Box::pin(async move {
            let mut tx = self.reading("version.list").await?;
            of_agent(tx.db(), agent).await
        })
    }

    fn route<'a>(&'a self, agent: &'a AgentId) -> Answer<'a, Route> {
        Box::pin(async move { route::load(self.reading("route.load").await?.db(), agent).await })
    }

    fn submit(&self, submit: Submit) -> Answer<'_, Submitted> {
        Box::pin(submit::submit(self, submit))
    }

    fn commit_gate(&self, commit: GateCommit) -> Answer<'_, GateCommitted> {
        Box::pin(gate::commit(self, commit))
    }

    fn operate(&self, operate: Operate) -> Answer<'_, Operated> {
        Box::pin(operate::operate(self, operate))
    }
}

// === reading ===

/// One try.
pub(crate) async fn load(mut db: Db<'_>, key: &VersionRef) -> Result<Option<Version>, StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0));
    let query = select!("WHERE agent = $1 AND label = $2 AND attempt = $3", agent, label, attempt);
    let found = query.fetch_optional(db.conn()).await;
    match db.ok(found)? {
        Some(columns) => with_holds(db, columns).await.map(Some),
        None => Ok(None),
    }
}

/// All tries of a label, oldest first.
pub(crate) async fn tries(mut db: Db<'_>, agent: &AgentId, label: &VersionLabel) -> Result<Vec<Version>, StoreError> {
    let (agent, label) = (agent.as_str(), label.as_str());
    let query = select!("WHERE agent = $1 AND label = $2 ORDER BY attempt", agent, label);
    let found = query.fetch_all(db.conn()).await;
    let found = db.ok(found)?;
    each_with_holds(db, found).await
}

pub(crate) async fn of_agent(mut db: Db<'_>, agent: &AgentId) -> Result<Vec<Version>, StoreError> {
    let agent = agent.as_str();
    let query = select!("WHERE agent = $1 ORDER BY submitted_revision DESC", agent);
    let found = query.fetch_all(db.conn()).await;
    let found = db.ok(found)?;
    each_with_holds(db, found).await
}

/// All tries of every label of which some try changed after `since` and not after `upto`, by agent, label, try.
pub(crate) async fn changed(mut db: Db<'_>, since: u64, upto: u64) -> Result<Vec<Version>, StoreError> {
    let (since, upto) = (int(since), int(upto));
    let query = select!(
        "WHERE EXISTS (
             SELECT 1 FROM versions c
             WHERE c.agent = v.agent AND c.label = v.label AND c.revision > $1 AND c.revision <= $2
         )
         ORDER BY v.agent, v.label, v.attempt",
        since,
        upto
    );
    let found = query.fetch_all(db.conn()).await;
    let found = db.ok(found)?;
    let mut holds = hold::changed(db, since, upto).await?;
    let read = |columns| {
        let mut version = Version::try_from(columns)?;
        version.holds = holds.remove(&version.key).unwrap_or_default();
        Ok(version)
    };
    found.into_iter().map(read).collect()
}

async fn each_with_holds(mut db: Db<'_>, rows: Vec<Columns>) -> Result<Vec<Version>, StoreError> {
    let mut versions = Vec::with_capacity(rows.len());
    for columns in rows {
        versions.push(with_holds(db.again(), columns).await?);
    }
    Ok(versions)
}

async fn with_holds(db: Db<'_>, columns: Columns) -> Result<Version, StoreError> {
    let mut version = Version::try_from(columns)?;
    version.holds = hold::standing(db, &version.key).await?;
    Ok(version)
}

impl TryFrom<Columns> for Version {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "versions", id: format!("{}@{}#{}", c.agent, c.label, c.attempt) };
        let key = VersionRef {
            agent: row.parse("agent", &c.agent)?,
            label: row.parse("label", &c.label)?,
            attempt: Attempt(row.small("attempt", c.attempt)?),
        };
        let state: State = row.json("facts", &c.facts)?;
        if state.name().as_str() != c.state {
            return Err(row.bad("state", format!("is {}, and its facts are those of {}", c.state, state.name())));
        }
        let newest = match (c.newest_outcome, c.newest_evidence) {
            (Some(outcome), Some(evidence)) => Some((row.word("newest_outcome", &outcome)?, EvidenceId(evidence))),
            (None, None) => None,
            _ => return Err(row.bad("newest_evidence", "stands without its outcome, or the outcome without it")),
        };
        Ok(Self {
            key,
            state,
            holds: Vec::new(),
            bundle: row.parse("bundle", &c.bundle)?,
            activated: row.json("activated", &c.activated)?,
            environment: EnvironmentName(c.environment),
            class: row.word("class", &c.class)?,
            submitted_by: row.json("submitted_by", &c.submitted_by)?,
            submitted_at: Moment {
                time: row.time("submitted_at", c.submitted_at)?,
                revision: row.revision("submitted_revision", c.submitted_revision)?,
            },
            change_reason: c.change_reason,
            implementation_diff: c.implementation_diff,
            newest,
            failing: row.json("failing", &c.failing)?,
            revision: row.revision("revision", c.revision)?,
            row: RowVersion(row.unsigned("row_version", c.row_version)?),
        })
    }
}

// === writing ===

/// Writes a new try.
pub(crate) async fn insert(mut db: Db<'_>, version: &Version) -> Result<(), StoreError> {
    let (agent, label, attempt) =
        (version.key.agent.as_str(), version.key.label.as_str(), i64::from(version.key.attempt.0));
    let (state, facts) = (version.state.name().as_str(), json(&version.state));
    let (bundle, activated) = (version.bundle.to_string(), json(&version.activated));
    let (environment, class, by) = (version.environment.as_str(), word(&version.class), json(&version.submitted_by));
    let (at, revision) = (nanos(version.submitted_at.time), int(version.revision.0));
    let (row, failing) = (int(version.row.0), json(&version.failing));
    let reason = version.change_reason.as_deref().map(text);
    let diff = version.implementation_diff.as_deref().map(text);
    let query = sqlx::query!(
        "INSERT INTO versions (agent, label, attempt, state, facts, bundle, activated, environment, class, submitted_by,
                               submitted_at, submitted_revision, change_reason, implementation_diff, failing, revision,
                               row_version)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        agent,
        label,
        attempt,
        state,
        facts,
        bundle,
        activated,
        environment,
        class,
        by,
        at,
        revision,
        reason,
        diff,
        failing,
        revision,
        row
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

/// Writes a try as it is to be, if its row is still the one that was read.
pub(crate) async fn update(mut db: Db<'_>, version: &Version) -> Result<(), StoreError> {
    let (agent, label, attempt) =
        (version.key.agent.as_str(), version.key.label.as_str(), i64::from(version.key.attempt.0));
    let (state, facts) = (version.state.name().as_str(), json(&version.state));
    let (outcome, evidence) = match &version.newest {
        Some((outcome, evidence)) => (Some(word(outcome)), Some(evidence.as_str())),
        None => (None, None),
    };
    let (revision, read, next) = (int(version.revision.0), int(version.row.0), int(version.row.next().0));
    let failing = json(&version.failing);
    let query = sqlx::query!(
        "UPDATE versions
         SET state = $1, facts = $2, newest_outcome = $3, newest_evidence = $4, failing = $5, revision = $6, row_version = $7
         WHERE agent = $8 AND label = $9 AND attempt = $10 AND row_version = $11",
        state,
        facts,
        outcome,
        evidence,
        failing,
        revision,
        next,
        agent,
        label,
        attempt,
        read
    );
    let updated = query.execute(db.conn()).await;
    db.one(updated, &version.key.to_string())
}

/// Tells routers anew about every version of a namespace.
pub(crate) async fn touch_namespace(mut db: Db<'_>, namespace: &str, revision: u64) -> Result<(), StoreError> {
    let revision = int(revision);
    let query = sqlx::query!(
        "UPDATE versions SET revision = $1 WHERE agent IN (SELECT id FROM agents WHERE namespace = $2)",
        revision,
        namespace
    );
    let touched = query.execute(db.conn()).await;
    db.done(touched)
}
