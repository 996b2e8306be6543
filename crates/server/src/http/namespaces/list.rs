//! `GET /namespaces`: the namespaces that the caller reaches.

use std::sync::Arc;

use axum::extract::State;
use ostiary_domain::Mode;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, Problem},
    http::rights::{May, Read},
};

/// One namespace.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct NamespaceView {
    /// Its name.
    pub namespace: String,
    /// The mode that holds now.
    pub mode: String,
    /// When a softer mode ends.
    pub until: Option<String>,
    /// Why it is softer, while it is.
    pub reason: Option<String>,
}

/// List the namespaces that the caller reaches.
#[utoipa::path(
    get, path = "/namespaces", tag = "namespaces",
    responses((status = 200, body = Vec<NamespaceView>), (status = "4XX", body = Problem))
)]
pub async fn list(State(app): State<Arc<App>>, caller: May<Read>) -> Result<axum::Json<Vec<NamespaceView>>, ApiError> {
    let now = app.clock.now();
    let found = app.store.namespaces().await?;
    let mine = found.into_iter().filter(|namespace| caller.reaches(&namespace.name));
    let view = mine.map(|namespace| NamespaceView {
        mode: namespace.enforcement.at(now).as_str().to_owned(),
        until: namespace.enforcement.until().filter(|until| now < *until).map(|until| until.to_string()),
        reason: namespace.reason.filter(|_| namespace.enforcement.at(now) != Mode::Enforce),
        namespace: namespace.name,
    });
    Ok(axum::Json(view.collect()))
}
