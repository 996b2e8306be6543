//! `POST …/versions/{version}/approvals`: consents to a step. Never to one's own submission.
//!
//! The caller names the manifest it looked at; consent to anything else does not count. Giving the same approval twice
//! does not count twice.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Digest;
use ostiary_domain::{ApprovalId, approval::NewApproval};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{ApprovalView, edge};
use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::{IdempotencyKey, Json, VersionPath},
        rights::{Approve, May},
        versions::newest,
    },
};

/// A consent.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ApprovalBody {
    /// `admission`, `canary`, `promotion` or `release`.
    pub edge: String,
    /// Digest of the manifest that was looked at.
    pub manifest: String,
    /// In words, not empty.
    pub reason: String,
    /// Until when it counts, 90 days at most; RFC 3339; left out, one day.
    pub expires_at: Option<String>,
}

/// A consent that nobody uses within a day was for another situation.
const DEFAULT_LIFE: SignedDuration = SignedDuration::from_hours(24);

/// Longest life: whoever consented a quarter ago looks again.
const LONGEST_LIFE: SignedDuration = SignedDuration::from_hours(90 * 24);

/// Consent to a step.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/approvals", tag = "approvals",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = ApprovalBody,
    responses((status = 201, body = ApprovalView), (status = "4XX", body = Problem))
)]
pub async fn give(
    State(app): State<Arc<App>>,
    caller: May<Approve>,
    VersionPath { agent, label }: VersionPath,
    key: IdempotencyKey,
    Json(body): Json<ApprovalBody>,
) -> Result<(StatusCode, axum::Json<ApprovalView>), ApiError> {
    let version = newest(&app, &agent, &label).await?;
    let idempotency = key.bound(&caller, &(version.key.to_string(), "approve", &body));
    let policy = app.policy().await?.digest();
    let invalid = |message: &str| ApiError::new(ErrorCode::InvalidRequest, message.to_owned());
    if body.reason.trim().is_empty() {
        return Err(invalid("a reason is required"));
    }
    let manifest: Digest = body.manifest.parse().map_err(|_| invalid("`manifest` is no digest"))?;
    let expires_at: Option<Timestamp> = body
        .expires_at
        .as_deref()
        .map(str::parse)
        .transpose()
        .map_err(|_| invalid("`expires_at` is no RFC 3339 time"))?;
    let now = app.clock.now();
    let expires_at = expiry(expires_at, now).map_err(invalid)?;
    let approval = NewApproval {
        id: ApprovalId(app.ids.next("approval")),
        version: version.key,
        edge: edge(&body.edge).ok_or_else(|| invalid("`edge` is one of admission, canary, promotion, release"))?,
        actor: caller.actor(),
        manifest,
        policy,
        reason: body.reason,
        expires_at,
        idempotency,
    };
    let given = app.store.approve(approval).await?;
    app.committed();
    Ok((StatusCode::CREATED, axum::Json(ApprovalView::of(&given))))
}

fn expiry(asked: Option<Timestamp>, now: Timestamp) -> Result<Timestamp, &'static str> {
    match asked {
        None => Ok(now.saturating_add(DEFAULT_LIFE).unwrap_or(now)),
        Some(at) if at <= now => Err("`expires_at` is past"),
        Some(at) if at.duration_since(now) > LONGEST_LIFE => Err("`expires_at` is more than 90 days away"),
        Some(at) => Ok(at),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    #[test]
    fn consent_lives_ninety_days_at_most() {
        let at = |text: &str| -> Timestamp { text.parse().expect("a time") };
        let now = at("2026-01-01T00:00:00Z");
        assert_eq!(super::expiry(None, now), Ok(at("2026-01-02T00:00:00Z")));
        assert_eq!(super::expiry(Some(at("2026-04-01T00:00:00Z")), now), Ok(at("2026-04-01T00:00:00Z")));
        assert!(super::expiry(Some(at("2026-04-01T00:00:01Z")), now).is_err());
        assert!(super::expiry(Some(now), now).is_err());
    }
}
