//! Worlds around the agent on the official Rust SDK, and around agents that are honest in another way than most.

use anyhow::{Context as _, Result};
use tempfile::TempDir;

use super::{DECLARED_GRPC, World, layered, url};
use crate::target::{SdkAgent, free_address};

/// Where the agent's operator says that its tenant is kept apart; a routing name, as the card declares it.
const TENANT: &str = "statistics-of-texts";

// === impl World ===

impl World {
    /// The text statistics agent on the official Rust SDK with all three bindings, open to everybody; what the SDK leaves
    /// out is mended unless `more` says `--unmended`.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn rust(more: &[&str]) -> Result<Self> {
        let layers = ["text-statistics", "open-bindings", "rust"];
        Self::with_all_bindings(SdkAgent::rust, &layers, more)
    }

    /// An agent on the official Python SDK with all three bindings that answers with messages, and knows no tasks.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn messages() -> Result<Self> {
        let layers = ["text-statistics", "open-bindings", "message-only"];
        Self::with_all_bindings(statistics, &layers, &["--messages"])
    }

    /// One that is late with every answer, and promises no more.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn slow() -> Result<Self> {
        Self::over_json_rpc(&["text-statistics", "slow"], &["--late", "400"])
    }

    /// One under a contract that promises an id of each event and no repetition after a reconnect; it keeps the first with
    /// `--event-ids` alone.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn numbered(more: &[&str]) -> Result<Self> {
        Self::over_json_rpc(&["text-statistics", "event-ids"], more)
    }

    /// One without streaming that takes plain text alone.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn narrow() -> Result<Self> {
        Self::over_json_rpc(&["text-statistics", "narrow"], &["--narrow"])
    }

    /// One whose interfaces name a tenant, over JSON-RPC and HTTP+JSON; it takes the tokens of two tenants' users and keeps
    /// their tasks apart.
    ///
    /// # Errors
    /// When it does not come up.
    pub fn tenant() -> Result<Self> {
        let layers = ["text-statistics", "text-statistics-protected", "tenant"];
        Self::with_tokens(&layers, None, &["--tenant", TENANT, "--rest-url", &url("/rest")])
    }

    fn over_json_rpc(layers: &[&str], more: &[&str]) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let agent = statistics(&[&["--public-url", &url("/rpc")], more].concat())?;
        let bundle = layered(folder.path(), layers)?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: None })
    }

    fn with_all_bindings(
        start: impl FnOnce(&[&str]) -> Result<SdkAgent>,
        layers: &[&str],
        more: &[&str],
    ) -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let grpc = free_address()?;
        let (port, rpc, rest) = (grpc.port().to_string(), url("/rpc"), url("/rest"));
        let places = ["--public-url", &rpc, "--rest-url", &rest, "--grpc-port", &port, "--grpc-url", DECLARED_GRPC];
        let agent = start(&[&places, more].concat())?;
        let bundle = layered(folder.path(), layers)?;
        Ok(Self { agent, folder, bundle, identity: None, grpc: Some(grpc) })
    }
}

fn statistics(arguments: &[&str]) -> Result<SdkAgent> {
    SdkAgent::python("text_statistics_agent.py", arguments)
}
