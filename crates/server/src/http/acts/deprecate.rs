//! `POST …/versions/{version}/deprecate`: retires a version, at once or with a sunset for registered consumers.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::{StateName, ports::Action};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    auth::Act,
    error::{ApiError, ErrorCode, Problem},
    http::{
        acts::{Asked, operate},
        extract::{IdempotencyKey, Json, VersionPath},
        model::Changed,
        rights::{May, Promote},
        versions::dispatched,
    },
};

/// Why a version is retired, and how long it still serves.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DeprecateBody {
    /// In words, not empty.
    pub reason: String,
    /// Until when registered production consumers are still served; RFC 3339.
    pub sunset: Option<String>,
}

/// Retire a version.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/deprecate", tag = "acts",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = DeprecateBody,
    responses((status = 200, body = Changed), (status = "4XX", body = Problem))
)]
pub async fn deprecate(
    State(app): State<Arc<App>>,
    caller: May<Promote>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(body): Json<DeprecateBody>,
) -> Result<axum::Json<Changed>, ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    // Who may only publish would otherwise end a quarantine by retiring the version and submitting it again.
    if version.state.name() == StateName::Quarantined {
        caller.require(Act::Operate)?;
    }
    let idempotency = key.bound(&caller, &(version.key.to_string(), "deprecate", &body));
    let sunset = body.sunset.as_deref().map(|text| {
        let message = || format!("`sunset`: `{text}` is no RFC 3339 time");
        text.parse().map_err(|_| ApiError::new(ErrorCode::InvalidRequest, message()))
    });
    let action = Action::Deprecate { sunset: sunset.transpose()? };
    let asked = Asked { caller: &caller, version: &version, reason: body.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok(axum::Json(Changed::of(&done)))
}
