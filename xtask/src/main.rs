//! The developer's own commands: `cargo xtask` lists them.

mod arrows;
mod commands;
mod licences;
mod setup;
mod tidy;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "cargo xtask", about = "The developer's own commands")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Installs what the tests need: the agents and verifiers of other people, at pinned versions
    Setup,
    /// Runs everything that CI runs: setup, format, lints, documentation, arrows, licences, tidy, all tests
    Test {
        /// Only the tests whose name contains this; skips the other steps
        filter: Option<String>,
    },
    /// Writes all generated files again: schemas, OpenAPI, reason codes, checks, lifecycle table, query data
    Gen,
    /// Compares docs/promises.md with what the last whole test run executed
    Promises {
        /// Writes the page instead
        #[arg(long)]
        bless: bool,
    },
    /// Checks who may know whom, against the table in ARCHITECTURE.md
    Arrows,
    /// Builds each crate alone, so that none works only by the features that another one switches on
    Alone,
    /// Checks licences, banned crates and sources against deny.toml
    Licences,
    /// Checks names, sizes and documents
    Tidy,
    /// Measures against bare baselines: `cargo xtask bench check`
    Bench {
        /// Benchmark and its options
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Long fuzzing and repeats, which CI runs in a short form
    Soak {
        /// Random cases per property
        #[arg(long, default_value_t = 20_000)]
        cases: u32,
        /// Repeats of each honest agent's verification, and of the end-to-end tests
        #[arg(long, default_value_t = 10)]
        repeats: u32,
    },
}

fn main() -> anyhow::Result<()> {
    match Arguments::parse().command {
        Command::Setup => setup::run(),
        Command::Test { filter: Some(filter) } => setup::run().and_then(|()| commands::tests(Some(&filter))),
        Command::Test { filter: None } => commands::everything(),
        Command::Gen => commands::generate(),
        Command::Promises { bless } => commands::promises(bless),
        Command::Arrows => arrows::run(),
        Command::Alone => commands::alone(),
        Command::Licences => licences::run(),
        Command::Tidy => tidy::run(),
        Command::Bench { arguments } => commands::bench(&arguments),
        Command::Soak { cases, repeats } => commands::soak(cases, repeats),
    }
}
