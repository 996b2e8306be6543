//! `GET /bundles/{digest}`: a contract bundle as a tar archive.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use ostiary_canon::Digest;

use crate::{
    app::App,
    auth::Act,
    error::{ApiError, Problem},
    http::extract::{Auth, Named},
};

/// Get a contract bundle.
#[utoipa::path(
    get, path = "/bundles/{digest}", tag = "bundles", params(("digest" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/x-tar"), (status = "4XX", body = Problem))
)]
pub async fn get(State(app): State<Arc<App>>, auth: Auth, Named(text): Named) -> Result<Response, ApiError> {
    auth.0.require(Act::ReadEvidence)?;
    let missing = || ApiError::not_found(&format!("bundle `{text}`"));
    let digest: Digest = text.parse().map_err(|_| missing())?;
    let archive = app.store.bundle(&digest).await?.ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, "application/x-tar")], archive).into_response())
}
