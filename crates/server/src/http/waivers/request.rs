//! `POST …/versions/{version}/waivers`: asks to be excepted from a check. It does nothing until another person grants it.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use jiff::Timestamp;
use ostiary_canon::{Digest, Profile};
use ostiary_domain::{WaiverId, waiver::NewWaiver};
use ostiary_record::CheckId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::WaiverView;
use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::{IdempotencyKey, Json, VersionPath},
        rights::{AskWaiver, May},
        versions::newest,
    },
};

/// What is to be waived.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct WaiverBody {
    /// The check.
    pub check: String,
    /// The profile; left out, whatever profile the finding is bound to.
    pub profile: Option<String>,
    /// Digest of the manifest that was looked at.
    pub manifest: String,
    /// In words, not empty.
    pub reason: String,
    /// Until when; RFC 3339; at most ninety days from now.
    pub expires_at: String,
}

/// Ask for a waiver.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/waivers", tag = "waivers",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = WaiverBody,
    responses((status = 201, body = WaiverView), (status = "4XX", body = Problem))
)]
pub async fn request(
    State(app): State<Arc<App>>,
    caller: May<AskWaiver>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(body): Json<WaiverBody>,
) -> Result<(StatusCode, axum::Json<WaiverView>), ApiError> {
    newest(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(agent.to_string(), label.to_string(), "waive", &body));
    let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
    let check = CheckId(body.check.clone());
    if !app.harness.checks().any(|known| known.spec().id == body.check) {
        return Err(invalid(format!("`{}` is no check of this server; see the page of checks", body.check)));
    }
    let manifest: Digest = body.manifest.parse().map_err(|_| invalid("`manifest` is no digest".to_owned()))?;
    let profile: Option<Profile> =
        body.profile.map(|text| text.parse().map_err(|error| invalid(format!("`profile`: {error}")))).transpose()?;
    let expires_at: Timestamp =
        body.expires_at.parse().map_err(|_| invalid("`expires_at` is no RFC 3339 time".to_owned()))?;
    let new = NewWaiver {
        id: WaiverId(app.ids.next("waiver")),
        agent,
        label,
        check,
        profile,
        manifest,
        policy: app.policy().await?.digest(),
        reason: body.reason,
        by: caller.actor(),
        expires_at,
        idempotency,
    };
    let asked = app.store.request_waiver(new).await?;
    app.committed();
    Ok((StatusCode::CREATED, axum::Json(WaiverView::of(&asked, app.clock.now()))))
}
