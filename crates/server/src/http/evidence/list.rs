//! `GET …/versions/{version}/evidence`: all evidence of the newest try.

use std::sync::Arc;

use axum::extract::State;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        model::EvidenceView,
        rights::{May, ReadEvidence},
        versions::newest,
    },
};

/// List the evidence of a version, oldest first.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/evidence", tag = "evidence",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<EvidenceView>), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<Vec<EvidenceView>>, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let evidence = app.store.evidence_of(&version.key).await?;
    Ok(axum::Json(evidence.iter().map(EvidenceView::of).collect()))
}
