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

/// Does one act and tells everybody in this process.
///
/// # Errors
/// What the lifecycle, the route or the store refuses.
pub async fn operate(
    app: &App,
    caller: &Caller,
    version: &Version,
    why: Why,
    action: Action,
    idempotency: Option<Idempotency>,
) -> Result<Operated, ApiError> {
    let operate = Operate {
        version: version.key.clone(),
        row: None,
        actor: caller.actor(),
        reason: why.reason,
        action,
        idempotency,
    };
    let done = app.store.operate(operate).await?;
    app.committed_at(done.revision).await;
    Ok(done)
}
