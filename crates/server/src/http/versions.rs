//! Versions: submitted, looked at, explained, taken back.

pub mod bundle;
pub mod explain;
pub mod list;
pub mod manifest;
pub mod status;
pub mod submit;

use ostiary_canon::{AgentId, VersionLabel};
use ostiary_domain::{Enforcement, Version, version::speaking};

use crate::{app::App, error::ApiError};

/// The newest try of a label: what people mean when they name a version.
///
/// # Errors
/// `NOT_FOUND` when the label was never submitted.
pub async fn newest(app: &App, agent: &AgentId, label: &VersionLabel) -> Result<Version, ApiError> {
    let tries = app.store.tries(agent, label).await?;
    tries.into_iter().next_back().ok_or_else(|| ApiError::not_found(&format!("version `{agent}@{label}`")))
}

/// The try of a label that routers are told of: what takes a version off the road must hit.
///
/// # Errors
/// `NOT_FOUND` when the label was never submitted.
pub async fn dispatched(app: &App, agent: &AgentId, label: &VersionLabel) -> Result<Version, ApiError> {
    let tries = app.store.tries(agent, label).await?;
    speaking(&tries).cloned().ok_or_else(|| ApiError::not_found(&format!("version `{agent}@{label}`")))
}

/// How hard a namespace is enforced now, and when a softer mode ends.
///
/// # Errors
/// When the store does not answer.
pub async fn enforced(app: &App, namespace: &str) -> Result<(String, Option<String>), ApiError> {
    let now = app.clock.now();
    let found = app.store.namespace(namespace).await?;
    let enforcement = found.map_or(Enforcement::Enforce, |namespace| namespace.enforcement);
    let until = enforcement.until().filter(|until| now < *until).map(|until| until.to_string());
    Ok((enforcement.at(now).as_str().to_owned(), until))
}
