//! `GET /evidence/{evidence}/report`: the decision and everything that was found, as it was judged.

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

/// Get what was found.
#[utoipa::path(
    get, path = "/evidence/{evidence}/report", tag = "evidence", params(("evidence" = String, Path)),
    responses((status = 200, body = Vec<u8>, content_type = "application/json"), (status = "4XX", body = Problem))
)]
pub async fn report(
    State(app): State<Arc<App>>,
    caller: May<ReadEvidence>,
    Named(id): Named,
) -> Result<Response, ApiError> {
    let record = readable(&app, &caller, id).await?;
    let missing = || ApiError::not_found(&format!("the report of evidence `{}`", record.id));
    let report = app.store.report(&record.id).await?.ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], report).into_response())
}
