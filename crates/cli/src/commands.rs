//! The commands: one file a group.

use clap::{Parser, Subcommand};

use crate::{
    console::{Console, Format},
    demo::Demo,
    error::CliError,
    exit::Exit,
};

mod agent;
mod approve;
mod audit;
mod bundle;
mod bundle_init;
mod card;
mod check;
mod config;
mod environment;
mod evidence;
mod judge;
mod mcp;
mod namespace;
mod revision;
mod sample;
mod serve;
mod sidecar;
mod verify;
mod version;
mod waive;
mod webhook;
mod worker;

pub(crate) use card::fetch;
pub(crate) use evidence::{Dossier, Form};
pub(crate) use sample::declared_host;
pub(crate) use version::settled;

/// Admits agent versions on evidence, never on claims
#[derive(Debug, Parser)]
#[command(name = "ostiary", version, about, after_help = EXITS)]
pub struct Cli {
    /// How results are printed
    #[arg(long, value_enum, default_value_t, global = true)]
    pub(crate) format: Format,
    /// What is logged to standard error
    #[arg(long, env = "OSTIARY_LOG", default_value = "warn", global = true, value_name = "FILTER")]
    pub(crate) log: String,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXITS: &str = "Exit codes: 0 PASS, allowed, done; 1 FAIL, denied, refused; 2 used wrongly; 3 INCONCLUSIVE, \
                     unknown; 4 could not run";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(Demo),
    Serve(serve::Serve),
    Worker(worker::Worker),
    Sidecar(sidecar::Sidecar),
    #[command(subcommand)]
    Config(config::Config),
    #[command(subcommand)]
    Card(card::Card),
    #[command(subcommand)]
    Mcp(mcp::Mcp),
    #[command(subcommand)]
    Bundle(bundle::Bundle),
    Verify(verify::Verify),
    Judge(judge::Judge),
    #[command(subcommand)]
    Namespace(namespace::Namespace),
    #[command(subcommand)]
    Agent(agent::Agent),
    #[command(subcommand)]
    Environment(environment::Environment),
    #[command(subcommand)]
    Version(version::Version),
    #[command(subcommand)]
    Revision(revision::Revision),
    Approve(approve::Approve),
    Waive(waive::Waive),
    #[command(subcommand)]
    Webhook(webhook::Webhook),
    #[command(subcommand)]
    Event(webhook::Event),
    Check(check::Check),
    #[command(subcommand)]
    Evidence(evidence::Evidence),
    #[command(subcommand)]
    Audit(audit::Audit),
    #[command(hide = true)]
    Sample(sample::Sample),
}

// === impl Command ===

impl Command {
    /// Whether the result is a report of a verification, which has more formats than other results.
    const fn prints_reports(&self) -> bool {
        matches!(
            self,
            Self::Verify(_) | Self::Judge(_) | Self::Card(card::Card::Lint(_)) | Self::Mcp(mcp::Mcp::Lint(_))
        )
    }

    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        if !matches!(console.format(), Format::Human | Format::Json) && !self.prints_reports() {
            return Err(CliError::usage("only verifications are printed in this format").hint("use `--format json`"));
        }
        match self {
            Self::Demo(command) => command.run(console).await,
            Self::Serve(command) => command.run(console).await,
            Self::Worker(command) => command.run(console).await,
            Self::Sidecar(command) => command.run(console).await,
            Self::Config(command) => command.run(console),
            Self::Card(command) => command.run(console).await,
            Self::Mcp(command) => command.run(console).await,
            Self::Bundle(command) => command.run(console).await,
            Self::Verify(command) => command.run(console).await,
            Self::Judge(command) => command.run(console),
            Self::Namespace(command) => command.run(console).await,
            Self::Agent(command) => command.run(console).await,
            Self::Environment(command) => command.run(console).await,
            Self::Version(command) => command.run(console).await,
            Self::Revision(command) => command.run(console).await,
            Self::Approve(command) => command.run(console).await,
            Self::Waive(command) => command.run(console).await,
            Self::Webhook(command) => command.run(console).await,
            Self::Event(command) => command.run(console).await,
            Self::Check(command) => command.run(console).await,
            Self::Evidence(command) => command.run(console).await,
            Self::Audit(command) => command.run(console).await,
            Self::Sample(command) => command.run(console).await,
        }
    }
}
