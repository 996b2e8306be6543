//! `GET /agents/{namespace}/{agent}/versions`: all tries of all versions.

use std::sync::Arc;

use axum::extract::State;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::AgentPath,
        model::VersionView,
        rights::{May, Read},
    },
};

/// List the versions of an agent, newest submission first.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions", tag = "versions",
    params(("namespace" = String, Path), ("agent" = String, Path)),
    responses((status = 200, body = Vec<VersionView>), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<Read>,
    AgentPath(agent): AgentPath,
) -> Result<axum::Json<Vec<VersionView>>, ApiError> {
    let route = app.store.route(&agent).await?;
    let versions = app.store.versions(&agent).await?;
    Ok(axum::Json(versions.iter().map(|version| VersionView::of(version, &route)).collect()))
}
