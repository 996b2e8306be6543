//! `GET …/versions/{version}/approvals`: who consented to what.

use std::sync::Arc;

use axum::extract::State;

use super::ApprovalView;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::VersionPath,
        rights::{May, Read},
        versions::newest,
    },
};

/// List the approvals of a version, oldest first.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}/versions/{version}/approvals", tag = "approvals",
    params(("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path)),
    responses((status = 200, body = Vec<ApprovalView>), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    _: May<Read>,
    VersionPath { agent, label }: VersionPath,
) -> Result<axum::Json<Vec<ApprovalView>>, ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let approvals = app.store.approvals_of(&version.key).await?;
    Ok(axum::Json(approvals.iter().map(ApprovalView::of).collect()))
}
