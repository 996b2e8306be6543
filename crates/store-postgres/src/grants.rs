//! Table `grants`, and the port over it.

use ostiary_domain::{
    StoreError,
    grants::{FORGOTTEN_AFTER, Given, Replica},
    ports::{Answer, Grants},
};

use crate::{
    row::{Row, json, nanos},
    store::PostgresStore,
    transaction::{Db, Writing},
};

// === impl PostgresStore ===

impl Grants for PostgresStore {
    fn put_grants(&self, given: Given) -> Answer<'_, ()> {
        Box::pin(self.transaction("grants.put", given, |tx, given| Box::pin(put(tx, given))))
    }

    fn grants(&self) -> Answer<'_, Vec<Replica>> {
        Box::pin(async move { all(self.reading("grants.read").await?.db()).await })
    }
}

async fn put(tx: &mut Writing, given: &Given) -> Result<(), StoreError> {
    let (replica, facts, now) = (given.replica.as_str(), json(given), nanos(tx.now()));
    let forgotten = nanos(tx.now().saturating_sub(FORGOTTEN_AFTER).unwrap_or(tx.now()));
    let write = sqlx::query!(
        "INSERT INTO grants (replica, given, seen_at) VALUES ($1, $2, $3)
         ON CONFLICT (replica) DO UPDATE SET given = excluded.given, seen_at = excluded.seen_at",
        replica,
        facts,
        now
    );
    let mut db = tx.db();
    let written = write.execute(db.conn()).await;
    db.done(written)?;
    // A row that somebody else is deleting too is passed over, or two replicas could wait for each other.
    let forget = sqlx::query!(
        "DELETE FROM grants WHERE replica IN (SELECT replica FROM grants WHERE seen_at < $1 FOR UPDATE SKIP LOCKED)",
        forgotten
    );
    let forgot = forget.execute(db.conn()).await;
    db.done(forgot)
}

async fn all(mut db: Db<'_>) -> Result<Vec<Replica>, StoreError> {
    let read = sqlx::query!("SELECT replica, given, seen_at FROM grants ORDER BY replica").fetch_all(db.conn()).await;
    let rows = db.ok(read)?.into_iter().map(|found| {
        let row = Row { table: "grants", id: found.replica };
        Ok(Replica { given: row.json("given", &found.given)?, seen_at: row.time("seen_at", found.seen_at)? })
    });
    rows.collect()
}
