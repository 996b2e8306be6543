//! `GET /webhooks`: the receivers that the caller answers for, and how far each has been.

use std::sync::Arc;

use axum::extract::State;

use super::{WebhookView, answers_for};
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::rights::{May, Operate},
};

/// List the receivers of events.
#[utoipa::path(
    get, path = "/webhooks", tag = "webhooks",
    responses((status = 200, body = Vec<WebhookView>), (status = "4XX", body = Problem))
)]
pub async fn list(State(app): State<Arc<App>>, caller: May<Operate>) -> Result<axum::Json<Vec<WebhookView>>, ApiError> {
    let all = app.store.webhooks().await?;
    let mine = all.iter().filter(|hook| answers_for(&caller, hook.facts.namespace.as_deref()));
    Ok(axum::Json(mine.map(WebhookView::of).collect()))
}
