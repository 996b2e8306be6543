//! `POST /bundles`: takes a contract bundle as a tar archive, proves it well-formed and names it.
//!
//! The same bundle has the same digest however it was packed, so uploading it again changes nothing: the digest is the
//! idempotency key.

use std::sync::Arc;

use axum::{body::Body, extract::State, http::StatusCode};
use ostiary_contract::Bundle;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    app::App,
    error::{ApiError, ErrorCode, Problem},
    http::{
        extract::collect,
        problems,
        rights::{May, Publish},
    },
};

/// A bundle that is kept.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct BundleView {
    /// Its name.
    pub digest: String,
    /// Contract and its version.
    pub contract: String,
    /// Number of files.
    pub files: usize,
}

/// Upload a contract bundle.
#[utoipa::path(
    post, path = "/bundles", tag = "bundles",
    request_body(content = Vec<u8>, content_type = "application/x-tar", description = "The tar archive."),
    responses((status = 201, body = BundleView), (status = "4XX", body = Problem))
)]
pub async fn upload(
    State(app): State<Arc<App>>,
    _: May<Publish>,
    body: Body,
) -> Result<(StatusCode, axum::Json<BundleView>), ApiError> {
    let _place = app.uploads.try_acquire().map_err(|_| {
        ApiError::new(ErrorCode::Unavailable, "too many bundles are being uploaded at this moment; try again")
    })?;
    let archive = collect(body, app.config.http.bundle_bytes).await?;
    let read = tokio::task::spawn_blocking(move || Bundle::from_tar(&archive).map(|bundle| (bundle.to_tar(), bundle)));
    let (archive, bundle) = read
        .await
        .map_err(ApiError::internal)?
        .map_err(|found| problems::of(ErrorCode::InvalidBundle, "the bundle has problems", &found))?;
    // What is kept is packed by us: nothing of the sender's archive but the files themselves.
    app.store.put_bundle(&bundle.digest, archive.into()).await?;
    let contract = &bundle.contract;
    let view = BundleView {
        digest: bundle.digest.to_string(),
        contract: format!("{} {}", contract.contract_id.value, contract.contract_version.value),
        files: bundle.files.len(),
    };
    Ok((StatusCode::CREATED, axum::Json(view)))
}
