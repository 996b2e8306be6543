//! The worker inside the server, and the leases of all workers.

use std::{path::PathBuf, time::Duration};

use serde::Deserialize;

use super::ConfigProblem;

/// Workers and their leases.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WorkerConfig {
    /// How many runs this server drives itself at the same time; 0 leaves all to `ostiary worker`.
    pub embedded: u32,
    /// How long a run belongs to a worker that says nothing, in seconds.
    pub lease_seconds: u64,
    /// How often a run that could not be made is handed out before it is given up.
    pub tries: u32,
    /// Pause before the second try, in milliseconds; doubles with each further one.
    pub retry_millis: u64,
    /// Where registered environments look up the files that they name (`trust_roots`); without it they may name none.
    pub environment_files: Option<PathBuf>,
}

// === impl WorkerConfig ===

impl WorkerConfig {
    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds)
    }

    /// The pause after `tries` tries.
    #[must_use]
    pub fn pause(&self, tries: u32) -> Duration {
        Duration::from_millis(self.retry_millis).saturating_mul(2_u32.saturating_pow(tries.saturating_sub(1).min(8)))
    }

    pub(super) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        if self.embedded > 32 {
            problems.push(ConfigProblem::of(
                format!("`worker.embedded` is {}", self.embedded),
                "give at most 32; start `ostiary worker` on other machines for more",
            ));
        }
        if !(10..=3600).contains(&self.lease_seconds) {
            problems.push(ConfigProblem::of(
                format!("`worker.lease_seconds` is {}", self.lease_seconds),
                "give 10 to 3600; workers extend it every 5 s",
            ));
        }
        if self.tries == 0 {
            problems.push(ConfigProblem::of("`worker.tries` is 0", "give at least 1"));
        }
        problems
    }
}

impl Default for WorkerConfig {
    fn default() -> Self {
        Self { embedded: 1, lease_seconds: 30, tries: 5, retry_millis: 500, environment_files: None }
    }
}
