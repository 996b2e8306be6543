//! `POST …/waivers/{waiver}/grant`: the second person's word, signed. Never by who asked, nor by who submitted.

use std::sync::Arc;

use axum::extract::State;
use jiff::Timestamp;
use ostiary_canon::intoto::{self, Consent, PAYLOAD_TYPE, Statement, Subject};
use ostiary_domain::{Actor, Waiver, waiver::NewGrant};

use super::{WaiverView, of_label};
use crate::{
    app::App,
    error::{ApiError, Problem},
    http::{
        acts::Why,
        extract::{IdempotencyKey, Json, VersionPartPath},
        rights::{Approve, May},
    },
};

/// Grant a waiver.
#[utoipa::path(
    post, path = "/agents/{namespace}/{agent}/versions/{version}/waivers/{waiver}/grant", tag = "waivers",
    params(
        ("namespace" = String, Path), ("agent" = String, Path), ("version" = String, Path), ("waiver" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "Repeats with the same key get the same answer.")
    ),
    request_body = Why,
    responses((status = 200, body = WaiverView), (status = "4XX", body = Problem))
)]
pub async fn grant(
    State(app): State<Arc<App>>,
    caller: May<Approve>,
    VersionPartPath { agent, label, part: waiver }: VersionPartPath,
    key: IdempotencyKey,
    Json(why): Json<Why>,
) -> Result<axum::Json<WaiverView>, ApiError> {
    let asked = of_label(&app, (&agent, &label), &waiver).await?;
    let (by, now) = (caller.actor(), app.store.now().await?);
    let idempotency = key.bound(&caller, &(asked.request.id.as_str(), "grant", &why));
    // Refused before anything is signed; the store refuses once more, on what it reads then. What was granted already
    // may have been granted by this very request, which the store knows by its key.
    if idempotency.is_none() || asked.granted.is_none() {
        let tries = app.store.tries(&agent, &label).await?;
        asked
            .grantable(&by, &why.reason, &tries, now)
            .map_err(|refused| ostiary_domain::StoreError::Refused(ostiary_domain::Refusal::Waiver(refused)))?;
    }
    let payload = statement(&asked, &by, &why.reason, now)?;
    let envelope = app.signer.sign(PAYLOAD_TYPE, &payload).map_err(ApiError::internal)?;
    let envelope = String::from_utf8(envelope.to_vec()).map_err(ApiError::internal)?;
    let granted = NewGrant { waiver: asked.request.id, by, reason: why.reason, envelope, idempotency };
    let granted = app.store.grant_waiver(granted).await?;
    app.committed();
    Ok(axum::Json(WaiverView::of(&granted, now)))
}

/// The statement that both people's word is put into.
fn statement(asked: &Waiver, by: &Actor, reason: &str, now: Timestamp) -> Result<Vec<u8>, ApiError> {
    let about = &asked.request;
    let consent = |actor: &Actor, reason: &str| Consent { actor: actor.to_string(), reason: reason.to_owned() };
    let predicate = intoto::Waiver {
        id: about.id.to_string(),
        check: about.check.to_string(),
        profile: about.profile.clone(),
        policy: about.policy,
        requested_by: consent(&about.by, &about.reason),
        granted_by: consent(by, reason),
        not_before: now,
        expires_at: about.expires_at,
    };
    let subject = Subject::new(&about.agent, &about.label, about.manifest);
    Statement::new(subject, predicate).to_bytes().map_err(ApiError::internal)
}
