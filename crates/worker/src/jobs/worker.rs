//! The worker's loop: claim, run, upload or give back; all under a lease that a heartbeat keeps alive.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use ostiary_record::{Run, ports::BoxFuture};
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use super::{Beat, Disposition, Job, Jobs, JobsError};

/// Drives one claimed run; the real one is `worker::local`, tests bring their own.
pub trait Runner: Send + Sync {
    /// Drives the run until it is done or `cancel` fires.
    ///
    /// # Errors
    /// When no recordings could be made at all; a candidate that misbehaves is a recording, not an error.
    fn run<'a>(&'a self, job: &'a Job, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Run, RunFailure>>;
}

/// Why a run made no recordings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct RunFailure {
    /// Whether another try can help.
    pub disposition: Disposition,
    /// In words, for people.
    pub why: String,
}

/// How often the worker does what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// Longest wait of one claim.
    pub claim_wait: Duration,
    /// Time between two heartbeats; well below a third of the lease.
    pub heartbeat: Duration,
    /// First pause after the server could not be reached; doubles up to [`Pace::MAX_PAUSE`].
    pub first_pause: Duration,
}

/// What became of one claimed run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ran {
    /// Its recordings are with the server.
    Uploaded,
    /// Given back.
    GivenBack(Disposition),
    /// The lease was lost or the run cancelled; nothing was written.
    Abandoned,
}

/// One worker; runs one job at a time.
pub struct Worker {
    name: String,
    jobs: Arc<dyn Jobs>,
    runner: Arc<dyn Runner>,
    pace: Pace,
}

/// How often one call is repeated before a run is abandoned to its lease.
const TRIES: u32 = 5;

// === impl Pace ===

impl Pace {
    /// Longest pause between two tries.
    pub const MAX_PAUSE: Duration = Duration::from_secs(15);

    fn pause(&self, tries: u32) -> Duration {
        self.first_pause.saturating_mul(2_u32.saturating_pow(tries)).min(Self::MAX_PAUSE)
    }
}

impl Default for Pace {
    fn default() -> Self {
        let second = Duration::from_secs(1);
        Self { claim_wait: second * 20, heartbeat: second * 5, first_pause: second / 5 }
    }
}

// === impl Worker ===

impl Worker {
    /// A worker that claims from `jobs` and drives with `runner`.
    #[must_use]
    pub fn new(name: impl Into<String>, jobs: Arc<dyn Jobs>, runner: Arc<dyn Runner>, pace: Pace) -> Self {
        Self { name: name.into(), jobs, runner, pace }
    }

