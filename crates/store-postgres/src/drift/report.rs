//! Table `drift_reports`.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, Digest, VersionLabel};
use ostiary_domain::{
    Actor, Attempt, Conflict, DriftReportId, Moment, StoreError, VersionRef,
    drift::{Conclusion, DriftAction, DriftReport, DriftReported, NewDriftReport, RATE_WINDOW, Revalidation, observer},
};

use crate::{
    row::{Row, int, json, nanos, word},
    transaction::Db,
};

struct Columns {
    id: String,
    agent: String,
    label: String,
    attempt: i64,
    reported_by: String,
    claim: String,
    action: String,
    taken_at: i64,
    taken_revision: i64,
    conclusion: Option<String>,
}

/// The answer that the reporter was given for this key before.
pub(super) async fn answered(mut db: Db<'_>, new: &NewDriftReport) -> Result<Option<DriftReported>, StoreError> {
    let (reporter, key) = (new.by.name.as_str(), new.key.key.as_str());
    let query = sqlx::query!(
        "SELECT id, request, action, taken_revision FROM drift_reports WHERE reporter = $1 AND idempotency_key = $2",
        reporter,
        key
    );
    let found = query.fetch_optional(db.conn()).await;
    let Some(found) = db.ok(found)? else { return Ok(None) };
    if found.request != new.key.request.to_string() {
        return Err(Conflict::IdempotencyKey(new.key.key.clone()).into());
    }
    let row = Row { table: "drift_reports", id: found.id.clone() };
    Ok(Some(DriftReported {
        id: DriftReportId(found.id),
        action: row.word("action", &found.action)?,
        revision: row.revision("taken_revision", found.taken_revision)?,
        repeated: true,
    }))
}

/// Writes a report that was taken at `at`.
pub(super) async fn insert(
    mut db: Db<'_>,
    new: &NewDriftReport,
    (key, action): (&VersionRef, DriftAction),
    at: Moment,
) -> Result<(), StoreError> {
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0));
    let (id, reporter, by) = (new.id.as_str(), new.by.name.as_str(), json(&new.by));
    let (idempotency, request) = (new.key.key.as_str(), new.key.request.to_string());
    let (claim, action) = (json(&new.claim), word(&action));
    let other_card = new.claim.other_card().map(|digest| digest.to_string());
    let (taken_at, revision) = (nanos(at.time), int(at.revision.0));
    let query = sqlx::query!(
        "INSERT INTO drift_reports (id, agent, label, attempt, reporter, reported_by, idempotency_key, request, claim,
                                    other_card, action, taken_at, taken_revision)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)",
        id,
        agent,
        label,
        attempt,
        reporter,
        by,
        idempotency,
        request,
        claim,
        other_card,
        action,
        taken_at,
        revision
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

/// Whether somebody else than `by` reported that card since the revalidation began.
pub(super) async fn others(
    mut db: Db<'_>,
    (open, card): (&Revalidation, &Digest),
    by: &Actor,
) -> Result<bool, StoreError> {
    if *by == observer() {
        return Ok(false);
    }
    let (key, no_witness) = (&open.version, observer().name);
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0));
    let (card, reporter, since) = (card.to_string(), by.name.as_str(), int(open.since.revision.0));
    let query = sqlx::query_scalar!(
        "SELECT count(*) AS \"count!\" FROM drift_reports
         WHERE agent = $1 AND label = $2 AND attempt = $3 AND other_card = $4
           AND reporter NOT IN ($5, $6) AND taken_revision >= $7",
        agent,
        label,
        attempt,
        card,
        reporter,
        no_witness,
        since
    );
    let found = query.fetch_one(db.conn()).await;
    Ok(db.ok(found)? > 0)
}

/// Whether two reporters told of one and the same card since the revalidation began.
pub(super) async fn seconded(mut db: Db<'_>, open: &Revalidation) -> Result<bool, StoreError> {
    let key = &open.version;
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0));
    let (since, no_witness) = (int(open.since.revision.0), observer().name);
    let query = sqlx::query_scalar!(
        "SELECT other_card FROM drift_reports
         WHERE agent = $1 AND label = $2 AND attempt = $3 AND action = 'revalidating'
           AND taken_revision >= $4 AND reporter <> $5
         GROUP BY other_card HAVING count(DISTINCT reporter) > 1",
        agent,
        label,
        attempt,
        since,
        no_witness
    );
    let found = query.fetch_all(db.conn()).await;
    Ok(!db.ok(found)?.is_empty())
}

