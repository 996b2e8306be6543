//! `POST …/versions/{version}/release`: the way out of quarantine: runs the gates again; the last one asks for an approval.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use ostiary_domain::{JobId, State as Lifecycle, ports::Action};
use ostiary_record::Gate;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        acts::{Asked, Why, operate},
        extract::{IdempotencyKey, Json, VersionPath},
        model::Queued,
        rights::{May, Operate},
        versions::dispatched,
    },
};

/// Release a version from quarantine.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/release", tag = "acts",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = Why,
    responses((status = 202, body = Queued), (status = "4XX", body = Problem))
)]
pub async fn release(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<(StatusCode, axum::Json<Queued>), ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    if !matches!(version.state, Lifecycle::Quarantined { .. }) {
        let message =
            format!("`{agent}@{label}` is {}, and only a quarantined version is released", version.state.name());
        return Err(ApiError::new(ErrorCode::IllegalTransition, message));
    }
    let idempotency = key.bound(&caller, &(version.key.to_string(), "release", &why));
    let action = Action::RequestGate { gate: Gate::Conformance, job: JobId(app.ids.next("job")) };
    let asked = Asked { caller: &caller, version: &version, reason: why.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Queued::of(&done))))
}
