//! The control plane.

use std::path::PathBuf;

use clap::Args;
use ostiary_server::Server;
use serde_json::json;

use super::config;
use crate::{console::Console, error::CliError, exit::Exit, system};

/// Runs the control plane, with a worker inside, until it is interrupted
#[derive(Args, Debug)]
pub(crate) struct Serve {
    /// Its configuration; without it, everything under `.ostiary`, on the loopback address
    #[arg(long, env = "OSTIARY_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
}

// === impl Serve ===

impl Serve {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let settings = config::load(self.config.as_deref())?;
        let started = Server::start(settings).await;
        let running = started.map_err(|e| CliError::because("the control plane did not start", &e))?;
        let said = json!({"http": running.http_url(), "grpc": running.grpc_url(), "admin_token": running.admin_token});
        console.result(&said, |console, _| {
            console.line(format!("HTTP  {}", running.http_url()));
            console.line(format!("gRPC  {}", running.grpc_url()));
            if let Some(path) = &running.admin_token {
                console.line(format!("the administrator's token is in {}", path.display()));
            }
        });
        system::interrupted().await?;
        running.shutdown().await;
        Ok(Exit::Done)
    }
}
