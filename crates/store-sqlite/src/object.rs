//! Tables `bundles`, `objects` and `reports`: bytes by digest.

use bytes::Bytes;
use ostiary_canon::Digest;
use ostiary_domain::{
    EvidenceId,
    ports::{Answer, ObjectKind, Objects},
};

use crate::{evidence, row::Row, store::SqliteStore};

// === impl SqliteStore ===

impl Objects for SqliteStore {
    fn put_object(&self, kind: ObjectKind, bytes: Bytes) -> Answer<'_, Digest> {
        Box::pin(async move {
            let digest = Digest::of(&bytes);
            let (key, content) = (digest.to_string(), bytes.as_ref());
            let kind = match kind {
                ObjectKind::Run => "run",
                ObjectKind::Other => "other",
            };
            let mut tx = self.writing("object.put").await?;
            let query = sqlx::query!(
                "INSERT OR IGNORE INTO objects (digest, kind, bytes) VALUES (?, ?, ?)",
                key,
                kind,
                content
            );
            let mut db = tx.db();
            let inserted = query.execute(db.conn()).await;
            db.done(inserted)?;
            tx.commit().await?;
            Ok(digest)
        })
    }

    fn object<'a>(&'a self, digest: &'a Digest) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move {
            let (mut tx, key) = (self.reading("object.get").await?, digest.to_string());
            let mut db = tx.db();
            let query = sqlx::query_scalar!("SELECT bytes FROM objects WHERE digest = ?", key);
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
            let (key, content) = (bundle.to_string(), archive.as_ref());
            let mut tx = self.writing("bundle.put").await?;
            let query = sqlx::query!("INSERT OR IGNORE INTO bundles (digest, archive) VALUES (?, ?)", key, content);
            let mut db = tx.db();
            let inserted = query.execute(db.conn()).await;
            db.done(inserted)?;
            tx.commit().await
        })
    }

    fn bundle<'a>(&'a self, bundle: &'a Digest) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move {
            let (mut tx, key) = (self.reading("bundle.get").await?, bundle.to_string());
            let mut db = tx.db();
            let query = sqlx::query_scalar!("SELECT archive FROM bundles WHERE digest = ?", key);
            let found = query.fetch_optional(db.conn()).await;
            Ok(db.ok(found)?.map(Bytes::from))
        })
    }

    fn put_report<'a>(&'a self, id: &'a EvidenceId, report: Bytes) -> Answer<'a, ()> {
        Box::pin(async move {
            let mut tx = self.writing("report.put").await?;
            evidence::insert_report(tx.db(), id, &report).await?;
            tx.commit().await
        })
    }

    fn report<'a>(&'a self, id: &'a EvidenceId) -> Answer<'a, Option<Bytes>> {
        Box::pin(async move { evidence::load_report(self.reading("report.get").await?.db(), id).await })
    }
}
