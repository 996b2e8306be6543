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
    row::{Row, int, json, nanos, text},
    store::PostgresStore,
    transaction::{Db, Revising, Writing},
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

// === impl PostgresStore ===

impl Webhooks for PostgresStore {
    fn notice(&self, notice: Notice) -> Answer<'_, Option<Revision>> {
        Box::pin(self.transaction("notice.write", notice, |tx, notice| Box::pin(self::notice(tx, notice))))
    }

    fn put_webhook(&self, new: NewWebhook) -> Answer<'_, Webhook> {
        Box::pin(self.transaction("webhook.put", new, |tx, new| Box::pin(put(tx, new))))
    }

    fn remove_webhook<'a>(&'a self, id: &'a WebhookId, by: Actor) -> Answer<'a, bool> {
        Box::pin(self.transaction("webhook.remove", (id.clone(), by), |tx, command| Box::pin(remove(tx, command))))
    }

    fn webhooks(&self) -> Answer<'_, Vec<Webhook>> {
        Box::pin(async move { all(self.reading("webhook.list").await?.db()).await })
    }

    fn claim_webhook(&self, lease_for: SignedDuration) -> Answer<'_, Option<Webhook>> {
        Box::pin(self.transaction("webhook.claim", lease_for, |tx, lease_for| Box::pin(claim(tx, lease_for))))
    }

    fn attempted<'a>(&'a self, claimed: &'a Webhook, attempted: Attempted) -> Answer<'a, bool> {
        let command = (claimed.clone(), attempted);
        Box::pin(self.transaction("webhook.attempted", command, |tx, command| Box::pin(self::attempted(tx, command))))
    }

    fn dead_letters<'a>(&'a self, id: &'a WebhookId) -> Answer<'a, Vec<DeadLetter>> {
        Box::pin(async move { dead(self.reading("webhook.dead").await?.db(), id).await })
    }
}

async fn notice(tx: &mut Revising, notice: &Notice) -> Result<Option<Revision>, StoreError> {
    let at = tx.moment();
    let (id, revision) = (notice.id.as_str(), int(at.revision.0));
    let query = sqlx::query!("INSERT INTO notices (id, revision) VALUES ($1, $2) ON CONFLICT DO NOTHING", id, revision);
    let mut db = tx.db();
    let inserted = query.execute(db.conn()).await;
    if db.ok(inserted)?.rows_affected() == 0 {
        return Ok(None);
    }
    tx.record(notice.audit.clone(), at).await?;
    Ok(Some(at.revision))
}

async fn put(tx: &mut Revising, new: &NewWebhook) -> Result<Webhook, StoreError> {
    if let Some(answered) = idempotency::answered(tx.db(), &new.by, new.idempotency.as_ref()).await? {
        return Ok(answered);
    }
    let at = tx.moment();
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
    Ok(hook)
}

async fn remove(tx: &mut Revising, (id, by): &(WebhookId, Actor)) -> Result<bool, StoreError> {
    let key = id.as_str();
    let query = sqlx::query!("UPDATE webhooks SET removed = 1 WHERE id = $1 AND removed = 0", key);
    let mut db = tx.db();
    let removed = query.execute(db.conn()).await;
    if db.ok(removed)?.rows_affected() == 0 {
        return Ok(false);
    }
    let at = tx.moment();
    tx.record(audit(by, AuditAction::RemoveWebhook, id, value!({})), at).await?;
    Ok(true)
}

/// Hands out the receiver that has waited longest; the lease is the next due time.
async fn claim(tx: &mut Writing, lease_for: &SignedDuration) -> Result<Option<Webhook>, StoreError> {
    let (now, newest) = (nanos(tx.now()), newest(tx.db()).await?);
    let lease = nanos(tx.now().saturating_add(*lease_for).unwrap_or(tx.now()));
    let query = sqlx::query_as!(
        Columns,
        "UPDATE webhooks SET not_before = $1 WHERE id = (
             SELECT id FROM webhooks WHERE removed = 0 AND not_before <= $2 AND reached < $3 ORDER BY not_before, id LIMIT 1
             FOR UPDATE SKIP LOCKED
         ) RETURNING id, facts, reached, tries, not_before, last_error",
        lease,
        now,
        newest
    );
    let mut db = tx.db();
    let found = query.fetch_optional(db.conn()).await;
    let claimed = db.ok(found)?.map(Webhook::try_from).transpose()?;
    Ok(claimed)
}

async fn attempted(tx: &mut Writing, (claimed, attempted): &(Webhook, Attempted)) -> Result<bool, StoreError> {
    let now = tx.now();
    let after = claimed.clone().after(attempted, now);
    if !update(tx.db(), claimed, &after).await? {
        return Ok(false);
    }
    if let Attempted::GivenUp { revision, error } = attempted {
        bury(tx, (claimed, *revision), error).await?;
    }
    Ok(true)
}

/// The newest revision; the counter is not locked for it, as a claim that comes a moment early only comes again.
async fn newest(mut db: Db<'_>) -> Result<i64, StoreError> {
    let found = sqlx::query_scalar!("SELECT revision FROM counter WHERE id = 1").fetch_one(db.conn()).await;
    db.ok(found)
}

/// Moves a receiver on, if it still stands where it was claimed.
async fn update(mut db: Db<'_>, claimed: &Webhook, after: &Webhook) -> Result<bool, StoreError> {
    let (id, was, lease) = (claimed.facts.id.as_str(), int(claimed.reached.0), nanos(claimed.not_before));
    let (reached, tries, not_before) = (int(after.reached.0), i64::from(after.tries), nanos(after.not_before));
    let tried = i64::from(claimed.tries);
    let error = after.last_error.as_deref().map(text);
    let query = sqlx::query!(
        "UPDATE webhooks SET reached = $1, tries = $2, not_before = $3, last_error = $4
         WHERE id = $5 AND reached = $6 AND not_before = $7 AND tries = $8",
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
        "INSERT INTO dead_letters (webhook, revision, tries, last_error, given_up_at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING",
        id,
        revision,
        tries,
        text(error),
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
        "SELECT revision, tries, last_error, given_up_at FROM dead_letters WHERE webhook = $1 ORDER BY revision",
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
        "INSERT INTO webhooks (id, facts, reached, tries, not_before) VALUES ($1, $2, $3, $4, $5)",
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
