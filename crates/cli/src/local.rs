//! What local commands read: bundles as directories or archives, documents, recordings.

use std::{collections::BTreeSet, path::Path};

use ostiary_contract::{Bundle, Files, Problems};
use serde_json::Value;

use crate::{api::read, error::CliError};

/// The files of a bundle: a directory, or a `.tar` of one.
///
/// # Errors
/// When it cannot be read, is too large, or leaves its root.
pub fn bundle_files(path: &Path) -> Result<Files, CliError> {
    let files = if path.is_dir() { ostiary_worker::bundle_dir::read(path) } else { Bundle::unpack(&read(path)?) };
    files.map_err(|problems| bad_bundle(path, &problems))
}

/// A bundle that is well-formed.
///
/// # Errors
/// Everything that is wrong with it.
pub fn bundle(path: &Path) -> Result<Bundle, CliError> {
    Bundle::load(&bundle_files(path)?).map_err(|problems| bad_bundle(path, &problems))
}

/// A JSON document, strictly read.
///
/// # Errors
/// When it cannot be read, or is no bounded JSON.
pub fn document(path: &Path) -> Result<Value, CliError> {
    use ostiary_canon::json::{Limits, parse_strict};
    parse_strict(&read(path)?, Limits::DOCUMENT)
        .map_err(|e| CliError::because(format!("`{}` is no acceptable JSON", path.display()), &e))
}

/// Writes a file.
///
/// # Errors
/// When it cannot be written.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), CliError> {
    std::fs::write(path, bytes).map_err(|e| CliError::could_not_run(format!("cannot write `{}`: {e}", path.display())))
}

fn bad_bundle(path: &Path, problems: &Problems) -> CliError {
    let files: BTreeSet<&str> = problems.0.iter().map(|problem| problem.file.as_str()).collect();
    let what = format!("`{}` is no bundle ({} problems in {} files)", path.display(), problems.0.len(), files.len());
    CliError::could_not_run(format!("{what}\n{problems}")).hint("correct them all and run `ostiary bundle check` again")
}
