//! `POST …/versions/{version}/promote`: asks for the step to CANARY or to ACTIVE.
//!
//! Nothing is promoted by asking: the gate of that step runs against the agent as it is now, and only its PASS moves the
//! version.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use ostiary_domain::{JobId, ports::Action};
use ostiary_record::Gate;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        acts::{Asked, operate},
        extract::{IdempotencyKey, Json, VersionPath},
        model::Queued,
        rights::{May, Promote},
        versions::newest,
    },
};

/// Why a version is to be promoted.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct PromoteBody {
    /// In words, not empty.
    pub reason: String,
    /// `canary` or `active`; left out, the next one. Guards against promoting twice by two requests.
    pub to: Option<String>,
}

/// Ask for the step to CANARY or to ACTIVE.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/promote", tag = "acts",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = PromoteBody,
    responses((status = 202, body = Queued), (status = "4XX", body = Problem))
)]
pub async fn promote(
    State(app): State<Arc<App>>,
    caller: May<Promote>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(body): Json<PromoteBody>,
) -> Result<(StatusCode, axum::Json<Queued>), ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), "promote", &body));
    let next = version.state.next_gate().filter(|gate| matches!(gate, Gate::Canary | Gate::Active));
    let gate = next.ok_or_else(|| {
        let message = format!("a version in {} cannot be promoted", version.state.name());
        ApiError::new(ErrorCode::IllegalTransition, message)
    })?;
    if body.to.as_deref().is_some_and(|to| to != gate.as_str()) {
        let message = format!("the next step from {} is `{gate}`", version.state.name());
        return Err(ApiError::new(ErrorCode::IllegalTransition, message));
    }
    let action = Action::RequestGate { gate, job: JobId(app.ids.next("job")) };
    let asked = Asked { caller: &caller, version: &version, reason: body.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Queued::of(&done))))
}
