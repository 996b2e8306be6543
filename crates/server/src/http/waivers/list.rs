//! `GET …/versions/{version}/waivers`: what was asked to be waived for a label, and what became of it.

use std::sync::Arc;

use axum::extract::State;

use super::WaiverView;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        rights::{May, ReadEvidence},
    },
};

/// List the waivers of a version, oldest first.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/waivers", tag = "waivers",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<WaiverView>), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<Vec<WaiverView>>, ApiError> {
    let now = app.clock.now();
    let waivers = app.store.waivers_of(&agent, &label).await?;
    Ok(axum::Json(waivers.iter().map(|waiver| WaiverView::of(waiver, now)).collect()))
}
