//! Tables `evidence` and `reports`, and the port over them and `approvals`.

use bytes::Bytes;
use ostiary_domain::{
    Approval, Attempt, EvidenceId, EvidenceRecord, StoreError, VersionRef,
    approval::NewApproval,
    ports::{Answer, Evidence},
};

use crate::{
    approval,
    row::{Row, int, json, nanos, word},
    store::SqliteStore,
    transaction::Db,
};

struct Columns {
    id: String,
    agent: String,
    label: String,
    attempt: i64,
    gate: String,
    outcome: String,
    profiles_passed: String,
    profiles_failed: String,
    subject: String,
    policy: String,
    harness: String,
    environment: String,
    run: Option<String>,
    run_started: i64,
    envelope: Vec<u8>,
    verified_at: i64,
    expires_at: i64,
    standing: String,
    recorded: i64,
    waived: String,
}

/// Selects whole rows: one list of columns for every condition.
macro_rules! select {
    ($condition:literal, $($bound:expr),*) => {
        sqlx::query_as!(
            Columns,
            "SELECT id, agent, label, attempt, gate, outcome, profiles_passed, profiles_failed, subject, policy, harness,
                    environment, run, run_started, envelope, verified_at, expires_at, standing, recorded,
                    waived
             FROM evidence " + $condition,
            $($bound),*
        )
    };
}

// === impl SqliteStore ===

impl Evidence for SqliteStore {
    fn evidence<'a>(&'a self, id: &'a EvidenceId) -> Answer<'a, Option<EvidenceRecord>> {
        Box::pin(async move { load(self.reading("evidence.load").await?.db(), id).await })
    }

    fn evidence_in_bulk(&self, ids: Vec<EvidenceId>) -> Answer<'_, Vec<EvidenceRecord>> {
        Box::pin(async move { in_bulk(self.reading("evidence.bulk").await?.db(), &ids).await })
    }

    fn evidence_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<EvidenceRecord>> {
        Box::pin(async move { of_version(self.reading("evidence.list").await?.db(), version).await })
    }

    fn approvals_of<'a>(&'a self, version: &'a VersionRef) -> Answer<'a, Vec<Approval>> {
        Box::pin(async move { approval::of_version(self.reading("approval.list").await?.db(), version).await })
    }

    fn approve(&self, approve: NewApproval) -> Answer<'_, Approval> {
        Box::pin(approval::approve(self, approve))
    }
}

async fn load(mut db: Db<'_>, id: &EvidenceId) -> Result<Option<EvidenceRecord>, StoreError> {
    let id = id.as_str();
    let query = select!("WHERE id = ?", id);
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(EvidenceRecord::try_from).transpose()
}

async fn in_bulk(mut db: Db<'_>, ids: &[EvidenceId]) -> Result<Vec<EvidenceRecord>, StoreError> {
    let ids = json(&ids);
    let query = select!("WHERE id IN (SELECT value FROM json_each(?))", ids);
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(EvidenceRecord::try_from).collect()
}

pub(crate) async fn of_version(mut db: Db<'_>, version: &VersionRef) -> Result<Vec<EvidenceRecord>, StoreError> {
    let (agent, label, attempt) = (version.agent.as_str(), version.label.as_str(), version.attempt.0);
    let query = select!("WHERE agent = ? AND label = ? AND attempt = ? ORDER BY recorded", agent, label, attempt);
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(EvidenceRecord::try_from).collect()
}

/// Writes a piece of evidence.
pub(crate) async fn insert(mut db: Db<'_>, e: &EvidenceRecord) -> Result<(), StoreError> {
    let (id, agent, label, attempt) =
        (e.id.as_str(), e.version.agent.as_str(), e.version.label.as_str(), e.version.attempt.0);
    let (gate, outcome, standing) = (word(&e.gate), word(&e.outcome), word(&e.standing));
    let (passed, failed) = (json(&e.profiles_passed), json(&e.profiles_failed));
    let (subject, policy) = (json(&e.subject), e.policy.to_string());
    let (run, started) = (e.run.map(|d| d.to_string()), int(e.run_started.0));
    let (envelope, verified_at, expires_at) = (e.envelope.as_ref(), nanos(e.verified_at), nanos(e.expires_at));
    let (recorded, waived) = (int(e.recorded.0), json(&e.waived));
    let query = sqlx::query!(
        "INSERT INTO evidence (id, agent, label, attempt, gate, outcome, profiles_passed, profiles_failed, subject,
                               policy, harness, environment, run, run_started, envelope, verified_at, expires_at,
                               standing, recorded, waived)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        id,
        agent,
        label,
        attempt,
        gate,
        outcome,
        passed,
        failed,
        subject,
        policy,
        e.harness,
        e.environment,
        run,
        started,
        envelope,
        verified_at,
        expires_at,
        standing,
        recorded,
        waived
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

/// Writes the report that explains a piece of evidence.
pub(crate) async fn insert_report(mut db: Db<'_>, id: &EvidenceId, report: &[u8]) -> Result<(), StoreError> {
    let id = id.as_str();
    let query = sqlx::query!("INSERT OR IGNORE INTO reports (evidence, report) VALUES (?, ?)", id, report);
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

/// The report that explains a piece of evidence.
pub(crate) async fn load_report(mut db: Db<'_>, id: &EvidenceId) -> Result<Option<Bytes>, StoreError> {
    let id = id.as_str();
    let query = sqlx::query_scalar!("SELECT report FROM reports WHERE evidence = ?", id);
    let found = query.fetch_optional(db.conn()).await;
    Ok(db.ok(found)?.map(Bytes::from))
}

impl TryFrom<Columns> for EvidenceRecord {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "evidence", id: c.id.clone() };
        let version = VersionRef {
            agent: row.parse("agent", &c.agent)?,
            label: row.parse("label", &c.label)?,
            attempt: Attempt(row.small("attempt", c.attempt)?),
        };
        Ok(Self {
            id: EvidenceId(c.id),
            version,
            gate: row.parse("gate", &c.gate)?,
            outcome: row.word("outcome", &c.outcome)?,
            profiles_passed: row.json("profiles_passed", &c.profiles_passed)?,
            profiles_failed: row.json("profiles_failed", &c.profiles_failed)?,
            subject: row.json("subject", &c.subject)?,
            policy: row.parse("policy", &c.policy)?,
            harness: c.harness,
            environment: c.environment,
            run: c.run.map(|d| row.parse("run", &d)).transpose()?,
            run_started: row.revision("run_started", c.run_started)?,
            envelope: Bytes::from(c.envelope),
            verified_at: row.time("verified_at", c.verified_at)?,
            expires_at: row.time("expires_at", c.expires_at)?,
            standing: row.word("standing", &c.standing)?,
            recorded: row.revision("recorded", c.recorded)?,
            waived: row.json("waived", &c.waived)?,
        })
    }
}
