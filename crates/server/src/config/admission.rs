//! How routers are answered.

use std::time::Duration;

use serde::Deserialize;

use super::ConfigProblem;

/// Freshness of answers to routers.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdmissionConfig {
    /// How long after its last successful database read this server still answers from memory, in seconds.
    pub lease_seconds: u64,
    /// How often the revision counter is read when nothing wakes the index, in milliseconds.
    pub poll_millis: u64,
    /// How long a question waits for the revision it asks for, in milliseconds.
    pub wait_millis: u64,
    /// How often the index is written to disk when it changed, in seconds.
    pub snapshot_seconds: u64,
}

/// Longest lease: the time in which a quarantine may be unknown to a server that is cut off from its database.
const MAX_LEASE_SECONDS: u64 = 60;

// === impl AdmissionConfig ===

impl AdmissionConfig {
    /// The lease.
    #[must_use]
    pub const fn lease(&self) -> Duration {
        Duration::from_secs(self.lease_seconds)
    }

    /// The poll interval.
    #[must_use]
    pub const fn poll(&self) -> Duration {
        Duration::from_millis(self.poll_millis)
    }

    /// The wait of one question.
    #[must_use]
    pub const fn wait(&self) -> Duration {
        Duration::from_millis(self.wait_millis)
    }

    /// The interval of snapshots.
    #[must_use]
    pub const fn snapshot(&self) -> Duration {
        Duration::from_secs(self.snapshot_seconds)
    }

    pub(super) fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        if !(5..=MAX_LEASE_SECONDS).contains(&self.lease_seconds) {
            problems.push(ConfigProblem::of(
                format!("`admission.lease_seconds` is {}", self.lease_seconds),
                format!("give 5 to {MAX_LEASE_SECONDS}; a longer lease delays a quarantine, a shorter one denies on each hiccup"),
            ));
        }
        if self.poll_millis == 0 || self.poll() * 3 > self.lease() {
            problems.push(ConfigProblem::of(
                format!("`admission.poll_millis` is {}", self.poll_millis),
                "give at least 1 and at most a third of the lease, so that one lost poll does not end it",
            ));
        }
        if self.snapshot_seconds < 10 {
            problems.push(ConfigProblem::of(
                format!("`admission.snapshot_seconds` is {}", self.snapshot_seconds),
                "give at least 10; it only spares the next start some reading",
            ));
        }
        if self.wait() > Duration::from_secs(1) {
            problems.push(ConfigProblem::of(
                format!("`admission.wait_millis` is {}", self.wait_millis),
                "give at most 1000; routers wait for the answer",
            ));
        }
        problems
    }
}

impl Default for AdmissionConfig {
    /// 15 s bounds a quarantine; 250 ms finds what another replica wrote; 50 ms is what a dispatch can wait;
    /// what changed within five minutes is soon read again.
    fn default() -> Self {
        Self { lease_seconds: 15, poll_millis: 250, wait_millis: 50, snapshot_seconds: 300 }
    }
}
