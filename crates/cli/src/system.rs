//! The one place where the command line touches clock and environment variables.

use std::time::Instant;

use jiff::Timestamp;
use ostiary_record::{MonoNanos, Monotonic};
use ostiary_server::entropy::{Entropy as _, SystemEntropy};
use tokio::signal::unix::{SignalKind, signal};

use crate::error::CliError;

/// The clock of a run's tapes.
#[derive(Debug)]
pub struct Elapsed(Instant);

// === impl Elapsed ===

impl Elapsed {
    /// Starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the port's implementation for local commands")]
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Monotonic for Elapsed {
    fn now(&self) -> MonoNanos {
        MonoNanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Now.
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "the command line lives in real time; everything below takes it as an argument"
)]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The value of an environment variable that a file or an option names.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the reference is followed here and nowhere else")]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// Bytes nobody can guess.
#[must_use]
pub fn random() -> [u8; 32] {
    let mut bytes = [0; 32];
    SystemEntropy.fill(&mut bytes);
    bytes
}

/// A name nobody else has.
#[must_use]
#[expect(clippy::disallowed_methods, reason = "the one place where a command takes a random name")]
pub fn new_id(prefix: &str) -> String {
    format!("{prefix}-{}", ulid::Ulid::generate().to_string().to_lowercase())
}

/// Waits until somebody wants the process to end.
///
/// # Errors
/// When signals cannot be received.
pub async fn interrupted() -> Result<(), CliError> {
    let cannot = |e: std::io::Error| CliError::because("cannot wait for an interrupt", &e);
    let mut terminate = signal(SignalKind::terminate()).map_err(cannot)?;
    tokio::select! {
        ended = tokio::signal::ctrl_c() => ended.map_err(cannot),
        _ = terminate.recv() => Ok(()),
    }
}
