//! `POST …/versions/{version}/gates/{gate}`: asks for a gate to be run, again or for the first time.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use ostiary_domain::{JobId, ports::Action};
use ostiary_record::Gate;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        acts::{Asked, Why, operate},
        extract::{IdempotencyKey, Json, VersionPartPath},
        model::Queued,
        rights::{May, RunGate},
        versions::newest,
    },
};

/// Run a gate.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/gates/{gate}", tag = "gates",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path), ("gate" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = Why,
    responses((status = 202, body = Queued), (status = "4XX", body = Problem))
)]
pub async fn request(
    State(app): State<Arc<App>>,
    caller: May<RunGate>,
    VersionPartPath { agent, label, part: gate }: VersionPartPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<(StatusCode, axum::Json<Queued>), ApiError> {
    let gate: Gate = gate.parse().map_err(|error: ostiary_record::layer::UnknownName| {
        ApiError::new(ErrorCode::InvalidRequest, error.to_string())
    })?;
    let version = newest(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), gate, &why));
    let job = JobId(app.ids.next("job"));
    let action = Action::RequestGate { gate, job };
    let asked = Asked { caller: &caller, version: &version, reason: why.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Queued::of(&done))))
}
