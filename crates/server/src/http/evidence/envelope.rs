//! `GET /evidence/{evidence}/envelope`: the DSSE envelope, byte for byte as it was signed.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use super::readable;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Named,
        rights::{May, ReadEvidence},
    },
};

/// Get the signed envelope.
#[utoipa::path(
    get, path = "/evidence/{evidence}/envelope", tag = "evidence", params(("evidence" = String, Path)),
    responses(
        (status = 200, body = Vec<u8>, content_type = "application/vnd.dsse.envelope+json"),
        (status = "4XX", body = Problem)
    )
)]
pub async fn envelope(
    State(app): State<Arc<App>>,
    caller: May<ReadEvidence>,
    Named(id): Named,
) -> Result<Response, ApiError> {
    let record = readable(&app, &caller, id).await?;
    Ok(([(header::CONTENT_TYPE, "application/vnd.dsse.envelope+json")], record.envelope).into_response())
}
