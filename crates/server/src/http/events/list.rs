//! `GET /events?after=`: what happened in the caller's namespaces, in order, page by page. A cursor never skips and never
//! goes stale, so whoever asks again later misses nothing.

use std::sync::Arc;

use axum::extract::State;
use ostiary_canon::Revision;
use ostiary_domain::Happening;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    courier::EventView,
    error::{ApiError, ErrorCode, Problem},
    http::{
        page::{Cursor, Page},
        rights::{May, ReadEvidence},
    },
};

/// A page of events.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    /// In order; a page can be empty although there is more.
    pub events: Vec<EventView>,
    /// Send as `after`, now for what follows, or later for what happens next.
    pub next: String,
    /// Whether there is more already.
    pub more: bool,
}

/// List what happened.
#[utoipa::path(
    get, path = "/events", tag = "events", params(Page),
    responses((status = 200, body = EventPage), (status = "4XX", body = Problem))
)]
pub async fn list(
    State(app): State<Arc<App>>,
    caller: May<ReadEvidence>,
    Cursor { after, limit }: Cursor<u64>,
) -> Result<axum::Json<EventPage>, ApiError> {
    let after = Revision(after.unwrap_or(0));
    let entries = app.store.audit(after, limit).await?;
    if entries.is_empty() {
        known(&app, after).await?;
    }
    let (next, more) = (entries.last().map_or(after, |last| last.revision), entries.len() >= limit as usize);
    let mut events = Vec::new();
    for entry in &entries {
        let happening = Happening::of(entry.record().map_err(ApiError::internal)?);
        events.extend(happening.filter(|h| caller.reaches(&h.namespace)).map(|h| EventView::of(&h)));
    }
    Ok(axum::Json(EventPage { events, next: next.to_string(), more }))
}

/// Refuses a cursor that nobody here gave out: whoever waits behind it would miss what happens until it is reached.
async fn known(app: &App, after: Revision) -> Result<(), ApiError> {
    let head = app.store.revision().await?;
    if after <= head {
        return Ok(());
    }
    let what = format!(
        "`after` is {after}, and the newest revision is {head}: the cursor is of another registry, or of one that was \
         restored from a backup; begin again at {head}, or at 0 for everything"
    );
    Err(ApiError::new(ErrorCode::InvalidRequest, what))
}
