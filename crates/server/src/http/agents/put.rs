//! `PUT /agents/{namespace}/{agent}`: registers an agent, or changes what people read about it.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::registry::Agent;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::{AgentPath, Json},
        model::Changed,
        rights::{May, Publish},
    },
};

/// What people read about an agent.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentBody {
    /// Who answers for it.
    pub owner: Option<String>,
    /// One sentence.
    pub description: Option<String>,
}

/// Register an agent, or change what people read about it.
#[utoipa::path(
    put, path = "/agents/{namespace}/{agent}", tag = "agents",
    params(("namespace" = String, Path), ("agent" = String, Path)),
    request_body = AgentBody,
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn put(
    State(app): State<Arc<App>>,
    caller: May<Publish>,
    AgentPath(id): AgentPath,
    Json(body): Json<AgentBody>,
) -> Result<axum::Json<Changed>, ApiError> {
    let AgentBody { owner, description } = body;
    let revision = app.store.put_agent(Agent { id, owner, description }, caller.actor()).await?;
    app.committed_at(revision).await;
    Ok(axum::Json(Changed { revision: revision.0 }))
}
