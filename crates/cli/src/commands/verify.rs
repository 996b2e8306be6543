//! Local verification, without a server.

mod only;

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ostiary_record::Gate;
use ostiary_verify::{Harness, recording_file};
use ostiary_worker::local::{LocalRun, Place};

use crate::{
    console::{Console, Format},
    error::CliError,
    exit::Exit,
    local,
    progress::Progress,
    report::{self, Judged},
    system,
};

/// Verifies a running agent against its contract, from here
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The contract bundle
    dir: PathBuf,
    /// The verification environment
    #[arg(long, value_name = "FILE")]
    env: PathBuf,
    /// How far
    #[arg(long, value_enum, default_value_t)]
    gate: Until,
    /// Only this check, scenario or case
    #[arg(long, value_name = "ID")]
    only: Vec<String>,
    /// Keeps the recordings, for `judge`
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Shows which promise was covered by which combination, and all that stays uncovered (JSON always has it)
    #[arg(long)]
    coverage: bool,
    /// Seed of generated inputs; the same seed drives the same run
    #[arg(long, default_value_t)]
    seed: u64,
}

/// How far a verification goes.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Until {
    /// The declarations
    Static,
    /// What it says
    Conformance,
    /// Whom it serves
    Security,
    /// Everything
    #[default]
    All,
}

// === impl Verify ===

impl Verify {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        let bundle = local::bundle(&self.dir)?;
        only::known(&self.only, &Harness::standard(), &bundle)?;
        let place = Place::read(&self.env).map_err(|e| unusable(&self.env, &e))?;
        let run = LocalRun {
            bundle: &bundle,
            place: &place,
            gate: self.gate.gate(),
            only: self.only.clone(),
            seed: self.seed,
            run_id: system::new_id("run"),
            started_at: system::now(),
        };
        let progress = Progress::new(console, &bundle.contract.contract_id.value);
        let (run, report) = run.verify(&progress).await.map_err(|e| unusable(&self.env, &e))?;
        drop(progress);
        if let Some(path) = &self.record {
            local::write(path, &recording_file::write(&run))?;
        }
        // a failure of the bundle alone stands; what could not be told for want of a connection is no verdict
        let unreachable = ostiary_verify::judge::discovered(&run).unreachable().is_some();
        let reached = |exit| if unreachable && exit == Exit::Inconclusive { Exit::CouldNotRun } else { exit };
        // as lines, the report was the last event already
        if console.format() == Format::Jsonl {
            return Ok(reached(report.verdict.into()));
        }
        let documents = report::documents_of(&bundle, &self.dir);
        let judged =
            Judged::new(&bundle.contract.contract_id.value, report).documents(documents).in_full(self.coverage);
        Ok(reached(report::show(console, judged)))
    }
}

// === impl Until ===

impl Until {
    const fn gate(self) -> Option<Gate> {
        match self {
            Self::Static => Some(Gate::Static),
            Self::Conformance => Some(Gate::Conformance),
            Self::Security => Some(Gate::Security),
            Self::All => None,
        }
    }
}

fn unusable(path: &std::path::Path, error: &dyn std::error::Error) -> CliError {
    CliError::because(format!("cannot verify in `{}`", path.display()), error)
}
