//! Tables `webhooks`, `dead_letters` and `notices`, and the port over them.

use jiff::SignedDuration;
use ostiary_canon::Revision;
use ostiary_domain::{
    Actor, AuditAction, AuditDraft, StoreError, Webhook, WebhookId,
    happening::{Attempted, DeadLetter, NewWebhook, Notice, WebhookFacts},
    ports::{Answer, Webhooks},
};
use serde_json::json as value;

use crate::{
    idempotency,
    row::{Row, int, json, nanos},
    store::SqliteStore,
    transaction::{Db, Writing, head},
};

struct Columns {
    id: String,
    facts: String,
    reached: i64,
    tries: i64,
    not_before: i64,
    last_error: Option<String>,
}

struct Dead {
    revision: i64,
    tries: i64,
    last_error: String,
    given_up_at: i64,
}

// === impl SqliteStore ===

impl Webhooks for SqliteStore {
    fn notice(&self, notice: Notice) -> Answer<'_, Option<Revision>> {
        Box::pin(self::notice(self, notice))
    }

    fn put_webhook(&self, new: NewWebhook) -> Answer<'_, Webhook> {
        Box::pin(put(self, new))
    }

    fn remove_webhook<'a>(&'a self, id: &'a WebhookId, by: Actor) -> Answer<'a, bool> {
        Box::pin(remove(self, id, by))
    }

    fn webhooks(&self) -> Answer<'_, Vec<Webhook>> {
        Box::pin(async move { all(self.reading("webhook.list").await?.db()).await })
    }

    fn claim_webhook(&self, lease_for: SignedDuration) -> Answer<'_, Option<Webhook>> {
        Box::pin(claim(self, lease_for))
    }

    fn attempted<'a>(&'a self, claimed: &'a Webhook, attempted: Attempted) -> Answer<'a, bool> {
        Box::pin(self::attempted(self, claimed, attempted))
    }

    fn dead_letters<'a>(&'a self, id: &'a WebhookId) -> Answer<'a, Vec<DeadLetter>> {
        Box::pin(async move { dead(self.reading("webhook.dead").await?.db(), id).await })
    }
}

async fn notice(store: &SqliteStore, notice: Notice) -> Result<Option<Revision>, StoreError> {
    let mut tx = store.writing("notice.write").await?;
    let at = tx.moment().await?;
    let (id, revision) = (notice.id.as_str(), int(at.revision.0));
    let query = sqlx::query!("INSERT INTO notices (id, revision) VALUES (?, ?) ON CONFLICT DO NOTHING", id, revision);
    let mut db = tx.db();
    let inserted = query.execute(db.conn()).await;
    if db.ok(inserted)?.rows_affected() == 0 {
        return Ok(None);
    }
    tx.record(notice.audit, at).await?;
    tx.commit().await?;
    Ok(Some(at.revision))
}

async fn put(store: &SqliteStore, new: NewWebhook) -> Result<Webhook, StoreError> {
    let mut tx = store.writing("webhook.put").await?;
    if let Some(answered) = idempotency::answered(tx.db(), &new.by, new.idempotency.as_ref()).await? {
        return Ok(answered);
    }
    let at = tx.moment().await?;
    // whoever has the moment is alone, so that two at once do not both find the last place free
    new.permitted(&all(tx.db()).await?)?;
    let hook = new.clone().registered(at);
    insert(tx.db(), &hook).await?;
    let facts = &hook.facts;
    // a key in the address is the receiver's and ours, and no reader's of the audit
    let detail = value!({"url": facts.shown_url(), "allow_private": facts.allow_private, "namespace": facts.namespace});
    let audit = audit(&facts.by, AuditAction::PutWebhook, &facts.id, detail);
    tx.record(audit, at).await?;
    idempotency::remember(tx.db(), &new.by, new.idempotency.as_ref(), &hook, at.time).await?;
    tx.commit().await?;
    Ok(hook)
}

async fn remove(store: &SqliteStore, id: &WebhookId, by: Actor) -> Result<bool, StoreError> {
    let mut tx = store.writing("webhook.remove").await?;
    let key = id.as_str();
    let query = sqlx::query!("UPDATE webhooks SET removed = 1 WHERE id = ? AND removed = 0", key);
    let mut db = tx.db();
    let removed = query.execute(db.conn()).await;
    if db.ok(removed)?.rows_affected() == 0 {
        return Ok(false);
    }
    let at = tx.moment().await?;
    tx.record(audit(&by, AuditAction::RemoveWebhook, id, value!({})), at).await?;
    tx.commit().await?;
    Ok(true)
}

