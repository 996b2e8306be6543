//! `GET /evidence/{evidence}`: what one piece of evidence says, without its envelope.

use std::sync::Arc;

use axum::extract::State;

use super::readable;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Named,
        model::EvidenceView,
        rights::{May, ReadEvidence},
    },
};

/// Get one piece of evidence.
#[utoipa::path(
    get, path = "/evidence/{evidence}", tag = "evidence", params(("evidence" = String, Path)),
    responses((status = 200, body = EvidenceView), (status = "4XX", body = Problem))
)]
pub async fn get(
    State(app): State<Arc<App>>,
    caller: May<ReadEvidence>,
    Named(id): Named,
) -> Result<axum::Json<EvidenceView>, ApiError> {
    readable(&app, &caller, id).await.map(|record| axum::Json(EvidenceView::of(&record)))
}
