//! Table `waivers`, and the port over it.

use ostiary_canon::{AgentId, Digest, VersionLabel};
use ostiary_domain::{
    Moment, Refusal, StoreError, Version, Waiver, WaiverId,
    ports::{Answer, Waivers},
    waiver::{Grant, NewGrant, NewRevocation, NewWaiver, Revocation, known_manifests},
};

use crate::{
    evidence, idempotency,
    row::{Row, int, json},
    store::PostgresStore,
    transaction::{Db, Revising},
    version,
};

struct Columns {
    id: String,
    request: String,
    granted: Option<String>,
    revoked: Option<String>,
}

// === impl PostgresStore ===

impl Waivers for PostgresStore {
    fn request_waiver(&self, new: NewWaiver) -> Answer<'_, Waiver> {
        Box::pin(self.transaction("waiver.request", new, |tx, new| Box::pin(request(tx, new))))
    }

    fn grant_waiver(&self, grant: NewGrant) -> Answer<'_, Waiver> {
        Box::pin(self.transaction("waiver.grant", grant, |tx, new| Box::pin(self::grant(tx, new))))
    }

    fn revoke_waiver(&self, new: NewRevocation) -> Answer<'_, Waiver> {
        Box::pin(self.transaction("waiver.revoke", new, |tx, new| Box::pin(revoke(tx, new))))
    }

    fn waiver<'a>(&'a self, id: &'a WaiverId) -> Answer<'a, Option<Waiver>> {
        Box::pin(async move { load(self.reading("waiver.load").await?.db(), id).await })
    }

    fn waivers_of<'a>(&'a self, agent: &'a AgentId, label: &'a VersionLabel) -> Answer<'a, Vec<Waiver>> {
        Box::pin(async move { of_label(self.reading("waiver.list").await?.db(), agent, label).await })
    }
}

async fn request(tx: &mut Revising, new: &NewWaiver) -> Result<Waiver, StoreError> {
    if let Some(answered) = idempotency::answered(tx.db(), &new.by, new.idempotency.as_ref()).await? {
        return Ok(answered);
    }
    let tries = version::tries(tx.db(), &new.agent, &new.label).await?;
    let known = manifests(tx.db(), &tries).await?;
    new.permitted(&known, tx.now()).map_err(Refusal::Waiver)?;
    let at = tx.moment();
    let waiver = new.clone().asked(at);
    insert(tx.db(), &waiver).await?;
    tx.record(waiver.audit_of_request(), at).await?;
    idempotency::remember(tx.db(), &new.by, new.idempotency.as_ref(), &waiver, at.time).await?;
    Ok(waiver)
}

async fn grant(tx: &mut Revising, new: &NewGrant) -> Result<Waiver, StoreError> {
    if let Some(answered) = idempotency::answered(tx.db(), &new.by, new.idempotency.as_ref()).await? {
        return Ok(answered);
    }
    let waiver = known(tx.db(), &new.waiver).await?;
    let tries = version::tries(tx.db(), &waiver.request.agent, &waiver.request.label).await?;
    waiver.grantable(&new.by, &new.reason, &tries, tx.now()).map_err(Refusal::Waiver)?;
    let at = tx.moment();
    let NewGrant { by, reason, envelope, .. } = new.clone();
    let granted = Grant { by, reason, at, envelope };
    let (id, text) = (waiver.request.id.as_str(), json(&granted));
    let query =
        sqlx::query!("UPDATE waivers SET granted = $1 WHERE id = $2 AND granted IS NULL AND revoked IS NULL", text, id);
    let mut db = tx.db();
    let updated = query.execute(db.conn()).await;
    db.one(updated, id)?;
    tx.record(waiver.audit_of_grant(&granted), at).await?;
    let waiver = Waiver { granted: Some(granted), ..waiver };
    idempotency::remember(tx.db(), &new.by, new.idempotency.as_ref(), &waiver, at.time).await?;
    Ok(waiver)
}

