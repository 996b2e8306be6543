//! `POST …/versions/{version}/abort-canary`: takes a canary back; it stays admitted.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::ports::Action;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        acts::{Asked, Why, operate},
        extract::{IdempotencyKey, Json, VersionPath},
        model::Changed,
        rights::{May, Operate},
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
    caller: May<Operate>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<axum::Json<Changed>, ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), "abort-canary", &why));
    let action = Action::AbortCanary;
    let asked = Asked { caller: &caller, version: &version, reason: why.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok(axum::Json(Changed::of(&done)))
}
