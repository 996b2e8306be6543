//! Checking configuration files.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use ostiary_server::config::{Config as Settings, ConfigError};
use serde_json::{Value, json};

use crate::{api::read, console::Console, error::CliError, exit::Exit, system};

/// Work on configuration files of the control plane
#[derive(Debug, Subcommand)]
pub(crate) enum Config {
    /// Says everything that is wrong with a configuration file; ends with 4 when `serve` would not start on it
    Check {
        /// The file
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
}

// === impl Config ===

impl Config {
    pub(crate) fn run(self, console: Console) -> Result<Exit, CliError> {
        let Self::Check { config } = self;
        let problems = parse(&config)?.err().map_or_else(Vec::new, |error| error.0);
        let listed: Vec<Value> = problems
            .iter()
            .map(|p| json!({"file": p.place, "line": p.line, "message": p.message, "hint": p.hint}))
            .collect();
        console.result(&json!({"ok": problems.is_empty(), "problems": listed}), |console, _| {
            for problem in &problems {
                console.line(problem.to_string());
            }
            if problems.is_empty() {
                console.line(format!("`{}` is a good configuration", config.display()));
            }
        });
        Ok(if problems.is_empty() { Exit::Done } else { Exit::CouldNotRun })
    }
}

/// The settings of a file, or of nobody.
///
/// # Errors
/// When the file cannot be read or has problems.
pub(crate) fn load(path: Option<&Path>) -> Result<Settings, CliError> {
    let settings = match path {
        Some(path) => parse(path)?,
        None => Settings::read("built-in defaults", b"{}", &system::variable),
    };
    settings.map_err(|error| {
        CliError::could_not_run(error.to_string()).hint("correct it, and try it with `ostiary config check`")
    })
}

fn parse(path: &Path) -> Result<Result<Settings, ConfigError>, CliError> {
    Ok(Settings::read(&path.display().to_string(), &read(path)?, &system::variable))
}