/// Hands out the receiver that has waited longest; the lease is the next due time.
async fn claim(store: &SqliteStore, lease_for: SignedDuration) -> Result<Option<Webhook>, StoreError> {
    let mut tx = store.writing("webhook.claim").await?;
    let (now, newest) = (nanos(tx.now()), int(head(tx.db()).await?.0.0));
    let lease = nanos(tx.now().saturating_add(lease_for).unwrap_or(tx.now()));
    let query = sqlx::query_as!(
        Columns,
        "UPDATE webhooks SET not_before = ? WHERE id = (
             SELECT id FROM webhooks WHERE removed = 0 AND not_before <= ? AND reached < ? ORDER BY not_before, id LIMIT 1
         ) RETURNING id, facts, reached, tries, not_before, last_error",
        lease,
        now,
        newest
    );
    let mut db = tx.db();
    let found = query.fetch_optional(db.conn()).await;
    let claimed = db.ok(found)?.map(Webhook::try_from).transpose()?;
    tx.commit().await?;
    Ok(claimed)
}

async fn attempted(store: &SqliteStore, claimed: &Webhook, attempted: Attempted) -> Result<bool, StoreError> {
    let mut tx = store.writing("webhook.attempted").await?;
    let now = tx.now();
    let after = claimed.clone().after(&attempted, now);
    if !update(tx.db(), claimed, &after).await? {
        return Ok(false);
    }
    if let Attempted::GivenUp { revision, error } = &attempted {
        bury(&mut tx, (claimed, *revision), error).await?;
    }
    tx.commit().await?;
    Ok(true)
}

/// Moves a receiver on, if it still stands where it was claimed.
async fn update(mut db: Db<'_>, claimed: &Webhook, after: &Webhook) -> Result<bool, StoreError> {
    let (id, was, lease) = (claimed.facts.id.as_str(), int(claimed.reached.0), nanos(claimed.not_before));
    let (reached, tries, not_before) = (int(after.reached.0), i64::from(after.tries), nanos(after.not_before));
    let tried = i64::from(claimed.tries);
    let error = after.last_error.as_deref();
    let query = sqlx::query!(
        "UPDATE webhooks SET reached = ?, tries = ?, not_before = ?, last_error = ?
         WHERE id = ? AND reached = ? AND not_before = ? AND tries = ?",
        reached,
        tries,
        not_before,
        error,
        id,
        was,
        lease,
        tried
    );
    let updated = query.execute(db.conn()).await;
    Ok(db.ok(updated)?.rows_affected() == 1)
}

async fn bury(tx: &mut Writing, (hook, revision): (&Webhook, Revision), error: &str) -> Result<(), StoreError> {
    let (id, revision, tries, at) =
        (hook.facts.id.as_str(), int(revision.0), i64::from(hook.tries) + 1, nanos(tx.now()));
    let query = sqlx::query!(
        "INSERT INTO dead_letters (webhook, revision, tries, last_error, given_up_at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING",
        id,
        revision,
        tries,
        error,
        at
    );
    let mut db = tx.db();
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

async fn all(mut db: Db<'_>) -> Result<Vec<Webhook>, StoreError> {
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, facts, reached, tries, not_before, last_error FROM webhooks WHERE removed = 0 ORDER BY id"
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(Webhook::try_from).collect()
}

async fn dead(mut db: Db<'_>, id: &WebhookId) -> Result<Vec<DeadLetter>, StoreError> {
    let row = Row { table: "dead_letters", id: id.to_string() };
    let id = id.as_str();
    let query = sqlx::query_as!(
        Dead,
        "SELECT revision, tries, last_error, given_up_at FROM dead_letters WHERE webhook = ? ORDER BY revision",
        id
    );
    let found = query.fetch_all(db.conn()).await;
    let read = |dead: Dead| {
        Ok(DeadLetter {
            revision: row.revision("revision", dead.revision)?,
            tries: row.small("tries", dead.tries)?,
            last_error: dead.last_error,
            at: row.time("given_up_at", dead.given_up_at)?,
        })
    };
    db.ok(found)?.into_iter().map(read).collect()
}

async fn insert(mut db: Db<'_>, hook: &Webhook) -> Result<(), StoreError> {
    let (id, facts) = (hook.facts.id.as_str(), json(&hook.facts));
    let (reached, tries, not_before) = (int(hook.reached.0), i64::from(hook.tries), nanos(hook.not_before));
    let query = sqlx::query!(
        "INSERT INTO webhooks (id, facts, reached, tries, not_before) VALUES (?, ?, ?, ?, ?)",
        id,
        facts,
        reached,
        tries,
        not_before
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

fn audit(actor: &Actor, action: AuditAction, id: &WebhookId, detail: serde_json::Value) -> AuditDraft {
    AuditDraft { actor: actor.clone(), action, subject: format!("webhook {id}"), reason: None, detail }
}

impl TryFrom<Columns> for Webhook {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "webhooks", id: c.id };
        let facts: WebhookFacts = row.json("facts", &c.facts)?;
        Ok(Self {
            facts,
            reached: row.revision("reached", c.reached)?,
            tries: row.small("tries", c.tries)?,
            not_before: row.time("not_before", c.not_before)?,
            last_error: c.last_error,
        })
    }
}
