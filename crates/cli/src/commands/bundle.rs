//! Work on contract bundles.

use std::path::PathBuf;

use clap::Subcommand;
use ostiary_contract::{Bundle as Contract, Problems};
use serde_json::{Value, json};

use super::bundle_init::BundleInit;
use crate::{
    console::{Console, counted},
    error::CliError,
    exit::Exit,
    local,
};

/// Work on contract bundles (directories, or `.tar` files of them)
#[derive(Debug, Subcommand)]
pub(crate) enum Bundle {
    Init(BundleInit),
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
    /// Prints the capability manifest: what is promised, under which conditions, and how it is verified
    Manifest {
        /// The bundle
        dir: PathBuf,
        /// The verification environment it is meant for
        #[arg(long, value_name = "FILE")]
        env: Option<PathBuf>,
        /// Where the result of its verification is kept
        #[arg(long, value_name = "LOCATOR")]
        result: Option<String>,
    },
    /// Packs a bundle into one `.tar`, the same bytes for the same bundle
    Pack {
        /// The bundle
        dir: PathBuf,
        /// The archive to write
        #[arg(long, short, value_name = "FILE")]
        out: PathBuf,
    },
    /// Prints the JSON Schema of a file kind, or the names of all kinds
    Schema {
        /// The kind, such as `contract`
        kind: Option<String>,
    },
}

// === impl Bundle ===

impl Bundle {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Init(init) => init.run(console).await,
            Self::Check { dir } => match local::read_bundle(&dir)?.and_then(|files| Contract::load(&files)) {
                Ok(bundle) => Ok(sound(console, &bundle)),
                Err(problems) => Ok(broken(console, &problems)),
            },
            Self::Digest { dir } => {
                let digest = Contract::digest_of(&local::bundle_files(&dir)?).to_string();
                console.result(&json!({"digest": digest}), |console, _| console.line(&digest));
                Ok(Exit::Done)
            }
            Self::Manifest { dir, env, result } => {
                let bundle = local::bundle(&dir)?;
                let environment = env.as_deref().map(local::environment).transpose()?;
                let manifest = ostiary_contract::manifest(&bundle, environment.as_ref(), result.as_deref());
                // it is for machines; people read the same document
                console.document(&manifest, true);
                Ok(Exit::Done)
            }
            Self::Pack { dir, out } => {
                let bundle = local::bundle(&dir)?;
                local::write(&out, &bundle.to_tar())?;
                let said = json!({"file": out, "digest": bundle.digest.to_string()});
                console.result(&said, |console, _| console.line(format!("{}  {}", bundle.digest, out.display())));
                Ok(Exit::Done)
            }
            Self::Schema { kind } => schema(console, kind.as_deref()),
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
        console.line(format!(
            "{}  {}, {}",
            bundle.digest,
            counted(bundle.files.len(), "file"),
            counted(bundle.cases.len(), "case")
        ));
        for pin in &pins {
            console.line(format!("not pinned, so no gate will open: {}: {}", pin.what, pin.message));
        }
    });
    Exit::Done
}

fn broken(console: Console, problems: &Problems) -> Exit {
    console.result(&json!({"ok": false, "problems": problems}), |console, _| {
        for problem in &problems.0 {
            console.line(problem.to_string());
        }
        console.line("");
        console.line(counted(problems.0.len(), "problem"));
    });
    Exit::Failed
}

fn schema(console: Console, kind: Option<&str>) -> Result<Exit, CliError> {
    let all = ostiary_contract::schema::all();
    let kinds: Vec<&str> = all.iter().map(|(file, _)| file.trim_end_matches(".schema.json")).collect();
    let Some(kind) = kind else {
        console.result(&json!({"kinds": kinds}), |console, _| console.text(&kinds.join("\n")));
        return Ok(Exit::Done);
    };
    let place = kinds.iter().position(|known| *known == kind);
    let Some((_, schema)) = place.and_then(|place| all.get(place)) else {
        return Err(
            CliError::usage(format!("there is no file kind `{kind}`")).hint(format!("one of {}", kinds.join(", ")))
        );
    };
    console.document(schema, true);
    Ok(Exit::Done)
}
