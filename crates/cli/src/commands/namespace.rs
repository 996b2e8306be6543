//! Namespaces: who owns agents, and how hard admission is enforced for them.

use clap::Subcommand;
use serde_json::json;

use super::agent::word;
use crate::{api::Remote, console::Console, error::CliError, exit::Exit};

/// Work on the namespaces that own agents (for administrators)
#[derive(Debug, Subcommand)]
pub(crate) enum Namespace {
    /// Makes a namespace, or sets how hard admission is enforced for it
    Put {
        /// Its name
        name: String,
        /// What a denial does: it denies, or it is only counted and told
        #[arg(long, value_parser = ["enforce", "warn", "observe"], default_value = "enforce")]
        mode: String,
        /// When a softer mode ends by itself (RFC 3339); required for one
        #[arg(long, value_name = "TIME", required_if_eq_any([("mode", "warn"), ("mode", "observe")]))]
        until: Option<jiff::Timestamp>,
        /// Why it is softer, in words; required for a softer mode
        #[arg(long, required_if_eq_any([("mode", "warn"), ("mode", "observe")]))]
        reason: Option<String>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Lists the namespaces you reach
    List {
        #[command(flatten)]
        remote: Remote,
    },
}

// === impl Namespace ===

impl Namespace {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Put { name, mode, until, reason, remote } => {
                let body = json!({"mode": mode, "until": until.map(|at| at.to_string()), "reason": reason});
                let done = remote.api()?.put(&format!("/api/v1/namespaces/{name}"), &body).await?;
                console.result(&done, |console, done| {
                    console.line(format!("namespace `{name}`: {mode} (revision {})", done["revision"]));
                });
            }
            Self::List { remote } => {
                let listed = remote.api()?.get("/api/v1/namespaces").await?;
                console.result(&listed, |console, listed| {
                    let names = ["namespace", "mode", "until", "reason"];
                    let rows = listed.as_array().into_iter().flatten();
                    console.table(&names, rows.map(|row| names.map(|name| word(&row[name]))));
                });
            }
        }
        Ok(Exit::Done)
    }
}
