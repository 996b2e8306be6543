//! Tables `outcomes` and `outcome_windows`.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, VersionLabel};
use ostiary_domain::{
    StoreError,
    outcomes::{Audience, OutcomeSum, REMEMBERED, Window, bucket},
};

use crate::{
    row::{Row, int, nanos, text},
    transaction::{Db, Writing},
};

struct Columns {
    consumer: String,
    canary: i64,
    card: String,
    signal: String,
    code: String,
    count: i64,
}

/// Adds a window to the sums, unless it was added before.
pub(crate) async fn add(tx: &mut Writing, window: &Window) -> Result<bool, StoreError> {
    let now = nanos(tx.now());
    let (reporter, router, instance) = (&window.by.name, &window.router_id, &window.instance);
    let number = int(window.number);
    let mut db = tx.db();
    let query = sqlx::query!(
        "INSERT INTO outcome_windows (reporter, router, instance, number, taken_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
        reporter,
        router,
        instance,
        number,
        now
    );
    let inserted = query.execute(db.conn()).await;
    if db.ok(inserted)?.rows_affected() == 0 {
        return Ok(false);
    }
    let (rows, bucket) = (Arrays::of(window), nanos(bucket(window.from)));
    // One statement: ten thousand single ones are ten thousand round trips. The rows are in order, so that two windows
    // that meet wait for each other in one direction only.
    let query = sqlx::query!(
        "INSERT INTO outcomes (agent, label, bucket, consumer, canary, card, signal, code, count)
         SELECT e.agent, e.label, $1, e.consumer, e.canary, e.card, e.signal, e.code, e.count
         FROM UNNEST($2::text[], $3::text[], $4::text[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::bigint[])
              AS e (agent, label, consumer, canary, card, signal, code, count)
         WHERE EXISTS (SELECT 1 FROM versions v WHERE v.agent = e.agent AND v.label = e.label)
         ON CONFLICT (agent, label, bucket, consumer, canary, card, signal, code)
         DO UPDATE SET count = outcomes.count + excluded.count",
        bucket,
        &rows.agent,
        &rows.label,
        &rows.consumer,
        &rows.canary,
        &rows.card,
        &rows.signal,
        &rows.code,
        &rows.count
    );
    let added = query.execute(db.conn()).await;
    db.done(added)?;
    Ok(true)
}

/// The numbers, column by column, for one statement to read.
#[derive(Default)]
struct Arrays {
    agent: Vec<String>,
    label: Vec<String>,
    consumer: Vec<String>,
    canary: Vec<i64>,
    card: Vec<String>,
    signal: Vec<String>,
    code: Vec<String>,
    count: Vec<i64>,
}

impl Arrays {
    fn of(window: &Window) -> Self {
        let mut rows = Self::default();
        for (counted, count) in &window.counts {
            rows.agent.push(counted.agent.to_string());
            rows.label.push(counted.label.to_string());
            rows.consumer.push(text(&counted.of.consumer));
            rows.canary.push(counted.of.canary.into());
            rows.card.push(counted.of.card.map(|digest| digest.to_string()).unwrap_or_default());
            rows.signal.push(counted.signal.as_str().to_owned());
            rows.code.push(text(&counted.code));
            rows.count.push(int(*count));
        }
        rows
    }
}

/// The sums of a label since then.
pub(crate) async fn sums(
    mut db: Db<'_>,
    agent: &AgentId,
    label: &VersionLabel,
    since: Timestamp,
) -> Result<Vec<OutcomeSum>, StoreError> {
    let row = Row { table: "outcomes", id: format!("{agent}@{label}") };
    let (agent, label, since) = (agent.as_str(), label.as_str(), nanos(bucket(since)));
    let query = sqlx::query_as!(
        Columns,
        "SELECT consumer, canary, card, signal, code, sum(count)::BIGINT AS \"count!\" FROM outcomes
         WHERE agent = $1 AND label = $2 AND bucket >= $3
         GROUP BY consumer, canary, card, signal, code
         ORDER BY consumer, canary, card, signal, code",
        agent,
        label,
        since
    );
    let found = query.fetch_all(db.conn()).await;
    let read = |c: Columns| {
        let card = if c.card.is_empty() { None } else { Some(row.parse("card", &c.card)?) };
        Ok(OutcomeSum {
            of: Audience { consumer: c.consumer, canary: c.canary != 0, card },
            signal: row.word("signal", &c.signal)?,
            code: c.code,
            count: row.unsigned("count", c.count)?,
        })
    };
    db.ok(found)?.into_iter().map(read).collect()
}

/// Forgets sums that are older than `keep`, and which windows were counted once nobody may tell them any more.
pub(crate) async fn forget(mut db: Db<'_>, now: Timestamp, keep: SignedDuration) -> Result<u64, StoreError> {
    let ago = |time: SignedDuration| nanos(now.saturating_sub(time).unwrap_or(now));
    let (sums, windows) = (ago(keep), ago(REMEMBERED));
    let deleted = sqlx::query!("DELETE FROM outcomes WHERE bucket < $1", sums).execute(db.conn()).await;
    let forgotten = db.ok(deleted)?.rows_affected();
    let deleted = sqlx::query!("DELETE FROM outcome_windows WHERE taken_at < $1", windows).execute(db.conn()).await;
    Ok(forgotten + db.ok(deleted)?.rows_affected())
}
