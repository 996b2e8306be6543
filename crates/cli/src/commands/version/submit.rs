//! Submitting a version with its contract bundle.

use std::path::PathBuf;

use clap::Args;
use ostiary_canon::{AgentId, VersionLabel};
use serde_json::json;

use super::follow::{Wait, follow};
use crate::{api::Remote, console::Console, error::CliError, exit::Exit, local};

/// Submits a version: uploads its bundle and asks for its gates
#[derive(Args, Debug)]
pub(crate) struct Submit {
    /// The namespace that owns the agent
    #[arg(long)]
    namespace: String,
    /// The contract bundle
    #[arg(long, value_name = "DIR")]
    bundle: PathBuf,
    /// The registered environment in which the version runs
    #[arg(long, value_name = "NAME")]
    env: String,
    /// The label; without it, the version in the card
    #[arg(long)]
    version: Option<VersionLabel>,
    /// `reduced` for an agent whose effects nobody can observe: a person answers for it, and routers are told
    #[arg(long, value_parser = ["full", "reduced"], default_value = "full")]
    class: String,
    /// Why it differs from the version before
    #[arg(long, value_name = "TEXT")]
    change_reason: Option<String>,
    /// Where the difference can be read
    #[arg(long, value_name = "REF")]
    implementation_diff: Option<String>,
    #[command(flatten)]
    wait: Wait,
    #[command(flatten)]
    remote: Remote,
}

// === impl Submit ===

impl Submit {
    pub(super) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let bundle = local::bundle(&self.bundle)?;
        let name = &bundle.contract.producer.agent_id.value;
        let agent = AgentId::new(&self.namespace, name).map_err(|e| CliError::usage(e.to_string()))?;
        let api = self.remote.api()?;
        api.upload("POST", "/api/v1/bundles", "application/x-tar", bundle.to_tar()).await?;
        let body = json!({"bundle": bundle.digest.to_string(), "environment": self.env, "class": self.class,
            "version": self.version.as_ref().map(ToString::to_string), "change_reason": self.change_reason,
            "implementation_diff": self.implementation_diff});
        let path = format!("{}/versions", super::super::agent::path(&agent));
        let submitted = api.post(&path, &body).await?;
        if let Some(limit) = self.wait.limit() {
            let label = submitted["version"].as_str().unwrap_or_default();
            return follow(console, &api, &format!("{path}/{label}"), limit).await;
        }
        console.result(&submitted, |console, submitted| {
            let word = |name: &str| super::super::agent::word(&submitted[name]);
            let (version, attempt) = (word("version"), word("attempt"));
            console.line(format!("{agent}@{version} is submitted, attempt {attempt} (revision {})", word("revision")));
        });
        Ok(Exit::Done)
    }
}
