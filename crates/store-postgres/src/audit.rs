//! Table `audit`, read; it is written where revisions are made.

use ostiary_canon::{Digest, Revision};
use ostiary_domain::{
    AuditEntry, StoreError,
    ports::{Answer, AuditLog},
};

use crate::{
    row::{Row, int},
    store::PostgresStore,
    transaction::Head,
};

struct Columns {
    revision: i64,
    subject: String,
    record: Vec<u8>,
    previous: String,
    hash: String,
}

// === impl PostgresStore ===

impl AuditLog for PostgresStore {
    fn audit(&self, after: Revision, limit: u32) -> Answer<'_, Vec<AuditEntry>> {
        Box::pin(async move {
            let (mut tx, after) = (self.reading("audit.list").await?, int(after.0));
            let mut db = tx.db();
            let query = sqlx::query_as!(
                Columns,
                "SELECT revision, subject, record, previous, hash FROM audit WHERE revision > $1 ORDER BY revision LIMIT $2",
                after,
                i64::from(limit)
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
                "SELECT revision, subject, record, previous, hash FROM audit WHERE subject = $1 ORDER BY revision",
                subject
            );
            let found = query.fetch_all(db.conn()).await;
            db.ok(found)?.into_iter().map(AuditEntry::try_from).collect()
        })
    }

    fn audit_head(&self) -> Answer<'_, (Revision, Digest)> {
        Box::pin(async move {
            let Head { revision, hash } = Head::read(self.reading("audit.head").await?.db()).await?;
            Ok((revision, hash))
        })
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
