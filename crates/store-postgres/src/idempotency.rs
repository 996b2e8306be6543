//! Table `idempotency`: a request that is repeated with its key gets the first answer, and changes nothing.

use jiff::Timestamp;
use ostiary_domain::{Actor, Conflict, StoreError, ports::Idempotency};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    row::{Row, json, nanos},
    transaction::Db,
};

/// The answer that `actor` was given for this key before; the same key for another request is a conflict.
pub(crate) async fn answered<T: DeserializeOwned>(
    mut db: Db<'_>,
    actor: &Actor,
    asked: Option<&Idempotency>,
) -> Result<Option<T>, StoreError> {
    let Some(asked) = asked else { return Ok(None) };
    let (actor, key) = (actor.name.as_str(), asked.key.as_str());
    let query =
        sqlx::query!("SELECT request, answer FROM idempotency WHERE actor = $1 AND idempotency_key = $2", actor, key);
    let found = query.fetch_optional(db.conn()).await;
    let Some(found) = db.ok(found)? else { return Ok(None) };
    if found.request != asked.request.to_string() {
        return Err(Conflict::IdempotencyKey(asked.key.clone()).into());
    }
    Row { table: "idempotency", id: format!("{actor}/{key}") }.json("answer", &found.answer).map(Some)
}

/// Remembers the answer.
pub(crate) async fn remember<T: Serialize>(
    mut db: Db<'_>,
    actor: &Actor,
    asked: Option<&Idempotency>,
    answer: &T,
    now: Timestamp,
) -> Result<(), StoreError> {
    let Some(asked) = asked else { return Ok(()) };
    let (actor, key, request) = (actor.name.as_str(), asked.key.as_str(), asked.request.to_string());
    let (answer, at) = (json(answer), nanos(now));
    let query = sqlx::query!(
        "INSERT INTO idempotency (actor, idempotency_key, request, answer, answered_at) VALUES ($1, $2, $3, $4, $5)",
        actor,
        key,
        request,
        answer,
        at
    );
    let inserted = query.execute(db.conn()).await;
    db.done(inserted)
}
