//! Judging stored recordings again.

use std::path::PathBuf;

use clap::Args;
use ostiary_record::{Outcome, Run};
use ostiary_verify::{Harness, JudgeOptions, judge};

use crate::{api::read, console::Console, error::CliError, exit::Exit, local, report};

/// Judges stored runs again, with this build's checks; nothing is called
#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// Files that `verify --record` wrote
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The bundle they were made for
    #[arg(long, value_name = "DIR")]
    bundle: PathBuf,
    /// Extensions that the consumer supports
    #[arg(long = "consumer-extension", value_name = "URI")]
    consumer_extensions: Vec<String>,
}

/// Largest stored run that is read.
const MAX_RUN: usize = 256 << 20;

// === impl Judge ===

impl Judge {
    pub(crate) fn run(self, console: Console) -> Result<Exit, CliError> {
        let bundle = local::bundle(&self.bundle)?;
        let harness = Harness::standard();
        let options = JudgeOptions { consumer_extensions: self.consumer_extensions, ..JudgeOptions::default() };
        let mut reports = Vec::new();
        for path in &self.recordings {
            let bytes = read(path)?;
            if bytes.len() > MAX_RUN {
                return Err(CliError::could_not_run(format!("`{}` has more than {MAX_RUN} bytes", path.display())));
            }
            let run: Run = serde_json::from_slice(&bytes)
                .map_err(|e| CliError::because(format!("`{}` is no stored run", path.display()), &e))?;
            if run.format != ostiary_record::run::RUN_FORMAT {
                let what = format!("`{}` has the format `{}`", path.display(), run.format);
                return Err(CliError::could_not_run(what).hint("judge it with the version of Ostiary that wrote it"));
            }
            reports.push(judge(&harness, &run, &bundle, &options));
        }
        let worst = reports.iter().map(|report| report.verdict).reduce(Outcome::worst).unwrap_or(Outcome::Inconclusive);
        match reports.as_slice() {
            [one] => console.result(one, report::print),
            many => console.result(&many, |console, many| many.iter().for_each(|one| report::print(console, one))),
        }
        Ok(worst.into())
    }
}
