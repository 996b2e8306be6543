//! `POST …/versions/{version}/holds`: sets a hold; it denies from the next check on.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use ostiary_domain::{
    HoldId,
    ports::{Action, HoldRequest},
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        acts::{Asked, operate},
        extract::{IdempotencyKey, Json, VersionPath},
        model::{Changed, HoldView, ScopeView, hold_kind},
        rights::{May, Operate},
        versions::dispatched,
    },
};

/// A hold that is asked for.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct HoldBody {
    /// `route_disabled`, `canary_stopped` or `revalidating`.
    pub kind: String,
    /// For whom; left out, for everybody.
    pub scope: Option<ScopeView>,
    /// In words, not empty.
    pub reason: String,
}

/// The standing holds after one was set.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldSet {
    /// All standing holds.
    pub holds: Vec<HoldView>,
    /// The revision token.
    #[serde(flatten)]
    pub changed: Changed,
}

/// Set a hold.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/holds", tag = "holds",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = HoldBody,
    responses((status = 201, body = HoldSet), (status = "4XX", body = Problem))
)]
pub async fn set(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(body): Json<HoldBody>,
) -> Result<(StatusCode, axum::Json<HoldSet>), ApiError> {
    let version = dispatched(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), "hold", &body));
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
    let kind = hold_kind(&body.kind)
        .ok_or_else(|| invalid("`kind` is one of route_disabled, canary_stopped, revalidating".to_owned()))?;
    let scope = body.scope.unwrap_or(ScopeView::Everything).parse().map_err(invalid)?;
    let action = Action::SetHold(HoldRequest { id: HoldId(app.ids.next("hold")), kind, scope });
    let asked = Asked { caller: &caller, version: &version, reason: body.reason, action, idempotency };
    let done = operate(&app, asked).await?;
    let holds = done.version.holds.iter().map(HoldView::of).collect();
    Ok((StatusCode::CREATED, axum::Json(HoldSet { holds, changed: Changed::of(&done) })))
}
