//! `DELETE /webhooks/{webhook}`: a receiver is told of nothing any more.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};

use super::of_caller;
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        extract::Named,
        rights::{May, Operate},
    },
};

/// Take a receiver away.
#[utoipa::path(
    delete, path = "/webhooks/{webhook}", tag = "webhooks", params(("webhook" = String, Path)),
    responses((status = 204), (status = "4XX", body = Problem))
)]
pub async fn remove(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    Named(id): Named,
) -> Result<StatusCode, ApiError> {
    let hook = of_caller(&app, &caller, &id).await?;
    app.store.remove_webhook(&hook.facts.id, caller.actor()).await?;
    app.committed();
    Ok(StatusCode::NO_CONTENT)
}