async fn revoke(tx: &mut Revising, new: &NewRevocation) -> Result<Waiver, StoreError> {
    if let Some(answered) = idempotency::answered(tx.db(), &new.by, new.idempotency.as_ref()).await? {
        return Ok(answered);
    }
    let waiver = known(tx.db(), &new.waiver).await?;
    waiver.revocable(&new.by, &new.reason).map_err(Refusal::Waiver)?;
    let at = tx.moment();
    let revoked = Revocation { by: new.by.clone(), reason: new.reason.clone(), at };
    let (key, text) = (new.waiver.as_str(), json(&revoked));
    let query = sqlx::query!("UPDATE waivers SET revoked = $1 WHERE id = $2 AND revoked IS NULL", text, key);
    let mut db = tx.db();
    let updated = query.execute(db.conn()).await;
    db.one(updated, key)?;
    let called_in = call_in(tx, &waiver, at).await?;
    tx.record(waiver.audit_of_revocation(&revoked, &called_in), at).await?;
    let waiver = Waiver { revoked: Some(revoked), ..waiver };
    idempotency::remember(tx.db(), &new.by, new.idempotency.as_ref(), &waiver, at.time).await?;
    Ok(waiver)
}

/// Calls in every authorization of the label that rests on `waiver`.
async fn call_in(
    tx: &mut Revising,
    waiver: &Waiver,
    at: Moment,
) -> Result<Vec<ostiary_domain::VersionRef>, StoreError> {
    let mut called_in = Vec::new();
    for mut version in version::tries(tx.db(), &waiver.request.agent, &waiver.request.label).await? {
        if version.call_in(&waiver.request.id, at) {
            version::update(tx.db(), &version).await?;
            called_in.push(version.key);
        }
    }
    Ok(called_in)
}

/// What anything of these tries was measured as.
async fn manifests(mut db: Db<'_>, tries: &[Version]) -> Result<Vec<Digest>, StoreError> {
    let mut all = Vec::new();
    for version in tries {
        all.extend(evidence::of_version(db.again(), &version.key).await?);
    }
    Ok(known_manifests(tries, &all))
}

async fn known(db: Db<'_>, id: &WaiverId) -> Result<Waiver, StoreError> {
    let found = load(db, id).await?;
    found.ok_or_else(|| Refusal::Unknown { what: "waiver", id: id.to_string() }.into())
}

async fn load(mut db: Db<'_>, id: &WaiverId) -> Result<Option<Waiver>, StoreError> {
    let id = id.as_str();
    let query = sqlx::query_as!(Columns, "SELECT id, request, granted, revoked FROM waivers WHERE id = $1", id);
    let found = query.fetch_optional(db.conn()).await;
    db.ok(found)?.map(Waiver::try_from).transpose()
}

async fn of_label(mut db: Db<'_>, agent: &AgentId, label: &VersionLabel) -> Result<Vec<Waiver>, StoreError> {
    let (agent, label) = (agent.as_str(), label.as_str());
    let query = sqlx::query_as!(
        Columns,
        "SELECT id, request, granted, revoked FROM waivers WHERE agent = $1 AND label = $2 ORDER BY asked_revision",
        agent,
        label
    );
    let found = query.fetch_all(db.conn()).await;
    db.ok(found)?.into_iter().map(Waiver::try_from).collect()
}

async fn insert(mut db: Db<'_>, waiver: &Waiver) -> Result<(), StoreError> {
    let about = &waiver.request;
    let (id, agent, label) = (about.id.as_str(), about.agent.as_str(), about.label.as_str());
    let (request, revision) = (json(about), int(about.at.revision.0));
    let query = sqlx::query!(
        "INSERT INTO waivers (id, agent, label, request, asked_revision) VALUES ($1, $2, $3, $4, $5)",
        id,
        agent,
        label,
        request,
        revision
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}

impl TryFrom<Columns> for Waiver {
    type Error = StoreError;

    fn try_from(c: Columns) -> Result<Self, StoreError> {
        let row = Row { table: "waivers", id: c.id };
        Ok(Self {
            request: row.json("request", &c.request)?,
            granted: c.granted.map(|text| row.json("granted", &text)).transpose()?,
            revoked: c.revoked.map(|text| row.json("revoked", &text)).transpose()?,
        })
    }
}
