//! Pages of long lists: `?after=<cursor>&limit=<n>`.

use std::{fmt, str::FromStr, sync::Arc};

use axum::{
    extract::{FromRequestParts, Query},
    http::request::Parts,
};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    error::{ApiError, ErrorCode},
};

/// What a caller asks for.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Page {
    /// `next` of the page before; absent for the first page.
    pub after: Option<String>,
    /// Most items of the page; 1 to 500.
    #[param(minimum = 1, maximum = 500)]
    pub limit: Option<u32>,
}

/// A page whose cursor names an item of the list.
#[derive(Debug)]
pub struct Cursor<T> {
    /// The last item of the page before.
    pub after: Option<T>,
    /// Most items.
    pub limit: u32,
}

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;

// === impl Cursor ===

impl<T> FromRequestParts<Arc<App>> for Cursor<T>
where
    T: FromStr<Err: fmt::Display> + Send,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &Arc<App>) -> Result<Self, ApiError> {
        let invalid = |message: String| ApiError::new(ErrorCode::InvalidRequest, message);
        let Query(page) = Query::<Page>::from_request_parts(parts, app)
            .await
            .map_err(|error| invalid(format!("query: {}", error.body_text())))?;
        let after = page.after.map(|text| text.parse().map_err(|error| invalid(format!("`after`: {error}"))));
        match page.limit.unwrap_or(DEFAULT_LIMIT) {
            limit @ 1..=MAX_LIMIT => Ok(Self { after: after.transpose()?, limit }),
            limit => Err(invalid(format!("`limit` is {limit}; give 1 to {MAX_LIMIT}"))),
        }
    }
}
