//! `GET /audit/verify`: walks the whole chain and says whether anything was changed, dropped, added or moved.

use std::sync::Arc;

use axum::extract::State;
use ostiary_canon::Revision;
use ostiary_domain::audit::{genesis, verify as verify_chain};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::rights::{May, ReadAudit},
};

/// What walking the chain said.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AuditVerified {
    /// Whether the chain is whole.
    pub intact: bool,
    /// The last revision that was reached.
    pub revision: u64,
    /// The chain's newest hash.
    pub hash: String,
    /// Where and how it is broken.
    pub broken: Option<String>,
}

/// Entries read at a time.
const BATCH: u32 = 1000;

/// Verify the audit chain.
#[utoipa::path(
    get, path = "/audit/verify", tag = "audit",
    responses((status = 200, body = AuditVerified), (status = "4XX", body = Problem))
)]
pub async fn verify(State(app): State<Arc<App>>, _: May<ReadAudit>) -> Result<axum::Json<AuditVerified>, ApiError> {
    // The head first: what is appended while we walk is then simply beyond it.
    let head = app.store.audit_head().await?;
    let mut last = (Revision(0), genesis());
    while last.0 < head.0 {
        let mut entries = app.store.audit(last.0, BATCH).await?;
        entries.retain(|entry| entry.revision <= head.0);
        let whole = entries.last().is_none_or(|entry| entry.revision == head.0);
        match verify_chain(last, &entries, whole.then_some(head)) {
            Ok(reached) if reached == last => break,
            Ok(reached) => last = reached,
            Err(error) => return Ok(axum::Json(view(last, Some(error.to_string())))),
        }
    }
    let cut = (last != head).then(|| format!("the chain ends at {}, and the head says {}", last.0, head.0));
    Ok(axum::Json(view(last, cut)))
}

fn view((revision, hash): (Revision, ostiary_canon::Digest), broken: Option<String>) -> AuditVerified {
    AuditVerified { intact: broken.is_none(), revision: revision.0, hash: hash.to_string(), broken }
}
