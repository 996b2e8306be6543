//! Consent to a step of somebody else's version.

use clap::Args;
use ostiary_canon::Digest;
use serde_json::json;

use super::version::{Which, Why};
use crate::{console::Console, error::CliError, exit::Exit};

/// Consents to a step of a version that somebody else submitted
#[derive(Args, Debug)]
pub(crate) struct Approve {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    why: Why,
    /// The step
    #[arg(long, value_parser = ["admission", "canary", "promotion", "release"])]
    edge: String,
    /// Digest of the manifest you looked at; without it, the version's present one
    #[arg(long, value_name = "DIGEST")]
    manifest: Option<Digest>,
    /// Until when it counts (RFC 3339); without it, one day
    #[arg(long, value_name = "TIME")]
    expires: Option<jiff::Timestamp>,
}

// === impl Approve ===

impl Approve {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let api = self.which.remote.api()?;
        let path = self.which.path();
        let manifest = match self.manifest {
            Some(manifest) => manifest.to_string(),
            None => {
                let status = api.get(&path).await?;
                let manifest = status["subject"]["manifest"].as_str().map(str::to_owned);
                manifest.ok_or_else(|| {
                    CliError::refused("nothing was measured of this version yet, so there is nothing to consent to")
                        .hint("wait for its static gate")
                })?
            }
        };
        let body = json!({"edge": self.edge, "manifest": manifest, "reason": self.why.reason,
            "expires_at": self.expires.map(|at| at.to_string())});
        let given = api.post(&format!("{path}/approvals"), &body).await?;
        console.result(&given, |console, _| {
            let version = format!("{}@{}", self.which.agent, self.which.version);
            console.line(format!("you consent to the {} of {version} as {manifest}", self.edge));
        });
        Ok(Exit::Done)
    }
}
