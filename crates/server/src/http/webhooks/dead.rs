//! `GET /webhooks/{webhook}/dead-letters`: what a receiver never took. The feed of events still has it.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::of_caller;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Named,
        rights::{May, Operate},
    },
};

/// An event that was given up.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct DeadLetterView {
    /// The event.
    pub event: String,
    /// Its revision.
    pub revision: u64,
    /// How often it was tried.
    pub tries: u32,
    /// What the last try said.
    pub last_error: String,
    /// When it was given up.
    pub at: String,
}

/// List what a receiver never took.
#[utoipa::path(
    get, path = "/webhooks/{webhook}/dead-letters", tag = "webhooks", params(("webhook" = String, Path)),
    responses((status = 200, body = Vec<DeadLetterView>), (status = "4XX", body = Problem))
)]
pub async fn dead(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    Named(id): Named,
) -> Result<axum::Json<Vec<DeadLetterView>>, ApiError> {
    let hook = of_caller(&app, &caller, &id).await?;
    let letters = app.store.dead_letters(&hook.facts.id).await?;
    let view = letters.into_iter().map(|letter| DeadLetterView {
        event: format!("evt-{}", letter.revision),
        revision: letter.revision.0,
        tries: letter.tries,
        last_error: hook.shown_error(&letter.last_error),
        at: letter.at.to_string(),
    });
    Ok(axum::Json(view.collect()))
}
