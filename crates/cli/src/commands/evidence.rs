//! Evidence: read, verified by oneself, carried away.

use std::path::PathBuf;

use clap::Subcommand;
use ostiary_canon::dsse::Keyring;
use serde_json::{Value, json};

use super::{agent::word, version::Which};
use crate::{
    api::{Remote, read},
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
};

mod carry;
mod check;

pub(crate) use carry::{Dossier, Form};

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
    /// Verifies signatures on this machine
    Verify {
        /// DSSE envelopes, in-toto JSON lines or Sigstore bundles
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The keys to trust (JWKS); with neither this nor --key, those that the control plane publishes
        #[arg(long, value_name = "FILE")]
        keys: Option<PathBuf>,
        /// A key to trust (SPKI PEM)
        #[arg(long, value_name = "FILE")]
        key: Vec<PathBuf>,
        /// How many different trusted keys must have signed
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16))]
        threshold: u8,
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
        /// In which form; may be given several times
        #[arg(long = "as", value_enum, value_name = "FORM", default_value = "dsse")]
        forms: Vec<Form>,
    },
}

/// The keys of a JWKS file, trusted.
///
/// # Errors
/// When the file cannot be read, or holds anything else.
pub(crate) fn trusted_keys(path: &std::path::Path) -> Result<Keyring, CliError> {
    Ok(Keyring::trusting(carry::keys(&read(path)?)?))
}

// === impl Evidence ===

impl Evidence {
    pub(crate) async fn run(self, console: Console) -> Result<Exit, CliError> {
        match self {
            Self::Get { id, remote } => {
                let shown = remote.api()?.get(&format!("/api/v1/evidence/{id}")).await?;
                console.result(&shown, print);
                Ok(Exit::Done)
            }
            Self::Verify { files, keys, key, threshold, remote } => {
                let mut ring = Keyring::default();
                if let Some(path) = &keys {
                    carry::keys(&read(path)?)?.into_iter().for_each(|key| ring.trust(key));
                }
                for path in &key {
                    ring.trust(check::pem(path)?);
                }
                if keys.is_none() && key.is_empty() {
                    let published = remote.api()?.get_bytes(carry::KEYS).await?;
                    carry::keys(&published)?.into_iter().for_each(|key| ring.trust(key));
                }
                check::verify(console, &files, &ring, threshold.into())
            }
            Self::Export { which, out, forms } => {
                let dossier = Dossier::fetch(&which.remote.api()?, &which.path()).await?;
                let written = dossier.write(&out, &forms)?;
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
