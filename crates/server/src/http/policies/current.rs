//! `GET /policies/current`: the policy in force, with its digest.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::Policy;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::rights::{May, Read},
};

/// A policy and its name in evidence.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct PolicyView {
    /// Its digest.
    pub digest: String,
    /// What it requires.
    #[schema(value_type = Object)]
    pub policy: Policy,
}

// === impl PolicyView ===

impl From<Policy> for PolicyView {
    fn from(policy: Policy) -> Self {
        Self { digest: policy.digest().to_string(), policy }
    }
}

/// Get the policy in force.
#[utoipa::path(
    get, path = "/policies/current", tag = "policies",
    responses((status = 200, body = PolicyView), (status = "4XX", body = Problem))
)]
pub async fn current(State(app): State<Arc<App>>, _: May<Read>) -> Result<axum::Json<PolicyView>, ApiError> {
    Ok(axum::Json(app.policy().await?.into()))
}
