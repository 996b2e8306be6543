//! `POST …/versions/{version}/verify`: has an admitted version verified again.
//!
//! A FAIL sets a hold at once; a FAIL of a run that began under that hold quarantines. PASS lifts nothing: trust is raised
//! by people.

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
        rights::{May, Reverify},
        versions::dispatched,
    },
};

/// Why a version is verified again.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyBody {
    /// In words, not empty.
    pub reason: String,
    /// `static`, `conformance` or `security`; left out, `conformance`.
    pub gate: Option<String>,
}

/// Verify an admitted version again.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/verify", tag = "acts",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = VerifyBody,
    responses((status = 202, body = Queued), (status = "4XX", body = Problem))
)]
pub async fn verify(
    State(app): State<Arc<App>>,
    caller: May<Reverify>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(body): Json<VerifyBody>,
) -> Result<(StatusCode, axum::Json<Queued>), ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), "verify", &body));
    let gate = body.gate.as_deref().map_or(Some(Gate::Conformance), |text| text.parse().ok());
    let gate = gate
        .filter(|gate| *gate <= Gate::Security)
        .ok_or_else(|| ApiError::new(ErrorCode::InvalidRequest, "`gate` is one of static, conformance, security"))?;
    let action = Action::RequestGate { gate, job: JobId(app.ids.next("job")) };
    let asked = Asked { caller: &caller, version: &version, reason: body.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    Ok((StatusCode::ACCEPTED, axum::Json(Queued::of(&done))))
}
