//! Jobs of the queue: one run of one gate for one try, held under a lease.

use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};
use ostiary_record::Gate;
use serde::{Deserialize, Serialize};

use crate::names::{EnvironmentName, JobId, VersionRef};

/// A job, as the queue knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    /// Its id.
    pub id: JobId,
    /// What it is about.
    pub version: VersionRef,
    /// The gate to run.
    pub gate: Gate,
    /// The bundle to run.
    pub bundle: Digest,
    /// Where to run it.
    pub environment: EnvironmentName,
    /// Where it stands.
    pub state: JobState,
    /// How often it was claimed.
    pub tries: u32,
    /// Not to be claimed before this.
    pub not_before: Timestamp,
    /// The store's revision when it was last claimed: what makes a run *younger* than a quarantine.
    pub started: Option<Revision>,
    /// What the last try said when it failed.
    pub last_error: Option<String>,
}

/// Where a job stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JobState {
    /// Waits.
    Queued,
    /// Somebody works on it, or did until the lease ran out.
    Leased,
    /// Its result is committed.
    Done,
    /// It was given up; a new request makes a new job.
    Failed,
}

/// The right to work on a job and to commit its result, for a while.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// The job.
    pub job: JobId,
    /// A secret that only the holder knows; the store keeps its digest.
    pub token: String,
    /// Counts the claims: a result under an older epoch commits no transition.
    pub epoch: u64,
    /// The end, exclusive.
    pub until: Timestamp,
}

/// A job that is to be queued.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewJob {
    /// Its id, from the ids port.
    pub id: JobId,
    /// What it is about.
    pub version: VersionRef,
    /// The gate to run.
    pub gate: Gate,
}

// === impl JobState ===

impl JobState {
    /// The state's name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Leased => "leased",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}
