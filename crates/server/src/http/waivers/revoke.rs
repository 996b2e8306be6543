//! `POST …/waivers/{waiver}/revoke`: ends a waiver. What the registry vouched for because of it is called in at once.

use std::sync::Arc;

use axum::extract::State;
use ostiary_canon::Revision;
use ostiary_domain::NewRevocation;

use super::{WaiverView, of_label};
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        acts::Why,
        extract::{IdempotencyKey, Json, VersionPartPath},
        rights::{May, Operate},
    },
};

/// Revoke a waiver.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/waivers/{waiver}/revoke", tag = "waivers",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path), ("waiver" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = Why,
    responses((status = 200, body = WaiverView), (status = "4XX", body = Problem))
)]
pub async fn revoke(
    State(app): State<Arc<App>>,
    caller: May<Operate>,
    VersionPartPath { agent, label, part: waiver }: VersionPartPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<axum::Json<WaiverView>, ApiError> {
    let found = of_label(&app, (&agent, &label), &waiver).await?;
    let idempotency = key.bound(&caller, &(found.request.id.as_str(), "revoke", &why));
    let (by, reason) = (caller.actor(), why.reason);
    let revoke = NewRevocation { waiver: found.request.id, by, reason, idempotency };
    let revoked = app.store.revoke_waiver(revoke).await?;
    let view = WaiverView::of(&revoked, app.clock.now());
    app.committed_at(Revision(view.revision)).await;
    Ok(axum::Json(view))
}
