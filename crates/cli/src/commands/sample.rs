//! The sample agent as a process of its own, for demos and tests.

use std::{net::SocketAddr, path::PathBuf};

use clap::Args;
use ostiary_sample::{Authority, Config, Lie, PlanningAgent, StoreAt, Trust};
use serde_json::json;
use url::Url;

use crate::{api::read, console::Console, error::CliError, exit::Exit, local, system};

/// Runs the planning agent of the documentation until it is interrupted
#[derive(Args, Debug)]
pub(crate) struct Sample {
    /// The card it serves
    #[arg(long, value_name = "FILE")]
    card: PathBuf,
    /// Where it listens
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS")]
    listen: SocketAddr,
    /// Where its store lives; without it, in memory
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
    /// Keys that sign the tokens it takes (JWKS)
    #[arg(long, value_name = "FILE")]
    jwks: PathBuf,
    /// The issuer of the tokens it takes
    #[arg(long)]
    issuer: String,
    /// The audience that tokens must name
    #[arg(long)]
    audience: String,
    /// Speaks TLS under the name in the card, and writes the certificate authority here (PEM)
    #[arg(long, value_name = "FILE")]
    ca_out: Option<PathBuf>,
    /// A promise it breaks
    #[arg(long = "lie", value_name = "NAME")]
    lies: Vec<Lie>,
}

// === impl Sample ===

impl Sample {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let trust = Trust::from_jwks(&self.issuer, &self.audience, &local::document(&self.jwks)?);
        let trust = trust.map_err(|e| CliError::because(format!("cannot use `{}`", self.jwks.display()), &e))?;
        let mut config = Config::new(read(&self.card)?, trust);
        config.listen = self.listen;
        config.lies = self.lies.iter().copied().collect();
        if let Some(path) = &self.store {
            config.store = StoreAt::File(path.clone());
        }
        if let Some(path) = &self.ca_out {
            let authority = Authority::generate().map_err(|e| CliError::because("cannot speak TLS", &e))?;
            let name = declared_host(&local::document(&self.card)?)?;
            let identity = authority.issue(&[&name]).map_err(|e| CliError::because("cannot speak TLS", &e))?;
            local::write(path, authority.root_pem().as_bytes())?;
            config.tls = Some(identity);
        }
        let running = PlanningAgent::start(config).await;
        let running = running.map_err(|e| CliError::because("cannot start the sample agent", &e))?;
        console.result(&json!({"address": running.addr(), "url": running.base_url()}), |console, _| {
            console.line(format!("the planning agent listens on {}", running.base_url()));
        });
        system::interrupted().await?;
        running.stop().await;
        Ok(Exit::Done)
    }
}

/// The host of the card's first interface.
pub(crate) fn declared_host(card: &serde_json::Value) -> Result<String, CliError> {
    let url = card["supportedInterfaces"][0]["url"].as_str().and_then(|url| Url::parse(url).ok());
    let host = url.and_then(|url| url.host_str().map(str::to_owned));
    host.ok_or_else(|| CliError::usage("the card declares no interface with a URL"))
}
