//! Versions of agents: submitted, followed, promoted, taken off the road.

use clap::{Args, Subcommand};
use ostiary_canon::{AgentId, VersionLabel};
use serde_json::{Value, json};

use crate::{
    api::{Api, Remote},
    console::Console,
    error::CliError,
    exit::Exit,
};

mod drift;
mod follow;
mod hold;
mod show;
mod submit;

pub(crate) use follow::settled;

use super::revision::{self, Wait as Proved};

/// Work on versions of agents
#[derive(Debug, Subcommand)]
pub(crate) enum Version {
    Submit(submit::Submit),
    /// Shows where a version stands
    Status(Which),
    /// Explains why a version stands where it stands, and what would move it on
    Explain(Which),
    /// Shows what routers saw that differs from what was admitted, and what came of it
    Drift(Which),
    /// Shows how dispatches went, as routers counted them
    Outcomes {
        #[command(flatten)]
        which: Which,
        /// From when on (RFC 3339); left out, a day ago
        #[arg(long, value_name = "TIME")]
        since: Option<jiff::Timestamp>,
    },
    /// Asks for the step to CANARY or to ACTIVE; its gate runs first
    Promote {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: Why,
        /// The step that is meant, so that a request cannot promote twice
        #[arg(long, value_parser = ["canary", "active"])]
        to: Option<String>,
        #[command(flatten)]
        wait: follow::Wait,
    },
    /// Has a version verified again, as it is now
    Verify {
        #[command(flatten)]
        which: Which,
        #[command(flatten)]
        why: Why,
        /// The gate whose checks are run
        #[arg(long, value_parser = ["static", "conformance", "security", "admission"], default_value = "conformance")]
        gate: String,
        #[command(flatten)]
        wait: follow::Wait,
    },
    /// Goes back from the active version to the previous one, in one step
    Rollback(Act),
    /// Takes a version off the road at once
    Quarantine {
        #[command(flatten)]
        act: Act,
        #[command(flatten)]
        wait: Proved,
    },
    /// Asks for the way out of quarantine: fresh runs, then an approval
    Release(Act),
    /// Takes a canary back; it stays admitted
    AbortCanary(Act),
    /// Takes a submission back before it is admitted
    Withdraw(Act),
    /// Retires a version
    Deprecate {
        #[command(flatten)]
        act: Act,
        /// Until when registered production consumers are still served (RFC 3339)
        #[arg(long, value_name = "TIME")]
        sunset: Option<jiff::Timestamp>,
    },
    /// Sets or lifts holds
    #[command(subcommand)]
    Hold(hold::Hold),
}

/// Which version, at which control plane.
#[derive(Args, Clone, Debug)]
pub(crate) struct Which {
    /// `namespace/agent`
    #[arg(long)]
    pub(crate) agent: AgentId,
    /// Its label
    #[arg(long)]
    pub(crate) version: VersionLabel,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

/// Why; it stands in the audit log.
#[derive(Args, Clone, Debug)]
pub(crate) struct Why {
    /// Why, in words; it stands in the audit log
    #[arg(long)]
    pub(crate) reason: String,
}

/// An act on one version.
#[derive(Args, Clone, Debug)]
pub(crate) struct Act {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    why: Why,
}

// === impl Version ===

impl Version {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Submit(submit) => submit.run(console).await,
            Self::Status(which) => {
                let status = which.remote.api()?.get(&which.path()).await?;
                console.result(&status, show::status);
                Ok(Exit::Done)
            }
            Self::Explain(which) => {
                let explained = which.remote.api()?.get(&format!("{}/explain", which.path())).await?;
                console.result(&explained, show::explained);
                Ok(Exit::Done)
            }
            Self::Drift(which) => drift::reports(console, &which).await,
            Self::Outcomes { which, since } => drift::outcomes(console, &which, since).await,
            Self::Promote { which, why, to, wait } => {
                let body = json!({"reason": why.reason, "to": to});
                ask(console, &which, "promote", body, wait).await
            }
            // the admission gate has no checks of its own: it looks at the evidence and the card again
            Self::Verify { which, why, gate, wait } if gate == "admission" => {
                ask(console, &which, "gates/admission", json!({"reason": why.reason}), wait).await
            }
            Self::Verify { which, why, gate, wait } => {
                ask(console, &which, "verify", json!({"reason": why.reason, "gate": gate}), wait).await
            }
            Self::Rollback(act) => act.run(console, "rollback").await,
            Self::Quarantine { act: Act { which, why }, wait } => {
                let path = format!("{}/quarantine", which.path());
                let done = which.remote.api()?.post(&path, &json!({"reason": why.reason})).await?;
                proved(console, &which, (done, "quarantine is set"), wait).await
            }
            Self::Release(act) => act.run(console, "release").await,
            Self::AbortCanary(act) => act.run(console, "abort-canary").await,
            Self::Withdraw(act) => act.run(console, "withdraw").await,
            Self::Deprecate { act, sunset } => {
                let body = json!({"reason": act.why.reason, "sunset": sunset.map(|at| at.to_string())});
                done(console, &act.which, "deprecate", &body).await
            }
            Self::Hold(hold) => hold.run(console).await,
        }
    }
}

// === impl Which ===

impl Which {
    /// Where the version is in the API.
    pub(crate) fn path(&self) -> String {
        path(&self.agent, &self.version)
    }
}

// === impl Act ===

impl Act {
    async fn run(self, console: Console, act: &str) -> Result<Exit, CliError> {
        done(console, &self.which, act, &json!({"reason": self.why.reason})).await
    }
}

/// Where a version is in the API.
pub(crate) fn path(agent: &AgentId, version: &VersionLabel) -> String {
    format!("{}/versions/{version}", super::agent::path(agent))
}

/// Does something that holds when the answer comes.
async fn done(console: Console, which: &Which, act: &str, body: &Value) -> Result<Exit, CliError> {
    let answer = which.remote.api()?.post(&format!("{}/{act}", which.path()), body).await?;
    console.result(&answer, |console, answer| {
        console.line(format!("{act} of {}@{}: done at revision {}", which.agent, which.version, answer["revision"]));
    });
    Ok(Exit::Done)
}

/// Tells what was done; if told to wait, only once no router uses anything older, or the time is over.
async fn proved(
    console: Console,
    which: &Which,
    (mut done, said): (Value, &str),
    wait: Proved,
) -> Result<Exit, CliError> {
    let said = format!("{said} on {}@{} (revision {})", which.agent, which.version, done["revision"]);
    let (Some(limit), Some(revision)) = (wait.limit(), done["revision"].as_u64()) else {
        console.result(&done, |console, _| console.line(said));
        return Ok(Exit::Done);
    };
    if console.human() {
        // Said before the wait: it holds from now on, whatever becomes of the proof.
        console.line(said);
    }
    done["proof"] = revision::applied(console, &which.remote.api()?, revision, limit).await?;
    console.result(&done, |console, done| revision::show(console, &done["proof"]));
    Ok(revision::ended(&done["proof"]))
}

/// Asks for a run, and follows it if told to.
async fn ask(console: Console, which: &Which, act: &str, body: Value, wait: follow::Wait) -> Result<Exit, CliError> {
    let api: Api = which.remote.api()?;
    let answer = api.post(&format!("{}/{act}", which.path()), &body).await?;
    if let Some(limit) = wait.limit() {
        return follow::follow(console, &api, &which.path(), limit).await;
    }
    console.result(&answer, |console, answer| {
        console.line(format!("asked to {act} {}@{}: run {}", which.agent, which.version, answer["job"]));
    });
    Ok(Exit::Done)
}
