//! Work on MCP servers and snapshots of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use clap::{Args, Subcommand};
use ostiary_protocol::mcp::{HintKind, Revision};
use ostiary_verify::{
    mcp::{ANNOTATIONS, Alone, HintReport, Lint as Linted, SNAPSHOT, ToolReport, lint},
    output::Documents,
};

use crate::{
    api::read,
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
    report::{self, Judged, Tried},
    system,
};

mod server;
mod snapshot;

pub(super) use server::{Ask, Taken};

/// Work on MCP servers and snapshots of them
#[derive(Debug, Subcommand)]
pub(crate) enum Mcp {
    Lint(Lint),
    Snapshot(snapshot::Snapshot),
}

/// Judges answers to tools/list without their servers; each tool by itself
#[derive(Args, Debug)]
pub(crate) struct Lint {
    /// Files with the answer to tools/list
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The revision to judge by, such as 2026-07-28; else the one that each file shows
    #[arg(long, value_name = "REVISION")]
    protocol: Option<Revision>,
}

// === impl Mcp ===

impl Mcp {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Lint(command) => command.run(console),
            Self::Snapshot(command) => command.run(console).await,
        }
    }
}

// === impl Lint ===

impl Lint {
    fn run(self, console: Console) -> Result<Exit, CliError> {
        let alone = Alone::new(self.protocol, Arc::new(system::Elapsed::start()))
            .map_err(|e| CliError::because("this build cannot lint snapshots", &e))?;
        let tried = |file: &PathBuf| {
            let shown = file.display().to_string();
            Tried::of("snapshot", &shown, self.one(console, &alone, file, &shown))
        };
        report::show_each(console, self.files.iter().map(tried).collect())
    }

    fn one(&self, console: Console, alone: &Alone, file: &Path, shown: &str) -> Result<Judged, CliError> {
        let bytes = Bytes::from(read(file).map_err(|error| {
            if !shown.contains("://") {
                return error;
            }
            error.hint("give files: take a snapshot of the server with `ostiary mcp snapshot --url` first")
        })?);
        let linted = lint(&bytes, self.protocol);
        if console.human() {
            print(&console, shown, &linted);
        }
        let tools = serde_json::to_value(&linted.tools)
            .map_err(|e| CliError::because("this build cannot print its report", &e))?;
        let judged = Judged::new(shown, alone.report(bytes, system::now()))
            .with("snapshot", shown)
            .with("form", linted.form)
            .with("protocol", linted.revision.as_str())
            .with("annotations", ANNOTATIONS)
            .with("tools", tools);
        Ok(judged.renamed(SNAPSHOT, shown).documents(Documents::at_home(shown).with(shown, shown)))
    }
}

/// The tools as people compare them: verdicts, and what to reckon with.
fn print(console: &Console, file: &str, linted: &Linted) {
    console.line(format!("{file}  ({}, by {})", linted.form, linted.revision));
    if linted.tools.is_empty() {
        return;
    }
    let head = ["tool", "verdict", "warnings", "reads only", "destroys", "repeatable", "reaches out"];
    console.table(&head, linted.tools.iter().map(row));
    for note in linted.issues.iter().filter(|issue| issue.reason.is_none()) {
        console.line(format!("{}  {} {}", coloured("note"), note.pointer, note.observed));
    }
    console.line(ANNOTATIONS);
}

fn row(tool: &ToolReport) -> Vec<String> {
    let name = tool.name.clone().unwrap_or_else(|| tool.pointer.clone());
    let hints = HintKind::ALL.map(|kind| tool.hints.get(kind.member()).map_or_else(String::new, hint));
    [name, tool.verdict.to_string(), tool.warnings.to_string()].into_iter().chain(hints).collect()
}

fn hint(hint: &HintReport) -> String {
    match (hint.effective, hint.declared) {
        (None, _) => "-".to_owned(),
        (Some(value), declared) => {
            let word = |value: bool| if value { "yes" } else { "no" };
            match declared {
                None => format!("{} (not said)", word(value)),
                Some(said) if said == value => word(value).to_owned(),
                // the worse of two claims that contradict each other
                Some(said) => format!("{} (said {})", word(value), word(said)),
            }
        }
    }
}
