//! `PUT /environments/{environment}`: registers a verification environment from its YAML.
//!
//! For operators only: an environment may run commands on a worker and name secrets that workers hold.

use std::sync::Arc;

use axum::{body::Body, extract::State};
use ostiary_contract::Environment;
use ostiary_domain::EnvironmentName;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::{Named, collect},
        model::Changed,
        problems,
        rights::{May, PutEnvironment},
    },
};

/// Register a verification environment.
#[utoipa::path(
    put, path = "/environments/{environment}", tag = "environments", params(("environment" = String, Path)),
    request_body(content = String, content_type = "application/yaml", description = "The `environment.yaml`."),
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn put(
    State(app): State<Arc<App>>,
    caller: May<PutEnvironment>,
    Named(name): Named,
    body: Body,
) -> Result<axum::Json<Changed>, ApiError> {
    let document = collect(body, app.config.http.body_bytes).await?;
    let environment = Environment::parse("environment.yaml", &document)
        .map_err(|found| problems::of(ErrorCode::InvalidRequest, "the environment has problems", &found))?;
    if environment.name.value != name {
        let message = format!("the document is of environment `{}`, the address of `{name}`", environment.name.value);
        return Err(ApiError::new(ErrorCode::InvalidRequest, message));
    }
    let revision = app.store.put_environment(&EnvironmentName(name), document, caller.actor()).await?;
    app.committed_at(revision).await;
    Ok(axum::Json(Changed { revision: revision.0 }))
}
