//! Evidence: read, verified by oneself, carried away.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use ostiary_canon::dsse::{Envelope, Jwks, Keyring};
use serde_json::{Value, json};

use super::{agent::word, version::Which};
use crate::{
    api::{Api, Remote, read},
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
    local,
};

/// Reads, verifies and exports evidence
#[derive(Debug, Subcommand)]
pub(crate) enum Evidence {
    /// Shows one piece of evidence
    Get {
        /// Its id
        id: String,
        #[command(flatten)]
        remote: Remote,
    },
    /// Verifies signatures on this machine: of files, or of everything about a version
    Verify {
        /// Envelopes (`.dsse.json`)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The keys to trust (JWKS); without it, those that the control plane publishes
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
        #[command(flatten)]
        remote: Remote,
    },
    /// Writes all evidence of a version into a directory, with the keys to verify it
    Export {
        #[command(flatten)]
        which: Which,
        /// The directory
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
}

/// Where a control plane publishes its keys.
const KEYS: &str = "/.well-known/ostiary-keys.json";

// === impl Evidence ===

impl Evidence {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Get { id, remote } => {
                let shown = remote.api()?.get(&format!("/api/v1/evidence/{id}")).await?;
                console.result(&shown, print);
                Ok(Exit::Done)
            }
            Self::Verify { files, keys, remote } => {
                let keys = match keys {
                    Some(path) => local::document(&path)?,
                    None => remote.api()?.get(KEYS).await?,
                };
                verify(console, &files, &keyring(keys)?)
            }
            Self::Export { which, out } => {
                let written = export(&which.remote.api()?, &which.path(), &out).await?;
                console.result(&json!({"directory": out, "files": written}), |console, _| {
                    console.line(format!("{} files written to {}", written.len(), out.display()));
                });
                Ok(Exit::Done)
            }
        }
    }
}

fn print(console: &Console, evidence: &Value) {
    let text = |name: &str| word(&evidence[name]);
    let head = format!("{}  {} gate of {}@{}", text("id"), text("gate"), text("agent"), text("version"));
    console.line(format!("{head}: {}", coloured(&text("outcome"))));
    for name in ["profiles_passed", "profiles_failed", "verified_at", "expires_at", "standing", "policy", "digest"] {
        console.line(format!("{name:>16}  {}", text(name).replace('\n', ", ")));
    }
    for name in ["manifest", "card_digest", "contract_digest", "producer_digest", "producer_digest_source"] {
        console.line(format!("{name:>24}  {}", word(&evidence["subject"][name])));
    }
}

fn keyring(keys: Value) -> Result<Keyring, CliError> {
    let jwks: Jwks = serde_json::from_value(keys).map_err(|e| CliError::because("the keys are no key set", &e))?;
    let keys = jwks.verifying_keys().map_err(|e| CliError::because("the keys cannot be used", &e))?;
    Ok(Keyring::trusting(keys))
}

fn verify(console: Console, files: &[PathBuf], keyring: &Keyring) -> Result<Exit, CliError> {
    let mut lines = Vec::new();
    for path in files {
        let bytes = read(path)?;
        lines.push(match statement(&bytes, keyring) {
            Ok(said) => json!({"file": path, "verified": true, "statement": said}),
            Err(why) => json!({"file": path, "verified": false, "why": why}),
        });
    }
    let all = lines.iter().all(|line| line["verified"] == json!(true));
    console.result(&json!({"verified": all, "files": lines}), |console, _| {
        for line in &lines {
            let (word_of, rest) = match line["verified"] == json!(true) {
                true => ("PASS", word(&line["statement"]["predicateType"])),
                false => ("FAIL", word(&line["why"])),
            };
            console.line(format!("{}  {}  {rest}", coloured(word_of), word(&line["file"])));
        }
    });
    Ok(if all { Exit::Done } else { Exit::Failed })
}

/// What a verified envelope says; nothing is read before its signature holds.
fn statement(bytes: &[u8], keyring: &Keyring) -> Result<Value, String> {
    let envelope = Envelope::parse(bytes).map_err(|e| e.to_string())?;
    let verified = keyring.verify(&envelope).map_err(|e| e.to_string())?;
    if verified.payload_type() != ostiary_canon::intoto::PAYLOAD_TYPE {
        return Err(format!("it is no in-toto statement but `{}`", verified.payload_type()));
    }
    serde_json::from_slice(verified.payload()).map_err(|e| e.to_string())
}

/// Writes all evidence of a version, given by its place in the API, with index and keys.
pub(crate) async fn export(api: &Api, version: &str, out: &Path) -> Result<Vec<PathBuf>, CliError> {
    std::fs::create_dir_all(out)
        .map_err(|e| CliError::could_not_run(format!("cannot make `{}`: {e}", out.display())))?;
    let mut written = Vec::new();
    let mut keep = |name: String, bytes: &[u8]| {
        let path = out.join(name);
        local::write(&path, bytes)?;
        written.push(path);
        Ok::<_, CliError>(())
    };
    let listed = api.get(&format!("{version}/evidence")).await?;
    for evidence in listed.as_array().into_iter().flatten() {
        let id = word(&evidence["id"]);
        let name = format!("{}-{id}", word(&evidence["gate"]));
        keep(format!("{name}.dsse.json"), &api.get_bytes(&format!("/api/v1/evidence/{id}/envelope")).await?)?;
        keep(format!("{name}.report.json"), &api.get_bytes(&format!("/api/v1/evidence/{id}/report")).await?)?;
    }
    keep("index.json".to_owned(), listed.to_string().as_bytes())?;
    keep("keys.json".to_owned(), &api.get_bytes(KEYS).await?)?;
    Ok(written)
}
