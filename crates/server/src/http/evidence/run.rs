//! `GET /evidence/{evidence}/run`: the recordings that a gate was judged from, byte for byte, to be judged again by anybody.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use super::readable;
use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::Named,
        rights::{May, ReadEvidence},
    },
    recordings::RecordingsError,
};

/// Get the recordings that were judged.
#[utoipa::path(
    get, path = "/evidence/{evidence}/run", tag = "evidence", params(("evidence" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/json"), (status = "4XX", body = Problem))
)]
pub async fn run(
    State(app): State<Arc<App>>,
    caller: May<ReadEvidence>,
    Named(id): Named,
) -> Result<Response, ApiError> {
    let record = readable(&app, &caller, id).await?;
    let missing = || ApiError::not_found(&format!("a run of evidence `{}`", record.id));
    let digest = record.run.ok_or_else(missing)?;
    let bytes = app.recordings.find(digest).await.map_err(failed)?.ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], bytes).into_response())
}

fn failed(error: RecordingsError) -> ApiError {
    match error {
        RecordingsError::Damaged(_) => ApiError::internal(error),
        RecordingsError::Store { .. } | RecordingsError::Directory(_) => {
            ApiError::new(ErrorCode::Unavailable, "the object store does not answer; try again").because(error)
        }
    }
}
