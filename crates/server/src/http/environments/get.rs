//! `GET /environments/{environment}`: the document, for those who may register it.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use ostiary_domain::EnvironmentName;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Named,
        rights::{May, PutEnvironment},
    },
};

/// Get the document of a verification environment.
#[utoipa::path(
    get, path = "/environments/{environment}", tag = "environments", params(("environment" = String, Path)),
    responses(
        (status = 200, body = String, content_type = "application/yaml"),
        (status = "4XX", body = Problem)
    )
)]
pub async fn get(
    State(app): State<Arc<App>>,
    _: May<PutEnvironment>,
    Named(name): Named,
) -> Result<Response, ApiError> {
    let found = app.store.environment(&EnvironmentName(name.clone())).await?;
    let found = found.ok_or_else(|| ApiError::not_found(&format!("environment `{name}`")))?;
    Ok(([(header::CONTENT_TYPE, "application/yaml")], found.document).into_response())
}
