//! `GET …/versions/{version}/waivers/{waiver}`: one waiver, with its signed statement.

use std::sync::Arc;

use axum::extract::State;

use super::{WaiverView, of_label};
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPartPath,
        rights::{May, ReadEvidence},
    },
};

/// Get a waiver.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/waivers/{waiver}", tag = "waivers",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path), ("waiver" = String, Path)
    ),
    responses((status = 200, body = WaiverView), (status = "4XX", body = Problem))
)]
pub async fn get(
    State(app): State<Arc<App>>,
    _: May<ReadEvidence>,
    VersionPartPath { agent, label, part: waiver }: VersionPartPath,
) -> Result<axum::Json<WaiverView>, ApiError> {
    let found = of_label(&app, (&agent, &label), &waiver).await?;
    Ok(axum::Json(WaiverView::of(&found, app.clock.now())))
}
