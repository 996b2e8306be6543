//! What routers are told, by revision: read from the versions themselves, so that it cannot say anything else.

use std::collections::BTreeMap;

use jiff::Timestamp;
use ostiary_canon::Revision;
use ostiary_domain::{
    Enforcement, StoreError, Version,
    ports::{Answer, Changes, Feed},
    version::{Told, speaking},
};

use crate::{
    registry::namespace,
    row::{Row, int},
    store::PostgresStore,
    transaction::{Db, Head},
    version,
};

// === impl PostgresStore ===

impl Feed for PostgresStore {
    fn revision(&self) -> Answer<'_, Revision> {
        Box::pin(async move { Head::read(self.reading("feed.revision").await?.db()).await.map(|head| head.revision) })
    }

    fn changes_since(&self, since: Revision, limit: u32) -> Answer<'_, Changes> {
        Box::pin(async move {
            let mut tx = self.reading("feed.changes").await?;
            let newest = Head::read(tx.db()).await?.revision;
            let reached = reach(tx.db(), since, limit).await?.unwrap_or(newest);
            let tries = version::changed(tx.db(), since.0, reached.0).await?;
            let namespaces = namespace::all(tx.db()).await?;
            let hard = namespaces.into_iter().map(|n| (n.name, n.enforcement)).collect();
            Ok(Changes { told: told(tries, &hard), reached, more: reached < newest })
        })
    }

    fn now(&self) -> Answer<'_, Timestamp> {
        Box::pin(async move { self.now(self.reading("feed.now").await?.db()).await })
    }
}

/// The revision of the `limit`-th changed row: a stretch ends with a whole revision, never inside one.
async fn reach(mut db: Db<'_>, since: Revision, limit: u32) -> Result<Option<Revision>, StoreError> {
    let (since, skip) = (int(since.0), i64::from(limit.max(1)) - 1);
    let query = sqlx::query_scalar!(
        "SELECT revision FROM versions WHERE revision > $1 ORDER BY revision LIMIT 1 OFFSET $2",
        since,
        skip
    );
    let found = query.fetch_optional(db.conn()).await;
    let row = Row { table: "versions", id: format!("after revision {since}") };
    db.ok(found)?.map(|revision| row.revision("revision", revision)).transpose()
}

/// One answer a label.
fn told(tries: Vec<Version>, hard: &BTreeMap<String, Enforcement>) -> Vec<Told> {
    let by_label = tries.chunk_by(|a, b| a.key.agent == b.key.agent && a.key.label == b.key.label);
    let speakers = by_label.filter_map(speaking);
    let tell = |version: &Version| Told {
        version: version.clone(),
        enforcement: hard.get(version.key.agent.namespace()).copied().unwrap_or(Enforcement::Enforce),
    };
    speakers.map(tell).collect()
}
