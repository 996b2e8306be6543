//! Verification environments of the registry.

use std::path::PathBuf;

use clap::Subcommand;

use super::agent::word;
use crate::{
    api::{Remote, read},
    console::Console,
    error::CliError,
    exit::Exit,
    local,
};

/// Work on verification environments (for operators)
#[derive(Debug, Subcommand)]
pub(crate) enum Environment {
    /// Registers an environment; submissions refer to it by name
    Put {
        /// The `environment.yaml`
        file: PathBuf,
        #[command(flatten)]
        remote: Remote,
    },
    /// Lists the environments that a submission may name
    List {
        #[command(flatten)]
        remote: Remote,
    },
}

// === impl Environment ===

impl Environment {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Put { file, remote } => {
                // what is wrong with it is said here, with the name that the file has here
                let name = local::environment(&file)?.name.value;
                let bytes = read(&file)?;
                let path = format!("/api/v1/environments/{name}");
                let done = remote.api()?.upload("PUT", &path, "application/yaml", bytes).await?;
                console.result(&done, |console, done| {
                    console.line(format!("environment `{name}` is registered (revision {})", done["revision"]));
                });
            }
            Self::List { remote } => {
                let listed = remote.api()?.get("/api/v1/environments").await?;
                console.result(&listed, |console, listed| {
                    let rows = listed.as_array().into_iter().flatten();
                    console.table(
                        &["environment", "registered by", "at"],
                        rows.map(|row| ["environment", "by", "at"].map(|name| word(&row[name]))),
                    );
                });
            }
        }
        Ok(Exit::Done)
    }
}
