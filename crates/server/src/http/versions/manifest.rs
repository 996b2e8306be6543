//! `GET …/versions/{version}/manifest`: the document whose digest all statements about the version name.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::VersionPath,
        rights::{May, ReadEvidence},
        versions::newest,
    },
};

/// Get the version's manifest, byte for byte as digested.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/manifest", tag = "versions",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/json"), (status = "4XX", body = Problem))
)]
pub async fn manifest(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<Response, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let none = || ApiError::new(ErrorCode::NotReady, "the static gate has not fixed the manifest yet");
    let subject = version.state.subject().ok_or_else(none)?;
    let bytes = app.store.object(&subject.manifest).await?.ok_or_else(|| ApiError::not_found("the manifest"))?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response())
}
