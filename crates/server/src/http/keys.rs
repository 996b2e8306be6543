//! `/.well-known/ostiary-keys.json`: the public keys that evidence can be verified with. For everybody.

use std::sync::Arc;

use axum::{
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};

use crate::app::App;

/// Public keys as a JSON Web Key Set.
#[utoipa::path(
    get, path = "/.well-known/ostiary-keys.json", tag = "operations",
    responses((status = 200, body = Object, content_type = "application/jwk-set+json"))
)]
pub async fn keys(State(app): State<Arc<App>>) -> Response {
    ([(header::CONTENT_TYPE, "application/jwk-set+json")], axum::Json(&app.keys)).into_response()
}
