//! Table `audit`, read; it is written where revisions are made.

use ostiary_canon::{Digest, Revision};
use ostiary_domain::{
    AuditEntry, StoreError,
    ports::{Answer, AuditLog},
};

use crate::{
    row::{Row, int},
    store::SqliteStore,
    transaction::head,
};

struct Columns {
    revision: i64,
    subject: String,
    record: Vec<u8>,
    previous: String,
    hash: String,
}

// === impl SqliteStore ===

impl AuditLog for SqliteStore {
    fn audit(&self, after: Revision, limit: u32) -> Answer<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let (mut tx, after) = (self.reading("audit.list").await?, int(after.0));
            let mut db = tx.db();
            let query = sqlx::query_as!(
                Columns,
                "SELECT revision, subject, record, previous, hash FROM audit WHERE revision > ? ORDER BY revision LIMIT ?",
                after,
                limit
            );
            let found = query.fetch_all(db.conn()).await;
            db.ok(found)?.into_iter().map(AuditEntry::try_from).collect()
        })
    }

    fn audit_of<'a>(&'a self, subject: &'a str) -> Answer<'a, Vec<AuditEntry>> {
        Box::pin(async move {
            let mut tx = self.reading("audit.of").await?;
            let mut db = tx.db();
            let query = sqlx::query_as!(
                Columns,
                "SELECT revision, subject, record, previous, hash FROM audit WHERE subject = ? ORDER BY revision",
                subject
            );
            let found = query.fetch_all(db.conn()).await;
            db.ok(found)?.into_iter().map(AuditEntry::try_from).collect()
        })
    }

    fn audit_head(&self) -> Answer<'_, (Revision, Digest)> {
        Box::pin(async move { head(self.reading("audit.head").await?.db()).await })
    }
}

impl TryFrom<Columns> for AuditEntry {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "audit", id: c.revision.to_string() };
        Ok(Self {
            revision: row.revision("revision", c.revision)?,
            subject: c.subject,
            bytes: c.record,
            previous: row.parse("previous", &c.previous)?,
            hash: row.parse("hash", &c.hash)?,
        })
    }
}
