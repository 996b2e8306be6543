//! `GET /audit`: entries in order, page by page, with the bytes that were hashed.

use std::sync::Arc;

use axum::extract::State;
use ostiary_canon::Revision;
use ostiary_domain::{AuditEntry, audit::AuditError};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        page::{Cursor, Page},
        rights::{May, ReadAudit},
    },
};

/// One entry.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditItem {
    /// The revision.
    pub revision: u64,
    /// When.
    pub at: String,
    /// Who.
    pub actor: String,
    /// What.
    pub action: String,
    /// About what.
    pub subject: String,
    /// Why.
    pub reason: Option<String>,
    /// The particulars.
    pub detail: serde_json::Value,
    /// Hash of the entry before.
    pub previous: String,
    /// The entry's own hash.
    pub hash: String,
    /// The text that was hashed.
    pub bytes: String,
}

/// A page of the log.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditPage {
    /// In order.
    pub entries: Vec<AuditItem>,
    /// Send as `after` for what follows; absent at the end.
    pub next: Option<String>,
}

/// List audit entries.
#[utoipa::path(
    get, path = "/audit", tag = "audit", params(Page),
    responses((status = 200, body = AuditPage), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<ReadAudit>,
    Cursor { after, limit }: Cursor<u64>,
) -> Result<axum::Json<AuditPage>, ApiError> {
    let entries = app.store.audit(Revision(after.unwrap_or(0)), limit).await?;
    let full = entries.len() >= limit as usize;
    let next = entries.last().filter(|_| full).map(|entry| entry.revision.to_string());
    let entries = entries.iter().map(item).collect::<Result<_, _>>().map_err(ApiError::internal)?;
    Ok(axum::Json(AuditPage { entries, next }))
}

fn item(entry: &AuditEntry) -> Result<AuditItem, AuditError> {
    let record = entry.record()?;
    let action = serde_json::to_value(record.action).ok().and_then(|name| name.as_str().map(str::to_owned));
    Ok(AuditItem {
        revision: record.revision.0,
        at: record.at.to_string(),
        actor: record.actor.to_string(),
        action: action.unwrap_or_default(),
        subject: record.subject,
        reason: record.reason,
        detail: record.detail,
        previous: entry.previous.to_string(),
        hash: entry.hash.to_string(),
        bytes: String::from_utf8_lossy(&entry.bytes).into_owned(),
    })
}
