//! The Jobs port: how a worker gets a run to drive and hands in what it saw.
//!
//! One trait, two implementations: the server's own (in process, embedded mode) and [`RemoteJobs`] over gRPC. The
//! worker behind it is the same either way; it holds no signing key and has no database. What a run's recordings mean
//! is the server's business. Start with [`Jobs`], then [`Worker`].

mod remote;
mod worker;

use std::{fmt, time::Duration};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{AgentId, Digest, VersionLabel};
use ostiary_record::{Gate, ports::BoxFuture};

pub use remote::{ConnectError, Remote, RemoteJobs};
pub use worker::{Pace, Ran, RunFailure, Runner, Worker};

/// Most bytes of one bundle or one run on the Jobs port; far above what an honest run makes.
pub const MAX_RUN_BYTES: usize = 64 << 20;

/// One run to be driven, and the right to write about it.
#[derive(Clone, Debug)]
pub struct Job {
    /// The right to write about the run.
    pub ticket: Ticket,
    /// When the lease lapses unless it is extended, by the control plane's clock.
    pub lease_until: Timestamp,
    /// Whose version it is.
    pub agent: AgentId,
    /// Which version.
    pub version: VersionLabel,
    /// Which attempt of that version, from 1.
    pub attempt: u32,
    /// The gate that the run is for.
    pub gate: Gate,
    /// The contract bundle as a tar archive.
    pub bundle: Bytes,
    /// What the bundle's digest must be.
    pub bundle_digest: Digest,
    /// Text of the registered `environment.yaml`.
    pub environment: Bytes,
}

/// Proves to the server that it is still the same worker that claimed the run.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Name of the run.
    pub job_id: String,
    /// Secret of this lease.
    pub token: String,
    /// Counts hand-outs of the run; an older one never wins over a newer one.
    pub epoch: u64,
}

/// Answer to a heartbeat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beat {
    /// Go on; the lease lapses at this time now.
    Extended(Timestamp),
    /// Nobody wants the run any more: stop it.
    Cancelled,
}

/// What to do with a run that is given back without recordings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disposition {
    /// Something passing: hand it out again after a pause, a bounded number of times.
    Retry,
    /// It cannot be run as it is: record that and stop.
    Fail,
}

/// Why a call on the port gave no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JobsError {
    /// Another worker has the run, or nobody any more: everything done under this lease is void.
    #[error("lease on `{0}` is lost")]
    LeaseLost(String),
    /// The server does not accept what was sent.
    #[error("server refused: {0}")]
    Refused(String),
    /// The server cannot be reached or cannot answer now; worth trying again.
    #[error("server is not available: {0}")]
    Unavailable(String),
}

/// Hands out runs under leases and takes recordings in.
pub trait Jobs: Send + Sync {
    /// The next run; waits up to `wait` for one to appear. The server caps `wait`.
    ///
    /// # Errors
    /// When the server cannot answer or refuses this worker.
    fn claim<'a>(&'a self, worker: &'a str, wait: Duration) -> BoxFuture<'a, Result<Option<Job>, JobsError>>;

    /// Says that the worker is alive, and extends the lease.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the run is somebody else's now.
    fn heartbeat<'a>(&'a self, ticket: &'a Ticket) -> BoxFuture<'a, Result<Beat, JobsError>>;

    /// Hands in the JSON of a [`ostiary_record::Run`]; the job is over once this returns its digest.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the run is somebody else's now.
    fn upload<'a>(&'a self, ticket: &'a Ticket, run: Bytes) -> BoxFuture<'a, Result<Digest, JobsError>>;

    /// Gives the run back without recordings; `why` is for people and holds no secrets.
    ///
    /// # Errors
    /// [`JobsError::LeaseLost`] when the run is somebody else's now.
    fn fail<'a>(
        &'a self,
        ticket: &'a Ticket,
        disposition: Disposition,
        why: &'a str,
    ) -> BoxFuture<'a, Result<(), JobsError>>;
}

// === impl Ticket ===

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("job_id", &self.job_id).field("epoch", &self.epoch).finish_non_exhaustive()
    }
}

// === impl JobsError ===

impl JobsError {
    /// Whether the same call may succeed later.
    #[must_use]
    pub const fn retryable(&self) -> bool {
        match self {
            Self::Unavailable(_) => true,
            Self::LeaseLost(_) | Self::Refused(_) => false,
        }
    }
}
