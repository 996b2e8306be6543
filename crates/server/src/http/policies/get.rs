//! `GET /policies/{digest}`: a policy that evidence names.

use std::sync::Arc;

use axum::extract::State;
use ostiary_canon::Digest;

use super::current::PolicyView;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Named,
        rights::{May, Read},
    },
};

/// Get a policy by digest.
#[utoipa::path(
    get, path = "/policies/{digest}", tag = "policies", params(("digest" = String, Path)),
    responses((status = 200, body = PolicyView), (status = "4XX", body = Problem))
)]
pub async fn get(
    State(app): State<Arc<App>>,
    _: May<Read>,
    Named(text): Named,
) -> Result<axum::Json<PolicyView>, ApiError> {
    let missing = || ApiError::not_found(&format!("policy `{text}`"));
    let digest: Digest = text.parse().map_err(|_| missing())?;
    let policy = app.store.policy(&digest).await?.ok_or_else(missing)?;
    Ok(axum::Json(policy.into()))
}
