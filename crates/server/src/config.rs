//! Settings of one server: one YAML file, and a short list of overrides from the environment.
//!
//! Unknown keys are refused, and everything that is wrong is reported at once. Secrets are never written into the file:
//! tokens stand there as SHA-256, or as the path of a file. Start with [`Config`].

mod admission;
mod database;
mod listen;
mod read;
mod reports;
mod tokens;
mod worker;

use std::{
    collections::BTreeSet,
    fmt,
    path::{Path, PathBuf},
};

use serde::Deserialize;

pub use admission::AdmissionConfig;
pub use database::DatabaseConfig;
pub use listen::{GrpcConfig, HttpConfig};
pub use reports::ReportsConfig;
pub use tokens::{RolesOf, TokenConfig, TokenSecret};
pub use worker::WorkerConfig;

/// All settings of a server.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where the database, the recordings, the signing key and the first token are kept.
    pub data_dir: PathBuf,
    /// Where the registry is kept.
    pub database: DatabaseConfig,
    /// The HTTP API.
    pub http: HttpConfig,
    /// The gRPC API.
    pub grpc: GrpcConfig,
    /// How routers are answered.
    pub admission: AdmissionConfig,
    /// How long what routers told is kept.
    pub reports: ReportsConfig,
    /// The worker inside the server.
    pub worker: WorkerConfig,
    /// Who may call.
    pub tokens: Vec<TokenConfig>,
    /// Namespaces whose versions may be verified in environments of strictness `development`, where https, public
    /// addresses and media types are not demanded. Evidence from there admits nobody else.
    pub development_namespaces: BTreeSet<String>,
}

/// One thing that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// File, or environment variable.
    pub place: String,
    /// Line in the file, from 1.
    pub line: Option<u32>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Everything that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(pub Vec<ConfigProblem>);

/// The environment variables that override the file; no others are read, but the one that the file itself names.
pub const OVERRIDES: [&str; 3] = ["OSTIARY_DATA_DIR", "OSTIARY_HTTP_LISTEN", "OSTIARY_GRPC_LISTEN"];

// === impl Config ===

impl Config {
    /// Everything in one directory, on ports of the loopback address that the system chooses.
    #[must_use]
    pub fn embedded(data_dir: impl Into<PathBuf>) -> Self {
        Self {
            data_dir: data_dir.into(),
            database: DatabaseConfig::default(),
            http: HttpConfig::any_port(),
            grpc: GrpcConfig::any_port(),
            admission: AdmissionConfig::default(),
            reports: ReportsConfig::default(),
            worker: WorkerConfig::default(),
            tokens: Vec::new(),
            development_namespaces: BTreeSet::new(),
        }
    }

    /// Reads a configuration file by its path, as [`Config::read`] does.
    ///
    /// # Errors
    /// When the file cannot be read; else everything that is wrong with it, at once.
    pub fn load(path: &Path, environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let place = path.display().to_string();
        let unreadable = |error: std::io::Error| {
            let (place, message) = (place.clone(), format!("cannot be read: {error}"));
            ConfigError(vec![ConfigProblem { place, line: None, message, hint: String::new() }])
        };
        Self::read(&place, &std::fs::read(path).map_err(unreadable)?, environment)
    }

    /// Reads a configuration file; `environment` gives the values of the [`OVERRIDES`] that are set, and of the variable
    /// that the file names for the database's URL.
    ///
    /// # Errors
    /// Everything that is wrong with it, at once.
    pub fn read(file: &str, bytes: &[u8], environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, ConfigError> {
        let mut problems = Vec::new();
        let mut config = read::file(file, bytes, environment, &mut problems);
        read::overrides(&mut config, environment, &mut problems);
        problems.extend(config.validate(file));
        if problems.is_empty() { Ok(config) } else { Err(ConfigError(problems)) }
    }

    fn validate(&self, place: &str) -> Vec<ConfigProblem> {
        let mut problems = self.admission.validate();
        problems.extend(self.grpc.validate());
        problems.extend(self.reports.validate());
        problems.extend(self.worker.validate());
        problems.extend(tokens::validate(&self.tokens));
        for problem in &mut problems {
            place.clone_into(&mut problem.place);
        }
        problems
    }
}

impl Default for Config {
    /// What `ostiary serve` does without a file: everything under `.ostiary`, on the published ports.
    fn default() -> Self {
        Self { http: HttpConfig::default(), grpc: GrpcConfig::default(), ..Self::embedded(".ostiary") }
    }
}

// === impl ConfigProblem ===

impl ConfigProblem {
    fn of(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { place: String::new(), line: None, message: message.into(), hint: hint.into() }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.place)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if self.hint.is_empty() { Ok(()) } else { write!(f, " ({})", self.hint) }
    }
}

// === impl ConfigError ===

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.0.iter().enumerate() {
            if n > 0 {
                writeln!(f)?;
            }
            problem.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// A section that a file may leave out in whole or in part.
trait Section: Default + for<'de> Deserialize<'de> {}

impl<T: Default + for<'de> Deserialize<'de>> Section for T {}

#[cfg(test)]
mod tests;
