//! Runs of the Jobs port, driven as local ones are.

use std::path::PathBuf;

use ostiary_contract::Bundle;
use ostiary_record::{NoSink, Run, ports::BoxFuture};
use ostiary_verify::Harness;
use tokio_util::sync::CancellationToken;

use super::{EnvironmentError, LocalRun, Place};
use crate::{
    clock::SystemClock,
    jobs::{Disposition, Job, RunFailure, Runner},
};

/// Drives what the Jobs port hands out.
pub struct JobRunner {
    harness: Harness,
    root: Option<PathBuf>,
}

// === impl JobRunner ===

impl JobRunner {
    /// A runner; `root` is where registered environments look up the files that they name, `None` = they may name none.
    #[must_use]
    pub fn new(root: Option<PathBuf>) -> Self {
        Self { harness: Harness::standard(), root }
    }

    async fn drive(&self, job: &Job) -> Result<Run, RunFailure> {
        let bundle = Bundle::from_tar(&job.bundle).map_err(|problems| given_up(problems.to_string()))?;
        if bundle.digest != job.bundle_digest {
            return Err(given_up(format!("bundle is {}, and {} was asked for", bundle.digest, job.bundle_digest)));
        }
        let place = Place::of_text("environment.yaml", &job.environment).map_err(|e| given_up(chain(&e)))?;
        let place = Place { root: self.root.clone(), ..place };
        let started_at = SystemClock.now();
        let run = LocalRun {
            bundle: &bundle,
            place: &place,
            gate: Some(job.gate),
            only: Vec::new(),
            seed: u64::from(job.attempt),
            run_id: format!("{}-{}", job.ticket.job_id, job.ticket.epoch),
            started_at,
        };
        run.drive(&self.harness, &NoSink).await.map_err(|e| match e {
            // Another run of the same environment holds the address, and will be over.
            EnvironmentError::Listen { .. } => RunFailure { disposition: Disposition::Retry, why: chain(&e) },
            _ => given_up(chain(&e)),
        })
    }
}

impl Runner for JobRunner {
    fn run<'a>(&'a self, job: &'a Job, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Run, RunFailure>> {
        Box::pin(async move {
            tokio::select! {
                () = cancel.cancelled() => {
                    Err(RunFailure { disposition: Disposition::Retry, why: "the run was cancelled".to_owned() })
                }
                run = self.drive(job) => run,
            }
        })
    }
}

/// Nothing about the run will be different the next time.
fn given_up(why: String) -> RunFailure {
    RunFailure { disposition: Disposition::Fail, why }
}

/// An error with its causes, in one line.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        text = format!("{text}: {inner}");
        cause = inner.source();
    }
    text
}
