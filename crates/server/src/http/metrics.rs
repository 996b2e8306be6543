//! `/metrics`: counters for Prometheus. Holds numbers only, no names of agents or callers.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use ostiary_admission::View as _;

use crate::{app::App, metrics::Gauges};

/// Counters in the Prometheus text format.
#[utoipa::path(
    get, path = "/metrics", tag = "operations",
    responses((status = 200, body = String, content_type = "text/plain"))
)]
pub async fn metrics(State(app): State<Arc<App>>) -> Response {
    let now = app.clock.now();
    let lease = app.index.freshness().lease_until.duration_since(now).as_secs_f64();
    let gauges = Gauges {
        revision: app.index.revision().0,
        versions: app.index.len(),
        lease_seconds: lease,
        read_age_seconds: app.config.admission.lease().as_secs_f64() - lease,
        snapshot_age_seconds: app.keeper.age(now).map(|age| age.as_secs_f64()),
        hub: app.hub.counters(),
        floor: app.hub.floor(),
    };
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], app.metrics.render(gauges)).into_response()
}
