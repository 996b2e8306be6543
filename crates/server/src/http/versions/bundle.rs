//! `GET …/versions/{version}/bundle`: the contract bundle of the newest try as a tar archive.
//!
//! By way of the version and not by digest alone: who reads it must reach into the namespace that submitted it.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        rights::{May, ReadEvidence},
        versions::newest,
    },
};

/// Get the version's contract bundle.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/bundle", tag = "versions",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/x-tar"), (status = "4XX", body = Problem))
)]
pub async fn bundle(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<Response, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let missing = || ApiError::not_found(&format!("bundle `{}`", version.bundle));
    let archive = app.store.bundle(&version.bundle).await?.ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, "application/x-tar")], archive).into_response())
}
