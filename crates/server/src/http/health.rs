//! `/healthz` and `/readyz`: whether the process lives, and whether it may be asked.

use std::sync::Arc;

use axum::{extract::State, http::StatusCode};

use crate::app::App;

/// Whether the process lives.
#[utoipa::path(get, path = "/healthz", tag = "operations", responses((status = 200, body = String)))]
pub async fn live() -> &'static str {
    "ok\n"
}

/// Whether routers are answered: the index is filled and its lease lives.
#[utoipa::path(
    get, path = "/readyz", tag = "operations",
    responses((status = 200, body = String), (status = 503, body = String))
)]
pub async fn ready(State(app): State<Arc<App>>) -> (StatusCode, &'static str) {
    if app.answers() {
        (StatusCode::OK, "ready\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the database was not read within the lease\n")
    }
}
