//! Work on contract bundles.

use std::path::PathBuf;

use clap::Subcommand;
use ostiary_contract::{Bundle as Contract, Problems};
use serde_json::{Value, json};

use crate::{console::Console, error::CliError, exit::Exit, local};

/// Work on contract bundles (directories, or `.tar` files of them)
#[derive(Debug, Subcommand)]
pub(crate) enum Bundle {
    /// Says everything that is wrong with a bundle
    Check {
        /// The bundle
        dir: PathBuf,
    },
    /// Prints the digest that names a bundle
    Digest {
        /// The bundle
        dir: PathBuf,
    },
    /// Packs a bundle into one `.tar`, the same bytes for the same bundle
    Pack {
        /// The bundle
        dir: PathBuf,
        /// The archive to write
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
    },
}

// === impl Bundle ===

impl Bundle {
    pub(crate) fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Check { dir } => {
                let files = local::bundle_files(&dir)?;
                match Contract::load(&files) {
                    Ok(bundle) => Ok(sound(console, &bundle)),
                    Err(problems) => Ok(broken(console, &problems)),
                }
            }
            Self::Digest { dir } => {
                let digest = Contract::digest_of(&local::bundle_files(&dir)?).to_string();
                console.result(&json!({"digest": digest}), |console, _| console.line(&digest));
                Ok(Exit::Done)
            }
            Self::Pack { dir, out } => {
                let bundle = local::bundle(&dir)?;
                local::write(&out, &bundle.to_tar())?;
                let said = json!({"file": out, "digest": bundle.digest.to_string()});
                console.result(&said, |console, _| console.line(format!("{}  {}", bundle.digest, out.display())));
                Ok(Exit::Done)
            }
        }
    }
}

fn sound(console: Console, bundle: &Contract) -> Exit {
    let pins = bundle.pins();
    let (id, version) = (&bundle.contract.contract_id.value, &bundle.contract.contract_version.value.to_string());
    let not_pinned: Vec<Value> =
        pins.iter().map(|pin| json!({"what": pin.what, "value": pin.value, "message": pin.message})).collect();
    let said = json!({"ok": true, "digest": bundle.digest.to_string(), "contract_id": id, "contract_version": version,
        "cases": bundle.cases.len(), "problems": [], "not_pinned": not_pinned});
    console.result(&said, |console, _| {
        console.line(format!("{id} {version} is well-formed"));
        console.line(format!("{}  {} files, {} cases", bundle.digest, bundle.files.len(), bundle.cases.len()));
        for pin in &pins {
            console.line(format!("not pinned, so no gate will open: {}: {}", pin.what, pin.message));
        }
    });
    Exit::Done
}

fn broken(console: Console, problems: &Problems) -> Exit {
    console.result(&json!({"ok": false, "problems": problems}), |console, _| {
        console.line(problems.to_string());
        console.line(format!("\n{} problems", problems.0.len()));
    });
    Exit::Failed
}
