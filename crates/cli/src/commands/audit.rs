//! The audit log.

use clap::Subcommand;
use serde_json::json;

use super::agent::word;
use crate::{
    api::Remote,
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
};

/// Reads the audit log
#[derive(Debug, Subcommand)]
pub(crate) enum Audit {
    /// Walks the whole chain and says whether anything was changed, dropped, added or moved
    Verify {
        #[command(flatten)]
        remote: Remote,
    },
    /// Lists all entries
    List {
        #[command(flatten)]
        remote: Remote,
    },
}

// === impl Audit ===

impl Audit {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Verify { remote } => {
                let verified = remote.api()?.get("/api/v1/audit/verify").await?;
                let intact = verified["intact"] == json!(true);
                console.result(&verified, |console, verified| {
                    let said = if intact { "PASS" } else { "FAIL" };
                    console.line(format!("{}  up to revision {}", coloured(said), verified["revision"]));
                    console.line(format!("{:>8}  {}", "newest", word(&verified["hash"])));
                    if !intact {
                        console.line(format!("{:>8}  {}", "broken", word(&verified["broken"])));
                    }
                });
                Ok(if intact { Exit::Done } else { Exit::Failed })
            }
            Self::List { remote } => {
                let entries = remote.api()?.pages("/api/v1/audit", "entries").await?;
                console.result(&json!({"entries": entries}), |console, _| {
                    let names = ["revision", "at", "actor", "action", "subject", "reason"];
                    console.table(&names, entries.iter().map(|entry| names.map(|name| word(&entry[name]))));
                });
                Ok(Exit::Done)
            }
        }
    }
}
