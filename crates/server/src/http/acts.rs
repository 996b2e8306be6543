//! What people do to a version outside its gates. Each act has a reason, an actor and an audit entry, and answers with
//! the revision at which it holds for routers.

pub mod abort_canary;
pub mod deprecate;
pub mod promote;
pub mod quarantine;
pub mod release;
pub mod rollback;
pub mod verify;
pub mod withdraw;

use ostiary_domain::{
    Version,
    ports::{Action, Idempotency, Operate, Operated},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{app::App, auth::Caller, error::ApiError};

/// Why something is done; it stands in the audit log.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Why {
    /// In words, not empty.
    pub reason: String,
}

/// One act that a caller asks for.
pub struct Asked<'a> {
    /// Who asks.
    pub caller: &'a Caller,
    /// The try that it is about.
    pub version: &'a Version,
    /// Why.
    pub reason: String,
    /// What.
    pub action: Action,
    /// The caller's key for the request.
    pub idempotency: Option<Idempotency>,
}

/// Does one act and tells everybody in this process.
///
/// # Errors
/// What the lifecycle, the route or the store refuses.
pub async fn operate(app: &App, asked: Asked<'_>) -> Result<Operated, ApiError> {
    let Asked { caller, version, reason, action, idempotency } = asked;
    let version = version.key.clone();
    let operate = Operate { version, row: None, actor: caller.actor(), reason, action, idempotency };
    let done = app.store.operate(operate).await?;
    app.committed_at(done.revision).await;
    Ok(done)
}
