//! The Jobs port inside the server: the queue of the store in front, the gatekeeper behind.
//!
//! The same object serves the worker in this process and, over gRPC, all others.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::SignedDuration;
use ostiary_canon::Digest;
use ostiary_domain::{Conflict, JobId, Lease, StoreError, ports::Claim};
use ostiary_record::{Gate, ports::BoxFuture};
use ostiary_worker::jobs::{Beat, Disposition, Job, Jobs, JobsError, Ticket};

use crate::{
    app::App,
    gate::{GateError, Gatekeeper},
};

/// The port over this server's store.
#[derive(Clone, Debug)]
pub struct LocalJobs {
    app: Arc<App>,
    keeper: Gatekeeper,
}

/// Gates whose runs are driven by workers; the admission gate is the server's own.
const DRIVEN: [Gate; 5] = [Gate::Static, Gate::Conformance, Gate::Security, Gate::Canary, Gate::Active];

/// Longest wait of one claim, whatever the caller asks for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// How often the queue is looked at when nobody rings: other replicas queue without ringing here.
const LOOK: Duration = Duration::from_secs(1);

// === impl LocalJobs ===

impl LocalJobs {
    /// The port over an app.
    #[must_use]
    pub fn new(app: Arc<App>) -> Self {
        Self { keeper: Gatekeeper::new(Arc::clone(&app)), app }
    }

    async fn next(&self, worker: &str) -> Result<Option<Job>, JobsError> {
        let lease_for = SignedDuration::try_from(self.app.config.worker.lease()).unwrap_or(SignedDuration::ZERO);
        let claim = Claim { worker: worker.to_owned(), gates: DRIVEN.to_vec(), lease_for };
        let claimed = self.app.store.claim(claim).await.map_err(|error| of_store("claim", error))?;
        let Some((job, lease)) = claimed else { return Ok(None) };
        match self.laden(&job, &lease).await {
            Ok(Some(job)) => Ok(Some(job)),
            // The version's bundle or environment is not there: no worker can help.
            Ok(None) => {
                self.return_to_queue(&lease, "its bundle or environment is missing", None).await?;
                Ok(None)
            }
            Err(error) => Err(of_store(job.id.as_str(), error)),
        }
    }

    /// The job with everything that a worker needs.
    async fn laden(&self, job: &ostiary_domain::Job, lease: &Lease) -> Result<Option<Job>, StoreError> {
        let bundle = self.app.store.bundle(&job.bundle).await?;
        let environment = self.app.store.environment(&job.environment).await?;
        Ok(bundle.zip(environment).map(|(bundle, environment)| Job {
            ticket: Ticket { job_id: job.id.to_string(), token: lease.token.clone(), epoch: lease.epoch },
            lease_until: lease.until,
            agent: job.version.agent.clone(),
            version: job.version.label.clone(),
            attempt: job.version.attempt.0,
            gate: job.gate,
            bundle,
            bundle_digest: job.bundle,
            environment: environment.document,
        }))
    }

    async fn beat(&self, ticket: &Ticket) -> Result<Beat, JobsError> {
        let failed = |error| of_store(&ticket.job_id, error);
        let lease_for = SignedDuration::try_from(self.app.config.worker.lease()).unwrap_or(SignedDuration::ZERO);
        let lease = self.app.store.heartbeat(&lease(ticket), lease_for).await.map_err(failed)?;
        let job = self.app.store.job(&lease.job).await.map_err(failed)?;
        let Some(job) = job else { return Ok(Beat::Cancelled) };
        let version = self.app.store.version(&job.version).await.map_err(failed)?;
        // Withdrawn or retired meanwhile: nothing that the run could say is wanted.
        let wanted = version.is_some_and(|version| !version.state.name().is_terminal());
        Ok(if wanted { Beat::Extended(lease.until) } else { Beat::Cancelled })
    }