    /// Works until `stop` fires; a run under way is cancelled and given back for another worker.
    ///
    /// # Errors
    /// When the server refuses this worker for good.
    pub async fn work(&self, stop: &CancellationToken) -> Result<(), JobsError> {
        let mut failures = 0;
        while !stop.is_cancelled() {
            let claimed = tokio::select! {
                () = stop.cancelled() => break,
                claimed = self.jobs.claim(&self.name, self.pace.claim_wait) => claimed,
            };
            match claimed {
                Ok(Some(job)) => {
                    failures = 0;
                    self.one(job, stop).await;
                }
                Ok(None) => failures = 0,
                Err(error) if error.retryable() => {
                    tracing::warn!(%error, "no work could be claimed");
                    pause(self.pace.pause(failures), stop).await;
                    failures = failures.saturating_add(1);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Claims and runs what is waiting now, and returns what became of it; `None` when nothing was.
    ///
    /// # Errors
    /// When nothing could be claimed.
    pub async fn once(&self, stop: &CancellationToken) -> Result<Option<Ran>, JobsError> {
        match self.jobs.claim(&self.name, Duration::ZERO).await? {
            Some(job) => Ok(Some(self.one(job, stop).await)),
            None => Ok(None),
        }
    }

    async fn one(&self, job: Job, stop: &CancellationToken) -> Ran {
        let span = tracing::info_span!(
            "job.verify", job.id = %job.ticket.job_id, job.epoch = job.ticket.epoch, agent = %job.agent,
            version = %job.version, gate = %job.gate
        );
        let ran = self.leased(&job, stop).instrument(span.clone()).await;
        span.in_scope(|| tracing::info!(?ran, "run is over"));
        ran
    }

    async fn leased(&self, job: &Job, stop: &CancellationToken) -> Ran {
        let cancel = stop.child_token();
        let _stop_the_run_when_the_lease_goes = cancel.clone().drop_guard();
        tokio::select! {
            ran = self.run_and_hand_in(job, &cancel) => ran,
            () = self.keep_lease(job) => Ran::Abandoned,
        }
    }

    async fn run_and_hand_in(&self, job: &Job, cancel: &CancellationToken) -> Ran {
        let run = tokio::select! {
            run = self.runner.run(job, cancel) => run,
            () = cancel.cancelled() => {
                Err(RunFailure { disposition: Disposition::Retry, why: "the worker is shutting down".to_owned() })
            }
        };
        match run.and_then(|run| encode(&run)) {
            Ok(bytes) => self.upload(job, bytes).await,
            Err(failure) => self.give_back(job, &failure).await,
        }
    }

    async fn upload(&self, job: &Job, bytes: Bytes) -> Ran {
        for tries in 0..TRIES {
            match self.jobs.upload(&job.ticket, bytes.clone()).await {
                Ok(_) => return Ran::Uploaded,
                Err(error) if error.retryable() => {
                    tracing::warn!(%error, tries, "recordings were not taken in");
                    tokio::time::sleep(self.pace.pause(tries)).await;
                }
                Err(JobsError::LeaseLost(_)) => return Ran::Abandoned,
                Err(error) => {
                    let failure = RunFailure { disposition: Disposition::Fail, why: error.to_string() };
                    return self.give_back(job, &failure).await;
                }
            }
        }
        Ran::Abandoned
    }

    async fn give_back(&self, job: &Job, failure: &RunFailure) -> Ran {
        tracing::warn!(why = %failure.why, disposition = ?failure.disposition, "run is given back");
        match self.jobs.fail(&job.ticket, failure.disposition, &failure.why).await {
            Ok(()) => Ran::GivenBack(failure.disposition),
            Err(error) => {
                tracing::warn!(%error, "run could not be given back; its lease will lapse");
                Ran::Abandoned
            }
        }
    }

    /// Returns when the lease is gone: lost, cancelled, or not extended for so long that it must have lapsed.
    async fn keep_lease(&self, job: &Job) {
        let mut missed = 0;
        while missed < TRIES {
            tokio::time::sleep(self.pace.heartbeat).await;
            match self.jobs.heartbeat(&job.ticket).await {
                Ok(Beat::Extended(_)) => missed = 0,
                Ok(Beat::Cancelled) => {
                    tracing::info!("run is no longer wanted");
                    return;
                }
                Err(error) if error.retryable() => missed += 1,
                Err(error) => {
                    tracing::warn!(%error, "lease is gone; run is dropped");
                    return;
                }
            }
        }
    }
}

fn encode(run: &Run) -> Result<Bytes, RunFailure> {
    match serde_json::to_vec(run) {
        Ok(bytes) if bytes.len() <= super::MAX_RUN_BYTES => Ok(bytes.into()),
        Ok(bytes) => Err(RunFailure {
            disposition: Disposition::Fail,
            why: format!(
                "recordings have {} bytes, more than the {} that are taken",
                bytes.len(),
                super::MAX_RUN_BYTES
            ),
        }),
        Err(error) => {
            Err(RunFailure { disposition: Disposition::Fail, why: format!("recordings do not encode: {error}") })
        }
    }
}

async fn pause(time: Duration, stop: &CancellationToken) {
    tokio::select! {
        () = stop.cancelled() => {}
        () = tokio::time::sleep(time) => {}
    }
}

#[cfg(test)]
mod tests;
