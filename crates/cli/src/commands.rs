//! The commands: one file a group.

use clap::{Parser, Subcommand};

use crate::{
    console::{Console, Format},
    error::CliError,
    exit::Exit,
};

mod bundle;
mod card;
mod judge;
mod sample;

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
    #[command(subcommand)]
    Card(card::Card),
    #[command(subcommand)]
    Bundle(bundle::Bundle),
    Judge(judge::Judge),
    #[command(hide = true)]
    Sample(sample::Sample),
}

// === impl Command ===

impl Command {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        if console.format() == Format::Jsonl {
            return Err(CliError::usage("only `verify` prints JSON lines").hint("use `--format json`"));
        }
        match self {
            Self::Card(command) => command.run(console).await,
            Self::Bundle(command) => command.run(console),
            Self::Judge(command) => command.run(console),
            Self::Sample(command) => command.run(console).await,
        }
    }
}
