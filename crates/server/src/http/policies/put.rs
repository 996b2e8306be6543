//! `PUT /policies/current`: puts a policy in force. What was issued under another lives until its expiry.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::Policy;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Json,
        model::Changed,
        rights::{Administer, May},
    },
};

/// Put a policy in force.
#[utoipa::path(
    put, path = "/policies/current", tag = "policies",
    request_body(content = Object, description = "The policy, as `GET /policies/current` shows it."),
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn put(
    State(app): State<Arc<App>>,
    caller: May<Administer>,
    Json(policy): Json<Policy>,
) -> Result<axum::Json<Changed>, ApiError> {
    let revision = app.store.put_policy(policy, caller.actor()).await?;
    app.committed_at(revision).await;
    Ok(axum::Json(Changed { revision: revision.0 }))
}
