//! `POST …/versions/{version}/holds/{hold}/lift`: lifts a hold. A person's act: machines only lower trust.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::{HoldId, ports::Action};

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        acts::{Asked, Why, operate},
        extract::{IdempotencyKey, Json, VersionPartPath},
        model::Changed,
        rights::{May, Operate},
        versions::dispatched,
    },
};

/// Lift a hold.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/holds/{hold}/lift", tag = "holds",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path), ("hold" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = Why,
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn lift(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    VersionPartPath { agent, label, part: hold }: VersionPartPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<axum::Json<Changed>, ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), "lift", &hold, &why));
    let action = Action::LiftHold(HoldId(hold));
    let asked = Asked { caller: &caller, version: &version, reason: why.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok(axum::Json(Changed::of(&done)))
}