    async fn give_back(&self, ticket: &Ticket, disposition: Disposition, why: &str) -> Result<(), JobsError> {
        let lease = lease(ticket);
        let job = self.app.store.job(&lease.job).await.map_err(|error| of_store(&ticket.job_id, error))?;
        let tries = job.map_or(u32::MAX, |job| job.tries);
        let again = match disposition {
            Disposition::Retry if tries < self.app.config.worker.tries => {
                let pause =
                    SignedDuration::try_from(self.app.config.worker.pause(tries)).unwrap_or(SignedDuration::ZERO);
                let now = self.app.clock.now();
                Some(now.saturating_add(pause).unwrap_or(now))
            }
            Disposition::Retry | Disposition::Fail => None,
        };
        self.return_to_queue(&lease, why, again).await
    }

    async fn return_to_queue(&self, lease: &Lease, why: &str, again: Option<jiff::Timestamp>) -> Result<(), JobsError> {
        tracing::warn!(job = %lease.job, why, again = again.is_some(), "run was given back");
        self.app.store.give_back(lease, why, again).await.map_err(|error| of_store(lease.job.as_str(), error))?;
        self.app.work.ring();
        Ok(())
    }
}

impl Jobs for LocalJobs {
    fn claim<'a>(&'a self, worker: &'a str, wait: Duration) -> BoxFuture<'a, Result<Option<Job>, JobsError>> {
        Box::pin(async move {
            let mut waiter = self.app.work.waiter();
            let mut patience = std::pin::pin!(tokio::time::sleep(wait.min(LONGEST_WAIT)));
            // Only the waiting is raced against the caller's patience: a claim that is under way is never dropped, since
            // its lease would be nobody's until it lapses.
            loop {
                let found = self.next(worker).await?;
                if found.is_some() || patience.is_elapsed() {
                    return Ok(found);
                }
                tokio::select! {
                    () = waiter.wait(LOOK) => {}
                    () = &mut patience => {}
                }
            }
        })
    }

    fn heartbeat<'a>(&'a self, ticket: &'a Ticket) -> BoxFuture<'a, Result<Beat, JobsError>> {
        Box::pin(self.beat(ticket))
    }

    fn upload<'a>(&'a self, ticket: &'a Ticket, run: Bytes) -> BoxFuture<'a, Result<Digest, JobsError>> {
        Box::pin(async move {
            match self.keeper.judge_run(&lease(ticket), run).await {
                Ok(digest) => Ok(digest),
                Err(error) => Err(self.of_gate(ticket, error)),
            }
        })
    }

    fn fail<'a>(
        &'a self,
        ticket: &'a Ticket,
        disposition: Disposition,
        why: &'a str,
    ) -> BoxFuture<'a, Result<(), JobsError>> {
        Box::pin(self.give_back(ticket, disposition, why))
    }
}

impl LocalJobs {
    fn of_gate(&self, ticket: &Ticket, error: GateError) -> JobsError {
        if error.lease_lost() {
            self.app.metrics.lease_lost();
            return JobsError::LeaseLost(ticket.job_id.clone());
        }
        match error {
            GateError::Run(error) => JobsError::Refused(error.to_string()),
            GateError::Store(error) => of_store(&ticket.job_id, error),
            other => {
                tracing::error!(error = %other, job = ticket.job_id, "a run could not be judged");
                JobsError::Unavailable("the run could not be judged now; the server's log says why".to_owned())
            }
        }
    }
}

fn lease(ticket: &Ticket) -> Lease {
    Lease {
        job: JobId(ticket.job_id.clone()),
        token: ticket.token.clone(),
        epoch: ticket.epoch,
        // The store knows when it ends; what a worker believes does not count.
        until: jiff::Timestamp::MIN,
    }
}

fn of_store(job: &str, error: StoreError) -> JobsError {
    match error {
        StoreError::Conflict(Conflict::Lease(_)) => JobsError::LeaseLost(job.to_owned()),
        StoreError::Conflict(conflict) => JobsError::Unavailable(conflict.to_string()),
        StoreError::Refused(refusal) => JobsError::Refused(refusal.to_string()),
        error @ (StoreError::Inconsistent { .. } | StoreError::Unavailable { .. } | StoreError::Crashed(_)) => {
            tracing::error!(error = %error, job, "the queue does not work now");
            JobsError::Unavailable("the database does not answer".to_owned())
        }
    }
}
