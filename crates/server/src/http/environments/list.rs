//! `GET /environments`: names that a submission may give.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::rights::{May, Read},
};

/// One environment, without its document.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentItem {
    /// Its name.
    pub environment: String,
    /// Who registered it last.
    pub by: String,
    /// When.
    pub at: String,
}

/// List verification environments.
#[utoipa::path(
    get, path = "/environments", tag = "environments",
    responses((status = 200, body = Vec<EnvironmentItem>), (status = "4XX", body = Problem))
)]
pub async fn list(State(app): State<Arc<App>>, _: May<Read>) -> Result<axum::Json<Vec<EnvironmentItem>>, ApiError> {
    let found = app.store.environments().await?;
    let items = found.into_iter().map(|environment| EnvironmentItem {
        environment: environment.name.to_string(),
        by: environment.by.to_string(),
        at: environment.at.to_string(),
    });
    Ok(axum::Json(items.collect()))
}
