//! The `ostiary` binary, started as a user would.

use std::{
    path::PathBuf,
    process::{Command, Output},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// Where cargo put the binary that belongs to these tests.
///
/// # Errors
/// When it was not built.
pub fn path() -> Result<PathBuf> {
    let test = std::env::current_exe().context("failed to find the test's own binary")?;
    let folder = test.ancestors().nth(2).context("the test's binary lies in no target folder")?;
    let binary = folder.join("ostiary");
    ensure!(binary.is_file(), "{} is missing: run `cargo build --package ostiary-cli`", binary.display());
    Ok(binary)
}

/// Runs `ostiary` to its end.
///
/// # Errors
/// When it cannot be started.
pub fn run(arguments: &[&str]) -> Result<Output> {
    Command::new(path()?).args(arguments).output().context("failed to start ostiary")
}

/// Runs `ostiary … --format json`: exit code and the JSON it printed.
///
/// # Errors
/// When it cannot be started or prints no JSON.
pub fn json(arguments: &[&str]) -> Result<(i32, Value)> {
    let output = run(&[arguments, &["--format", "json"]].concat())?;
    let code = output.status.code().context("ostiary was ended by a signal")?;
    let value = serde_json::from_slice(&output.stdout).with_context(|| {
        let shown = String::from_utf8_lossy(&output.stderr);
        format!("ostiary {arguments:?} ended with {code} and printed no JSON; it said: {shown}")
    })?;
    Ok((code, value))
}
