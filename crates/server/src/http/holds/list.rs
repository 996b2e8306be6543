//! `GET …/versions/{version}/holds`: the holds that stand on what is dispatched.

use std::sync::Arc;

use axum::extract::State;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        model::HoldView,
        rights::{May, Read},
        versions::dispatched,
    },
};

/// List the standing holds of a version, oldest first.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/holds", tag = "holds",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<HoldView>), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<Read>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<Vec<HoldView>>, ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    Ok(axum::Json(version.holds.iter().map(HoldView::of).collect()))
}
