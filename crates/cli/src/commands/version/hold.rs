//! Holds: reasons not to dispatch that are no states.

use clap::Subcommand;
use serde_json::json;

use super::{Proved, Which, Why, proved};
use crate::{console::Console, error::CliError, exit::Exit};

/// Sets or lifts holds on a version
#[derive(Debug, Subcommand)]
pub(crate) enum Hold {
    /// Stops dispatch at once
    Set {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: Why,
        /// What is stopped
        #[arg(long, value_parser = ["route_disabled", "canary_stopped"])]
        kind: String,
        /// Only under this profile
        #[arg(long, conflicts_with_all = ["interface", "consumer"])]
        profile: Option<String>,
        /// Only over this interface
        #[arg(long, conflicts_with = "consumer", value_name = "URL")]
        interface: Option<String>,
        /// Only on behalf of this consumer
        #[arg(long)]
        consumer: Option<String>,
        #[command(flatten)]
        wait: Proved,
    },
    /// Lifts a hold; only a person can
    Lift {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: Why,
        /// Its id
        #[arg(long)]
        id: String,
    },
}

// === impl Hold ===

impl Hold {
    pub(super) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Set { which, why, kind, profile, interface, consumer, wait } => {
                let scope = match (profile, interface, consumer) {
                    (Some(profile), _, _) => json!({"scope": "profile", "of": profile}),
                    (_, Some(interface), _) => json!({"scope": "interface", "of": interface}),
                    (_, _, Some(consumer)) => json!({"scope": "consumer", "of": consumer}),
                    (None, None, None) => json!({"scope": "everything"}),
                };
                let body = json!({"kind": kind, "scope": scope, "reason": why.reason});
                let done = which.remote.api()?.post(&format!("{}/holds", which.path()), &body).await?;
                proved(console, &which, (done, &format!("hold `{kind}` is set")), wait).await
            }
            Self::Lift { which, why, id } => {
                let path = format!("{}/holds/{id}/lift", which.path());
                let done = which.remote.api()?.post(&path, &json!({"reason": why.reason})).await?;
                console.result(&done, |console, done| {
                    let (agent, version) = (&which.agent, &which.version);
                    console.line(format!("hold `{id}` is lifted on {agent}@{version} (revision {})", done["revision"]));
                });
                Ok(Exit::Done)
            }
        }
    }
}
