//! `GET /agents`: the agents that the caller may know of, page by page.

use std::sync::Arc;

use axum::extract::State;
use ostiary_canon::AgentId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        page::{Cursor, Page},
        rights::{May, Read},
    },
};

/// One agent of a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentItem {
    /// `namespace/agent`.
    pub agent: String,
    /// Who answers for it.
    pub owner: Option<String>,
    /// One sentence.
    pub description: Option<String>,
}

/// A page of agents.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct AgentPage {
    /// In the order of their names.
    pub agents: Vec<AgentItem>,
    /// Send as `after` for what follows; absent at the end.
    pub next: Option<String>,
}

/// List agents of the caller's namespaces.
#[utoipa::path(
    get, path = "/agents", tag = "agents", params(Page),
    responses((status = 200, body = AgentPage), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    caller: May<Read>,
    Cursor { after, limit }: Cursor<AgentId>,
) -> Result<axum::Json<AgentPage>, ApiError> {
    let found = app.store.agents(after.as_ref(), limit).await?;
    // The cursor counts what was read, not what was shown, so that a page of foreign agents does not end the list.
    let full = found.len() >= limit as usize;
    let next = found.last().filter(|_| full).map(|agent| agent.id.to_string());
    let mine = found.into_iter().filter(|agent| caller.reaches(agent.id.namespace()));
    let agents = mine
        .map(|agent| AgentItem { agent: agent.id.to_string(), owner: agent.owner, description: agent.description })
        .collect();
    Ok(axum::Json(AgentPage { agents, next }))
}
