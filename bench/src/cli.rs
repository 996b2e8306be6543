//! The command line.

use std::{path::PathBuf, process::ExitCode};

use anyhow::Result;
use clap::{Parser, Subcommand, ValueEnum};

use crate::{a2a, check, lint, report::Report, router, serve, start, watch};

#[derive(Parser)]
#[command(about = "Benchmarks against bare baselines")]
struct Arguments {
    #[command(subcommand)]
    case: Case,
}

#[derive(Subcommand)]
enum Case {
    /// CheckAdmission against a bare gRPC echo
    Check {
        #[command(flatten)]
        plan: Plan,
    },
    /// From the start of `ostiary serve` until it is ready, on SQLite
    Start {
        /// The program
        #[arg(long, default_value = "target/release/ostiary")]
        ostiary: PathBuf,
        #[command(flatten)]
        plan: Plan,
    },
    /// Cards and tool snapshots judged alone, and digests of cards against plain SHA-256
    Lint {
        #[command(flatten)]
        plan: Plan,
    },
    /// A quarantine on its way to a thousand watchers, against a bare broadcast stream
    Watch {
        #[command(flatten)]
        plan: Plan,
    },
    /// The router library: filling its copy, and deciding on it
    Router {
        #[command(flatten)]
        plan: Plan,
    },
    /// The whole A2A verification of the planning agent against a bare client that makes the same exchanges
    A2a {
        /// The program
        #[arg(long, default_value = "target/release/ostiary")]
        ostiary: PathBuf,
        #[command(flatten)]
        plan: Plan,
    },
    /// Serves a baseline or a subject until its input ends; started by the other commands
    #[command(hide = true)]
    Serve {
        #[command(subcommand)]
        what: serve::What,
    },
}

/// How long and how often.
#[derive(Clone, Debug, clap::Args)]
pub struct Plan {
    /// Rounds; each gives one ratio, and the median is judged
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub rounds: u32,
    /// Seconds of load for each measurement
    #[arg(long, default_value_t = 1.0)]
    pub seconds: f64,
    /// How the result is printed
    #[arg(long, value_enum, default_value_t = Format::Human)]
    pub format: Format,
    /// Small and short, for a glance: answers, queries and shards are judged, speed is not
    #[arg(long)]
    pub quick: bool,
}

/// How a result is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Human,
    /// One document.
    Json,
}

/// Runs the asked case: 0 when every goal is met, 1 when one is missed.
pub async fn run() -> Result<ExitCode> {
    let (report, format) = match Arguments::parse().case {
        Case::Check { plan } => (check::run(&plan).await?, plan.format),
        Case::Start { ostiary, plan } => (start::run(&ostiary, &plan).await?, plan.format),
        Case::Lint { plan } => (lint::run(&plan)?, plan.format),
        Case::Watch { plan } => (watch::run(&plan).await?, plan.format),
        Case::Router { plan } => (router::run(&plan).await?, plan.format),
        Case::A2a { ostiary, plan } => (a2a::run(&ostiary, &plan).await?, plan.format),
        Case::Serve { what } => {
            serve::run(what).await?;
            return Ok(ExitCode::SUCCESS);
        }
    };
    print(&report, format)?;
    Ok(if report.ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn print(report: &Report, format: Format) -> Result<()> {
    match format {
        Format::Json => println!("{}", serde_json::to_string(report)?),
        Format::Human => print!("{report}"),
    }
    Ok(())
}
