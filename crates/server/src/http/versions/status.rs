//! `GET /agents/{namespace}/{agent}/versions/{version}`: where the newest try stands, and what runs for it.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        model::{JobView, VersionView},
        rights::{May, Read},
        versions::{enforced, newest},
    },
};

/// Where a version stands.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct StatusView {
    /// The version.
    #[serde(flatten)]
    pub version: VersionView,
    /// How hard its namespace is enforced now: in `observe` and `warn` routers are let through where they would be denied.
    pub mode: String,
    /// When a softer mode ends by itself.
    pub mode_until: Option<String>,
    /// Its runs, oldest first.
    pub jobs: Vec<JobView>,
}

/// Get where a version stands.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}", tag = "versions",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = StatusView), (status = "4XX", body = Problem))
)]
pub async fn status(
    State(app): State<Arc<App>>,
    _: May<Read>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<StatusView>, ApiError> {
    let key = newest(&app, &agent, &label).await?.key;
    // Jobs first: a run that is over was committed before, so what is read after it shows where it led.
    let jobs = app.store.jobs_of(&key).await?;
    let gone = || ApiError::not_found(&format!("version `{agent}@{label}`"));
    let version = app.store.version(&key).await?.ok_or_else(gone)?;
    let route = app.store.route(&agent).await?;
    let version = VersionView::of(&version, &route);
    let (mode, mode_until) = enforced(&app, agent.namespace()).await?;
    Ok(axum::Json(StatusView { version, mode, mode_until, jobs: jobs.iter().map(JobView::of).collect() }))
}
