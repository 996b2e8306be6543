//! The control plane.

use std::path::PathBuf;

use clap::Args;
use ostiary_canon::AgentId;
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
    /// A namespace for development: its agents may speak plain http from a private address. No other namespace admits on
    /// such evidence. Adds to `development_namespaces` of the configuration
    #[arg(long, value_name = "NAMESPACE")]
    development: Vec<String>,
}

// === impl Serve ===

impl Serve {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let mut settings = config::load(self.config.as_deref())?;
        for namespace in &self.development {
            // a namespace is the first part of an agent's id and obeys the same rules
            AgentId::new(namespace, "agent").map_err(|e| CliError::usage(e.to_string()))?;
            settings.development_namespaces.insert(namespace.clone());
        }
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
        // a control plane one of whose tasks has panicked stops by itself, so that whoever watches it starts it again
        let by_itself = tokio::select! {
            interrupted = system::interrupted() => interrupted.map(|()| false)?,
            () = running.stopped() => true,
        };
        running.shutdown().await;
        Ok(if by_itself { Exit::CouldNotRun } else { Exit::Done })
    }
}
