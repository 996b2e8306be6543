//! A worker on another machine than the control plane.

use std::{path::PathBuf, sync::Arc};

use clap::Args;
use ostiary_worker::{
    jobs::{Pace, Remote as Address, RemoteJobs, Worker as Loop},
    local::JobRunner,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{api::Remote, console::Console, error::CliError, exit::Exit, system};

/// Drives runs that the control plane hands out, until it is interrupted
#[derive(Args, Debug)]
pub(crate) struct Worker {
    /// Address of the control plane's gRPC API; without it, port 8421 of the host in --server
    #[arg(long, env = "OSTIARY_GRPC", value_name = "URL")]
    grpc: Option<String>,
    /// Its name in the control plane's log; without it, a new one
    #[arg(long)]
    name: Option<String>,
    /// Where registered environments look up the files that they name; without it, they may name none
    #[arg(long, value_name = "DIR")]
    environment_files: Option<PathBuf>,
    #[command(flatten)]
    remote: Remote,
}

// === impl Worker ===

impl Worker {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let token = self.remote.token()?.ok_or_else(|| {
            CliError::could_not_run("a worker needs a token with the role `verifier`")
                .hint("give it with --token-file, or in OSTIARY_TOKEN")
        })?;
        let url = self.remote.grpc(self.grpc)?;
        let jobs = RemoteJobs::connect(&Address { url: url.clone(), token });
        let jobs = jobs.map_err(|e| CliError::because("cannot ask for runs", &e))?;
        let name = self.name.unwrap_or_else(|| system::new_id("worker"));
        let worker =
            Loop::new(&name, Arc::new(jobs), Arc::new(JobRunner::new(self.environment_files)), Pace::default());
        console.result(&json!({"worker": name, "asks": url}), |console, _| {
            console.line(format!("worker `{name}` asks {url} for runs"));
        });
        let stop = CancellationToken::new();
        let work = worker.work(&stop);
        tokio::pin!(work);
        let ended = tokio::select! {
            ended = &mut work => ended,
            interrupted = system::interrupted() => {
                interrupted?;
                stop.cancel();
                // what is under way is given back for another worker
                work.await
            }
        };
        ended.map_err(|e| CliError::because("the control plane does not take this worker", &e))?;
        Ok(Exit::Done)
    }
}
