//! Agents of the registry.

use clap::Subcommand;
use ostiary_canon::AgentId;
use serde_json::{Value, json};

use crate::{
    api::Remote,
    console::{Console, visible},
    error::CliError,
    exit::Exit,
};

/// Work on the agents of a registry
#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Registers an agent, or changes what people read about it
    Create {
        /// `namespace/agent`
        agent: AgentId,
        /// Who answers for it
        #[arg(long)]
        owner: Option<String>,
        /// One sentence
        #[arg(long)]
        description: Option<String>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Lists the agents you may know of
    List {
        #[command(flatten)]
        remote: Remote,
    },
    /// Shows an agent with its route and versions
    Show {
        /// `namespace/agent`
        agent: AgentId,
        #[command(flatten)]
        remote: Remote,
    },
}

// === impl Agent ===

impl Agent {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Create { agent, owner, description, remote } => {
                let body = json!({"owner": owner, "description": description});
                let done = remote.api()?.put(&path(&agent), &body).await?;
                console.result(&done, |console, done| {
                    console.line(format!("{agent} is registered (revision {})", done["revision"]));
                });
            }
            Self::List { remote } => {
                let agents = remote.api()?.pages("/api/v1/agents", "agents").await?;
                console.result(&json!({"agents": agents}), |console, _| {
                    console.table(
                        &["agent", "owner", "description"],
                        agents.iter().map(|agent| ["agent", "owner", "description"].map(|name| word(&agent[name]))),
                    );
                });
            }
            Self::Show { agent, remote } => {
                let shown = remote.api()?.get(&path(&agent)).await?;
                console.result(&shown, print);
            }
        }
        Ok(Exit::Done)
    }
}

/// Where an agent is in the API.
pub(crate) fn path(agent: &AgentId) -> String {
    format!("/api/v1/agents/{agent}")
}

/// A value for people: what others wrote made visible, lists with a line for each item.
pub(crate) fn word(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => visible(text),
        Value::Array(items) => items.iter().map(word).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

fn print(console: &Console, agent: &Value) {
    let route = &agent["route"];
    console.line(word(&agent["agent"]));
    for place in ["active", "canary", "previous"].into_iter().filter(|place| !route[*place].is_null()) {
        console.line(format!("{place:>9}  {}", word(&route[place])));
    }
    let versions = agent["versions"].as_array().into_iter().flatten();
    console.table(
        &["version", "attempt", "state", "holds", "submitted"],
        versions.map(|version| {
            let holds = version["holds"].as_array().into_iter().flatten();
            let holds: Vec<String> = holds.map(|hold| word(&hold["kind"])).collect();
            let [label, attempt, state, at] =
                ["version", "attempt", "state", "submitted_at"].map(|name| word(&version[name]));
            [label, attempt, state, holds.join(", "), at]
        }),
    );
}
