//! Tables `outcomes` and `outcome_windows`.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{AgentId, VersionLabel};
use ostiary_domain::{
    StoreError,
    outcomes::{Audience, OutcomeSum, REMEMBERED, Window, bucket},
};
use serde_json::json as value;

use crate::{
    row::{Row, int, nanos},
    store::SqliteStore,
    transaction::Db,
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
pub(crate) async fn add(store: &SqliteStore, window: Window) -> Result<bool, StoreError> {
    let mut tx = store.writing("outcome.add").await?;
    let now = nanos(tx.now());
    let (reporter, router, instance) = (&window.by.name, &window.router_id, &window.instance);
    let number = int(window.number);
    let mut db = tx.db();
    let query = sqlx::query!(
        "INSERT INTO outcome_windows (reporter, router, instance, number, taken_at) VALUES (?, ?, ?, ?, ?)
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
    let (rows, bucket) = (rows(&window), nanos(bucket(window.from)));
    // One statement: ten thousand single ones would keep every other writer waiting.
    let query = sqlx::query!(
        "INSERT INTO outcomes (agent, label, bucket, consumer, canary, card, signal, code, count)
         SELECT e.value ->> 0, e.value ->> 1, ?, e.value ->> 2, e.value ->> 3, e.value ->> 4, e.value ->> 5,
                e.value ->> 6, e.value ->> 7
         FROM json_each(?) e
         WHERE EXISTS (SELECT 1 FROM versions v WHERE v.agent = e.value ->> 0 AND v.label = e.value ->> 1)
         ON CONFLICT (agent, label, bucket, consumer, canary, card, signal, code)
         DO UPDATE SET count = count + excluded.count",
        bucket,
        rows
    );
    let added = query.execute(db.conn()).await;
    db.done(added)?;
    tx.commit().await?;
    Ok(true)
}

/// The numbers as JSON, for one statement to read.
fn rows(window: &Window) -> String {
    let rows = window.counts.iter().map(|(counted, count)| {
        let card = counted.of.card.map(|digest| digest.to_string()).unwrap_or_default();
        value!([
            counted.agent,
            counted.label,
            counted.of.consumer,
            i64::from(counted.of.canary),
            card,
            counted.signal,
            counted.code,
            int(*count),
        ])
    });
    serde_json::Value::Array(rows.collect()).to_string()
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
        "SELECT consumer, canary, card, signal, code, sum(count) AS \"count!: i64\" FROM outcomes
         WHERE agent = ? AND label = ? AND bucket >= ?
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
    let deleted = sqlx::query!("DELETE FROM outcomes WHERE bucket < ?", sums).execute(db.conn()).await;
    let forgotten = db.ok(deleted)?.rows_affected();
    let deleted = sqlx::query!("DELETE FROM outcome_windows WHERE taken_at < ?", windows).execute(db.conn()).await;
    Ok(forgotten + db.ok(deleted)?.rows_affected())
}