/// When a report of `by` about this try was last found to be nothing.
pub(super) async fn last_unfounded(
    mut db: Db<'_>,
    key: &VersionRef,
    by: &Actor,
) -> Result<Option<Timestamp>, StoreError> {
    let (agent, label, attempt, reporter) =
        (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0), by.name.as_str());
    let query = sqlx::query!(
        "SELECT conclusion AS \"conclusion!\", concluded_at AS \"concluded_at!\" FROM drift_reports
         WHERE agent = $1 AND label = $2 AND attempt = $3 AND reporter = $4 AND conclusion IS NOT NULL
         ORDER BY concluded_at DESC LIMIT 1",
        agent,
        label,
        attempt,
        reporter
    );
    let found = query.fetch_optional(db.conn()).await;
    let Some(found) = db.ok(found)? else { return Ok(None) };
    let row = Row { table: "drift_reports", id: key.to_string() };
    let conclusion: Conclusion = row.word("conclusion", &found.conclusion)?;
    conclusion.was_nothing().then(|| row.time("concluded_at", found.concluded_at)).transpose()
}

/// How many reports of `by` about this try were taken lately.
pub(super) async fn recent(mut db: Db<'_>, key: &VersionRef, by: &Actor, now: Timestamp) -> Result<u32, StoreError> {
    let (agent, label, attempt, reporter) =
        (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0), by.name.as_str());
    let since = nanos(now.saturating_sub(RATE_WINDOW).unwrap_or(now));
    let query = sqlx::query_scalar!(
        "SELECT count(*) AS \"count!\" FROM drift_reports
         WHERE agent = $1 AND label = $2 AND attempt = $3 AND reporter = $4 AND taken_at > $5",
        agent,
        label,
        attempt,
        reporter,
        since
    );
    let found = query.fetch_one(db.conn()).await;
    Row { table: "drift_reports", id: key.to_string() }.small("count", db.ok(found)?)
}

/// Writes how the reports ended that wait for the end of a revalidation, also of those that came before it began.
pub(super) async fn conclude(
    mut db: Db<'_>,
    open: &Revalidation,
    conclusion: Conclusion,
    now: Timestamp,
) -> Result<(), StoreError> {
    let key = &open.version;
    let (agent, label, attempt) = (key.agent.as_str(), key.label.as_str(), i64::from(key.attempt.0));
    let (conclusion, now) = (word(&conclusion), nanos(now));
    let query = sqlx::query!(
        "UPDATE drift_reports SET conclusion = $1, concluded_at = $2
         WHERE agent = $3 AND label = $4 AND attempt = $5 AND other_card IS NOT NULL AND conclusion IS NULL
           AND action IN ('recorded', 'revalidating', 'revalidating_for_all')",
        conclusion,
        now,
        agent,
        label,
        attempt
    );
    let updated = query.execute(db.conn()).await;
    db.done(updated)
}

/// The reports about a label, newest first.
pub(super) async fn of_label(
    mut db: Db<'_>,
    agent: &AgentId,
    label: &VersionLabel,
    limit: u32,
) -> Result<Vec<DriftReport>, StoreError> {
    let (agent, label, limit) = (agent.as_str(), label.as_str(), i64::from(limit));
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, agent, label, attempt, reported_by, claim, action, taken_at, taken_revision, conclusion
         FROM drift_reports WHERE agent = $1 AND label = $2 ORDER BY taken_revision DESC LIMIT $3",
        agent,
        label,
        limit
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(DriftReport::try_from).collect()
}

/// Forgets reports that are older than `keep`.
pub(super) async fn forget(mut db: Db<'_>, now: Timestamp, keep: SignedDuration) -> Result<u64, StoreError> {
    let before = nanos(now.saturating_sub(keep).unwrap_or(now));
    let deleted = sqlx::query!("DELETE FROM drift_reports WHERE taken_at < $1", before).execute(db.conn()).await;
    Ok(db.ok(deleted)?.rows_affected())
}

impl TryFrom<Columns> for DriftReport {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "drift_reports", id: c.id.clone() };
        let version = VersionRef {
            agent: row.parse("agent", &c.agent)?,
            label: row.parse("label", &c.label)?,
            attempt: Attempt(row.small("attempt", c.attempt)?),
        };
        Ok(Self {
            id: DriftReportId(c.id),
            version,
            by: row.json("reported_by", &c.reported_by)?,
            claim: row.json("claim", &c.claim)?,
            taken: Moment {
                time: row.time("taken_at", c.taken_at)?,
                revision: row.revision("taken_revision", c.taken_revision)?,
            },
            action: row.word("action", &c.action)?,
            concluded: c.conclusion.map(|text| row.word("conclusion", &text)).transpose()?,
        })
    }
}
