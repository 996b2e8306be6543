//! What routers told of a version: what differs from what was admitted, and how dispatches went.

pub mod outcomes;
pub mod reports;

use serde::Deserialize;
use utoipa::IntoParams;

/// From when on.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Since {
    /// RFC 3339; rounded down to ten minutes. Left out, a day ago.
    pub since: Option<String>,
}
