//! What local commands read: bundles as directories or archives, documents, recordings.

use std::{collections::BTreeSet, path::Path};

use ostiary_contract::{Bundle, Environment, Files, Problems};

use crate::{
    api::read,
    console::{counted, visible},
    error::CliError,
};

/// The files of a bundle: a directory, or a `.tar` of one.
///
/// # Errors
/// When the archive cannot be read; what is wrong with the files is the inner result.
pub fn read_bundle(path: &Path) -> Result<Result<Files, Problems>, CliError> {
    match path.is_file() {
        true => Ok(Bundle::unpack(&read(path)?)),
        false => Ok(ostiary_worker::bundle_dir::read(path)),
    }
}

/// The files of a bundle.
///
/// # Errors
/// When they cannot be read, are too large, or leave their root.
pub fn bundle_files(path: &Path) -> Result<Files, CliError> {
    read_bundle(path)?.map_err(|problems| bad_bundle(path, &problems))
}

/// A bundle that is well-formed.
///
/// # Errors
/// Everything that is wrong with it.
pub fn bundle(path: &Path) -> Result<Bundle, CliError> {
    Bundle::load(&bundle_files(path)?).map_err(|problems| bad_bundle(path, &problems))
}

/// A verification environment.
///
/// # Errors
/// Everything that is wrong with it.
pub fn environment(path: &Path) -> Result<Environment, CliError> {
    Environment::parse(&path.display().to_string(), &read(path)?)
        .map_err(|problems| CliError::could_not_run(problems.to_string()))
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
    let what = format!(
        "`{}` is no bundle ({} in {})",
        path.display(),
        counted(problems.0.len(), "problem"),
        counted(files.len(), "file")
    );
    let listed: Vec<String> = problems.0.iter().map(|problem| visible(&problem.to_string())).collect();
    CliError::could_not_run(format!("{what}\n{}", listed.join("\n")))
        .hint("correct them all and run `ostiary bundle check` again")
}
