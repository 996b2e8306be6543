//! `GET …/versions/{version}/gates`: the runs of a version and what is known of each gate.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        model::{EvidenceView, JobView},
        rights::{May, Read},
        versions::newest,
    },
};

/// The gates of a version.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct GatesView {
    /// The gate that would move it on.
    pub next: Option<String>,
    /// Runs that wait, go on or are over, oldest first.
    pub jobs: Vec<JobView>,
    /// Results, oldest first.
    pub results: Vec<EvidenceView>,
}

/// List the runs and results of a version.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/gates", tag = "gates",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = GatesView), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<Read>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<GatesView>, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let jobs = app.store.jobs_of(&version.key).await?;
    let results = app.store.evidence_of(&version.key).await?;
    Ok(axum::Json(GatesView {
        next: version.state.next_gate().map(|gate| gate.to_string()),
        jobs: jobs.iter().map(JobView::of).collect(),
        results: results.iter().map(EvidenceView::of).collect(),
    }))
}
