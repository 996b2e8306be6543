//! `GET /agents/{namespace}/{agent}`: an agent, its route and its versions.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::VersionRef;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::AgentPath,
        model::VersionView,
        rights::{May, Read},
    },
};

/// An agent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// `namespace/agent`.
    pub agent: String,
    /// Who answers for it.
    pub owner: Option<String>,
    /// One sentence.
    pub description: Option<String>,
    /// Who is dispatched to.
    pub route: RouteView,
    /// All tries of all versions, newest submission first.
    pub versions: Vec<VersionView>,
}

/// Who is dispatched to.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct RouteView {
    /// By everybody.
    pub active: Option<String>,
    /// By its cohort.
    pub canary: Option<String>,
    /// Nobody now, and everybody again after one step back.
    pub previous: Option<String>,
    /// Until when that step can be taken.
    pub previous_until: Option<String>,
}

/// Get an agent with its route and versions.
#[utoipa::path(
    get, path = "/agents/{namespace}/{agent}", tag = "agents",
    params(("namespace" = String, Path), ("agent" = String, Path)),
    responses((status = 200, body = AgentView), (status = "4XX", body = Problem))
)]
pub async fn get(
    State(app): State<Arc<App>>,
    _: May<Read>,
    AgentPath(id): AgentPath,
) -> Result<axum::Json<AgentView>, ApiError> {
    let agent = app.store.agent(&id).await?.ok_or_else(|| ApiError::not_found(&format!("agent `{id}`")))?;
    let route = app.store.route(&id).await?;
    let versions = app.store.versions(&id).await?;
    let label = |key: &VersionRef| key.label.to_string();
    Ok(axum::Json(AgentView {
        agent: id.to_string(),
        owner: agent.owner,
        description: agent.description,
        versions: versions.iter().map(|version| VersionView::of(version, &route)).collect(),
        route: RouteView {
            active: route.active.as_ref().map(label),
            canary: route.canary.as_ref().map(label),
            previous: route.previous.as_ref().map(|previous| label(&previous.version)),
            previous_until: route.previous.as_ref().map(|previous| previous.until.to_string()),
        },
    }))
}
