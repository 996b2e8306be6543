//! Receivers of events, and the feed of events itself.

use clap::Subcommand;
use serde_json::json;

use super::agent::word;
use crate::{api::Remote, console::Console, error::CliError, exit::Exit};

/// Work on the receivers of events (for operators)
#[derive(Debug, Subcommand)]
pub(crate) enum Webhook {
    /// Registers a receiver of what happens from now on
    Add {
        /// Where it listens: https, at a public address
        url: String,
        /// Only of this namespace; without it, of all
        #[arg(long)]
        namespace: Option<String>,
        /// You vouch for an inner address, and for plain http (for administrators)
        #[arg(long)]
        allow_private: bool,
        #[command(flatten)]
        remote: Remote,
    },
    /// Lists the receivers, and how far each has been
    List {
        #[command(flatten)]
        remote: Remote,
    },
    /// Takes a receiver away
    Remove {
        /// Its id
        id: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Lists what a receiver never took
    DeadLetters {
        /// Its id
        id: String,
        #[command(flatten)]
        remote: Remote,
    },
}

/// What happened, in order
#[derive(Debug, Subcommand)]
pub(crate) enum Event {
    /// Lists what happened in the namespaces you reach
    List {
        /// The cursor that the page before ended with
        #[arg(long, value_name = "CURSOR")]
        after: Option<u64>,
        #[command(flatten)]
        remote: Remote,
    },
}

// === impl Webhook ===

impl Webhook {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Add { url, namespace, allow_private, remote } => {
                let body = json!({"url": url, "namespace": namespace, "allow_private": allow_private});
                let hook = remote.api()?.post("/api/v1/webhooks", &body).await?;
                console.result(&hook, |console, hook| {
                    console.line(format!("webhook {} is told of what happens from now on", word(&hook["id"])));
                });
            }
            Self::List { remote } => {
                let listed = remote.api()?.get("/api/v1/webhooks").await?;
                table(console, &listed, &["id", "url", "namespace", "reached", "tries", "last_error"]);
            }
            Self::Remove { id, remote } => {
                remote.api()?.delete(&format!("/api/v1/webhooks/{id}")).await?;
                console.result(&json!({"removed": id}), |console, _| console.line(format!("webhook {id} is gone")));
            }
            Self::DeadLetters { id, remote } => {
                let listed = remote.api()?.get(&format!("/api/v1/webhooks/{id}/dead-letters")).await?;
                table(console, &listed, &["event", "tries", "last_error", "at"]);
            }
        }
        Ok(Exit::Done)
    }
}

// === impl Event ===

impl Event {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let Self::List { after, remote } = self;
        let path = format!("/api/v1/events?limit=500&after={}", after.unwrap_or(0));
        let page = remote.api()?.get(&path).await?;
        console.result(&page, |console, page| {
            let names = ["timestamp", "type", "subject", "actor", "reason"];
            let rows = page["events"].as_array().into_iter().flatten();
            console.table(&names, rows.map(|row| names.map(|name| word(&row[name]))));
            if page["more"] == true {
                console.line(format!("there is more: --after {}", word(&page["next"])));
            }
        });
        Ok(Exit::Done)
    }
}

fn table<const N: usize>(console: Console, listed: &serde_json::Value, names: &[&str; N]) {
    console.result(listed, |console, listed| {
        let rows = listed.as_array().into_iter().flatten();
        console.table(names, rows.map(|row| names.map(|name| word(&row[name]))));
    });
}
