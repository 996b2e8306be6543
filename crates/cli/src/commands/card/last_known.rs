//! The card to compare with: a card, or what `card snapshot` wrote, with the card beside it.

use std::path::Path;

use ostiary_protocol::a2a::digest::raw_digest;
use serde_json::Value;

use super::{beside, parse};
use crate::{api::read, error::CliError};

/// The last known card that `path` leads to.
///
/// # Errors
/// When it cannot be read, is no JSON, or is not the card that its snapshot was made of.
pub(super) fn card(path: &Path) -> Result<Value, CliError> {
    let document = parse(&read(path)?)?;
    let Some(expected) = document.get("raw_digest").and_then(Value::as_str) else { return Ok(document) };
    let path = beside(path);
    let bytes = read(&path)?;
    let found = raw_digest(&bytes).to_string();
    if found != expected {
        let what = format!("`{}` is not the card of its snapshot: {found} instead of {expected}", path.display());
        return Err(CliError::could_not_run(what).hint("take a new snapshot, or give the card itself"));
    }
    parse(&bytes)
}
