//! The place between driving and uploading, inside the server's own worker.

use std::sync::Arc;

use ostiary_domain::{Failpoint, Failpoints};
use ostiary_record::{Run, ports::BoxFuture};
use ostiary_worker::jobs::{Disposition, Job, RunFailure, Runner};
use tokio_util::sync::CancellationToken;

/// Drives as another runner does, and passes the failpoint of a run that was driven and not uploaded.
pub struct Driven {
    /// Who really drives.
    pub runner: Arc<dyn Runner>,
    /// Where a test may stop us.
    pub failpoints: Arc<dyn Failpoints>,
}

// === impl Driven ===

impl Runner for Driven {
    fn run<'a>(&'a self, job: &'a Job, cancel: &'a CancellationToken) -> BoxFuture<'a, Result<Run, RunFailure>> {
        Box::pin(async move {
            let run = self.runner.run(job, cancel).await?;
            let stopped =
                |error: ostiary_domain::Crashed| RunFailure { disposition: Disposition::Retry, why: error.to_string() };
            self.failpoints.hit(Failpoint::RunDriven).map_err(stopped)?;
            Ok(run)
        })
    }
}
