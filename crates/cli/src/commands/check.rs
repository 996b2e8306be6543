//! One router question.

use clap::Args;
use ostiary_canon::{AgentId, VersionLabel};

use crate::{
    api::Remote,
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
    router::{Answer, Fresh, Question, Router},
};

/// Asks what a router asks before a dispatch
#[derive(Args, Debug)]
pub(crate) struct Check {
    /// `namespace/agent`
    #[arg(long)]
    agent: AgentId,
    /// The version's label
    #[arg(long)]
    version: VersionLabel,
    /// Digest of the card that the agent serves now; left out, the answer is a denial
    #[arg(long, default_value_t, value_name = "DIGEST")]
    card_digest: String,
    /// The profile that is going to be used; left out, the answer is a denial
    #[arg(long, default_value_t)]
    profile: String,
    /// Compared when given
    #[arg(long, default_value_t, value_name = "DIGEST")]
    contract_digest: String,
    /// Compared when given
    #[arg(long, default_value_t, value_name = "DIGEST")]
    producer_digest: String,
    /// On whose behalf
    #[arg(long, default_value_t)]
    consumer: String,
    /// Over which interface
    #[arg(long, default_value_t, value_name = "URL")]
    interface: String,
    /// Decides whether a canary answers
    #[arg(long, default_value_t, value_name = "KEY")]
    cohort_key: String,
    /// Not older than this revision
    #[arg(long, value_name = "REVISION", conflicts_with = "consistent")]
    at_least: Option<u64>,
    /// As the database has it now
    #[arg(long)]
    consistent: bool,
    /// Address of the control plane's gRPC API; without it, port 8421 of the host in --server
    #[arg(long, env = "OSTIARY_GRPC", value_name = "URL")]
    grpc: Option<String>,
    #[command(flatten)]
    remote: Remote,
}

// === impl Check ===

impl Check {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let fresh = match (self.at_least, self.consistent) {
            (Some(revision), _) => Fresh::AtLeast(revision),
            (None, true) => Fresh::Fully,
            (None, false) => Fresh::Fast,
        };
        let token = self.remote.token()?;
        let mut router = Router::connect(&self.remote.grpc(self.grpc)?, token.as_deref()).await?;
        let answer = router
            .ask(&Question {
                agent: self.agent.to_string(),
                version: self.version.to_string(),
                card_digest: self.card_digest,
                profile: self.profile,
                contract_digest: self.contract_digest,
                producer_digest: self.producer_digest,
                consumer: self.consumer,
                interface: self.interface,
                cohort_key: self.cohort_key,
                fresh,
            })
            .await?;
        console.result(&answer, print);
        Ok(if answer.allows() { Exit::Done } else { Exit::Failed })
    }
}

fn print(console: &Console, answer: &Answer) {
    console.line(format!("{}  {}", coloured(&answer.outcome), answer.reason));
    let revision = answer.revision.map(|revision| revision.to_string());
    for (name, value) in [
        ("state", &answer.state),
        ("mode", &answer.mode),
        ("would deny", &answer.would_deny),
        ("class", &answer.class),
        ("valid until", &answer.valid_until),
        ("revision", &revision),
        ("evidence", &answer.evidence_digest),
    ] {
        if let Some(value) = value {
            console.line(format!("{name:>11}  {}", coloured(value)));
        }
    }
    if !answer.waived.is_empty() {
        console.line(format!("{:>11}  {}", "waived", answer.waived.join(", ")));
    }
}
