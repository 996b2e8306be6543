//! From the start of `ostiary serve` until it is ready, on SQLite.

use std::path::Path;

use anyhow::Result;

use crate::{cli::Plan, report::Report};

/// Runs the benchmark.
pub async fn run(_ostiary: &Path, _plan: &Plan) -> Result<Report> {
    anyhow::bail!("the program cannot serve yet")
}
