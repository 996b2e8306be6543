//! Tables `bundles`, `objects` and `reports`: bytes by digest.

use bytes::Bytes;
use ostiary_canon::Digest;
use ostiary_domain::{
    EvidenceId, StoreError,
    ports::{Answer, ObjectKind, Objects},
};

use crate::{evidence, row::Row, store::PostgresStore, transaction::Db};

// === impl PostgresStore ===

impl Objects for PostgresStore {
    fn put_object(&self, kind: ObjectKind, bytes: Bytes) -> Answer<'_, Digest> {
        Box::pin(async move {
            let digest = Digest::of(&bytes);
            let key = digest.to_string();
            let kind = match kind {
                ObjectKind::Run => "run",
                ObjectKind::Other => "other",
            };
            let put = (key, kind, bytes);
            self.transaction::<(), _, _>("object.put", put, |tx, put| Box::pin(insert_object(tx.db(), put))).await?;
            Ok(digest)
        })
    }

    fn object<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move {
            let (mut tx, key) = (self.reading("object.get").await?, digest.to_string());
            let mut db = tx.db();
            let query = sqlx::query_scalar!("SELECT bytes FROM objects WHERE digest = $1", key);
            let found = query.fetch_optional(db.conn()).await;
            let Some(bytes) = db.ok(found)? else { return Ok(None) };
            let measured = Digest::of(&bytes);
            if measured != *digest {
                let row = Row { table: "objects", id: key };
                return Err(row.bad("bytes", format!("their digest is `{measured}`")));
            }
            Ok(Some(Bytes::from(bytes)))
        })
    }

    fn put_bundle<'a>(&'a self, bundle: &'a Digest, archive: Bytes) -> Answer<'a, ()> {
        Box::pin(async move {
            let put = (bundle.to_string(), archive);
            self.transaction::<(), _, _>("bundle.put", put, |tx, put| Box::pin(insert_bundle(tx.db(), put))).await
        })
    }

    fn bundle<'a>(&'a self, bundle: &'a Digest) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move {
            let (mut tx, key) = (self.reading("bundle.get").await?, bundle.to_string());
            let mut db = tx.db();
            let query = sqlx::query_scalar!("SELECT archive FROM bundles WHERE digest = $1", key);
            let found = query.fetch_optional(db.conn()).await;
            Ok(db.ok(found)?.map(Bytes::from))
        })
    }

    fn put_report<'a>(&'a self, id: &'a EvidenceId, report: Bytes) -> Answer<'a, ()> {
        Box::pin(async move {
            let put = (id, report);
            self.transaction::<(), _, _>("report.put", put, |tx, (id, report)| {
                Box::pin(evidence::insert_report(tx.db(), id, report))
            })
            .await
        })
    }

    fn report<'a>(&'a self, id: &'a EvidenceId) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move { evidence::load_report(self.reading("report.get").await?.db(), id).await })
    }
}

async fn insert_object(mut db: Db<'_>, (key, kind, bytes): &(String, &str, Bytes)) -> Result<(), StoreError> {
    let content = bytes.as_ref();
    let query = sqlx::query!(
        "INSERT INTO objects (digest, kind, bytes) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        key,
        kind,
        content
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

async fn insert_bundle(mut db: Db<'_>, (key, archive): &(String, Bytes)) -> Result<(), StoreError> {
    let content = archive.as_ref();
    let query =
        sqlx::query!("INSERT INTO bundles (digest, archive) VALUES ($1, $2) ON CONFLICT DO NOTHING", key, content);
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}
