//! One run against one candidate, from here: `environment.yaml` becomes drivers and a laboratory, the scenarios are
//! driven, and the recordings are handed back.
//!
//! Nothing of an environment is ignored: what cannot be honoured is an [`EnvironmentError`] before the first call.
//! Start with [`LocalRun`]; [`JobRunner`] is the same for runs of the Jobs port.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use jiff::Timestamp;
use ostiary_canon::jwk::KeySetError;
use ostiary_contract::{Bundle, Environment, Problems};
use ostiary_drivers::SettingsError;
use ostiary_record::{Gate, Report, Run, RunEvent, RunSink};
use ostiary_verify::{Harness, JudgeOptions, Request, drive, judge};

pub use identity::{DEFAULT_AUDIENCE, DEFAULT_ISSUER, signer};
pub use job::JobRunner;
pub use servers::started;
pub use surroundings::Surroundings;

mod callbacks;
mod dependency;
mod detour;
mod identity;
mod job;
mod observers;
mod servers;
mod states;
mod surroundings;

/// An environment with the directory that its relative paths start from.
#[derive(Clone, Debug)]
pub struct Place {
    /// The environment.
    pub environment: Environment,
    /// Where `trust_roots` and `key_file` are looked up; `None` = the environment may name no files.
    pub root: Option<PathBuf>,
}

/// One verification from here, without a server.
pub struct LocalRun<'a> {
    /// The contract.
    pub bundle: &'a Bundle,
    /// Where and how.
    pub place: &'a Place,
    /// How far; `None` = static to security.
    pub gate: Option<Gate>,
    /// Only these checks, scenarios or cases; empty = all.
    pub only: Vec<String>,
    /// Seed of generated values.
    pub seed: u64,
    /// Unique name of this run; part of every fixture value.
    pub run_id: String,
    /// When the run begins.
    pub started_at: Timestamp,
}

/// An environment that cannot be honoured here.
#[derive(Debug, thiserror::Error)]
pub enum EnvironmentError {
    /// The file cannot be read.
    #[error("failed to read `{path}`")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The file is wrong.
    #[error("environment is not usable:\n{0}")]
    Problems(Problems),
    /// Addresses or trust roots are wrong.
    #[error("environment's addresses or trust roots are not usable")]
    Settings(#[source] SettingsError),
    /// A variable that the environment names is not set.
    #[error("variable `{name}`, named by {by}, is not set; set it where the run is started")]
    Variable {
        /// Which variable.
        name: String,
        /// Which setting names it.
        by: String,
    },
    /// A signing seed is no seed.
    #[error("signing seed named by {by} must be 32 bytes in hexadecimal")]
    Seed {
        /// Which setting names it.
        by: String,
    },
    /// The laboratory cannot listen.
    #[error("failed to listen on `{address}`, named by {by}")]
    Listen {
        /// Where.
        address: String,
        /// Which setting names it.
        by: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A file of keys is no key set.
    #[error("{by} names `{file}`, which is no JWK set")]
    Keys {
        /// Which setting names it.
        by: &'static str,
        /// Which file.
        file: String,
        /// Why.
        #[source]
        source: KeySetError,
    },
    /// A file is named where none may be.
    #[error("{by} names a file, and an environment that is not read from a file may name none")]
    NoFiles {
        /// Which setting names it.
        by: String,
    },
    /// A setting that this build has no code for.
    #[error("{what} cannot be honoured by this build; remove it")]
    Unsupported {
        /// Which setting.
        what: String,
    },
}

// === impl Place ===

impl Place {
    /// Reads an environment file.
    ///
    /// # Errors
    /// When it cannot be read, or is wrong in any way.
    pub fn read(path: &Path) -> Result<Self, EnvironmentError> {
        let failed = |source| EnvironmentError::Read { path: path.to_owned(), source };
        let bytes = regular(path).map_err(failed)?;
        let environment =
            Environment::parse(&path.display().to_string(), &bytes).map_err(EnvironmentError::Problems)?;
        let root = path.parent().map(|p| if p.as_os_str().is_empty() { Path::new(".") } else { p });
        Ok(Self { environment, root: root.map(Path::to_owned) })
    }

    /// An environment from its text, that may name no files.
    ///
    /// # Errors
    /// When it is wrong in any way.
    pub fn of_text(name: &str, bytes: &[u8]) -> Result<Self, EnvironmentError> {
        let environment = Environment::parse(name, bytes).map_err(EnvironmentError::Problems)?;
        Ok(Self { environment, root: None })
    }
}

// === impl LocalRun ===

impl LocalRun<'_> {
    /// Drives and judges. Every verdict goes to `sink` as it is given, and the report as the last event.
    ///
    /// # Errors
    /// When the environment cannot be honoured; what the candidate does is never an error.
    pub async fn verify(&self, sink: &dyn RunSink) -> Result<(Run, Report), EnvironmentError> {
        let harness = Harness::standard();
        let run = self.drive(&harness, sink).await?;
        let card_keys = surroundings::card_keys(self.place)?;
        let options = JudgeOptions { only: self.only.clone(), card_keys, ..JudgeOptions::default() };
        let report = judge(&harness, &run, self.bundle, &options);
        for line in &report.findings {
            sink.emit(&RunEvent::Judged { finding: Box::new(line.finding.clone()) });
        }
        sink.emit(&RunEvent::Finished { report: Box::new(report.clone()) });
        Ok((run, report))
    }

    /// Drives alone: what a worker does, whose server judges.
    ///
    /// # Errors
    /// When the environment cannot be honoured.
    pub async fn drive(&self, harness: &Harness, sink: &dyn RunSink) -> Result<Run, EnvironmentError> {
        let surroundings = Surroundings::of(self.place).await?;
        let request = Request {
            bundle: self.bundle,
            card_url: surroundings.card_url.as_deref(),
            mcp: surroundings.mcp,
            environment: surroundings.facts,
            gate: self.gate,
            only: self.only.clone(),
            seed: self.seed,
            run_id: self.run_id.clone(),
            started_at: self.started_at,
            allowance: surroundings.allowance,
        };
        let run = drive(harness, &request, &surroundings.ports, sink).await;
        // The addresses are free again when the run is over.
        if let Some(provider) = surroundings.provider {
            provider.shutdown().await;
        }
        for proxy in surroundings.dependencies {
            proxy.shutdown().await;
        }
        // the ports hold it, too
        drop(surroundings.ports);
        if let Some(receiver) = surroundings.receiver.and_then(Arc::into_inner) {
            receiver.shutdown().await;
        }
        Ok(run)
    }
}

/// Most bytes of an environment file.
const ENVIRONMENT_BYTES: u64 = 4 << 20;

/// Reads a regular file: a pipe would be waited for, and a device never ends.
fn regular(path: &Path) -> std::io::Result<Vec<u8>> {
    use std::io::Read as _;
    let refused = |why| std::io::Error::new(std::io::ErrorKind::InvalidInput, why);
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path)?.take(ENVIRONMENT_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > ENVIRONMENT_BYTES { Err(refused("it is too large")) } else { Ok(bytes) }
}
