//! Judging stored recordings again.

use std::path::{Path, PathBuf};

use clap::Args;
use ostiary_verify::{
    Harness, JudgeOptions, judge,
    output::Documents,
    recording_file::{self, RecordingError},
};

use crate::{
    api::read,
    console::Console,
    error::CliError,
    exit::Exit,
    local,
    report::{self, Judged, Tried},
};

/// Judges stored runs again, with this build's checks; nothing is called
#[derive(Debug, Args)]
pub(crate) struct Judge {
    /// Files that `verify --record` wrote
    #[arg(required = true, value_name = "RECORDING")]
    recordings: Vec<PathBuf>,
    /// The bundle to judge by; without it, the one that was recorded
    #[arg(long, value_name = "DIR")]
    bundle: Option<PathBuf>,
    /// Shows which promise was covered by which combination, and all that stays uncovered
    #[arg(long)]
    coverage: bool,
    /// Extensions that the consumer supports
    #[arg(long = "consumer-extension", value_name = "URI")]
    consumer_extensions: Vec<String>,
}

// === impl Judge ===

impl Judge {
    pub(crate) fn run(self, console: Console) -> Result<Exit, CliError> {
        let given = self.bundle.as_deref().map(local::bundle).transpose()?;
        let harness = Harness::standard();
        let options = JudgeOptions { consumer_extensions: self.consumer_extensions, ..JudgeOptions::default() };
        let one = |path: &Path| {
            let wrong = |e: RecordingError| CliError::because(format!("cannot judge `{}`", path.display()), &e);
            let run = recording_file::read(&read(path)?).map_err(wrong)?;
            let documents = match (&given, &self.bundle) {
                (Some(bundle), Some(folder)) => report::documents_of(bundle, folder),
                // the bundle is in the recording, and nowhere in the reader's tree
                _ => Documents::at_home(path.display().to_string()),
            };
            let report = match &given {
                Some(bundle) => judge(&harness, &run, bundle, &options),
                None => judge(&harness, &run, &recording_file::bundle_of(&run).map_err(wrong)?, &options),
            };
            Ok(Judged::new(path.display().to_string(), report).documents(documents).in_full(self.coverage))
        };
        let tried = |path: &PathBuf| Tried::of("recording", &path.display().to_string(), one(path));
        report::show_each(console, self.recordings.iter().map(tried).collect())
    }
}
