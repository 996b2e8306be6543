//! `POST …/versions/{version}/abort-canary`: takes a canary back; it stays admitted.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::ports::Action;

use crate::{
    app::App,
    auth::Act,
    error::{ApiError, Problem},
    http::{
        acts::{Why, operate},
        extract::{Auth, IdempotencyKey, Json, VersionPath},
        model::Changed,
        versions::dispatched,
    },
};

/// Abort a canary.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/abort-canary", tag = "acts",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = Why,
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn abort_canary(
    State(app): State<Arc<App>>,
    auth: Auth,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<axum::Json<Changed>, ApiError> {
    auth.require_for(Act::Operate, &agent)?;
    let version = dispatched(&app, &agent, &label).await?;
    let idempotency = key.bound(&auth.0, &(version.key.to_string(), "abort-canary", &why));
    let action = Action::AbortCanary;
    let done = operate(&app, &auth, &version, why, action, idempotency).await?;
    Ok(axum::Json(Changed::of(&done)))
}
