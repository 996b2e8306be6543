//! The signatures of one card: integrity, never trust.

use std::path::{Path, PathBuf};

use clap::Args;
use ostiary_protocol::a2a::signature::{Anchors, Conclusion, Expectation, SignatureReport, verify};
use serde::Serialize;

use crate::{api::read, console::Console, error::CliError, exit::Exit};

/// Checks the signatures of a card against the operator's keys
///
/// A valid signature shows that the card is as its signer made it, and nothing of who the agent is or what it does.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// The card
    file: PathBuf,
    /// The operator's keys, as a JWK set; keys that the card names are never fetched
    #[arg(long, value_name = "FILE")]
    trust: PathBuf,
}

/// What the signatures come to.
#[derive(Serialize)]
struct Said {
    /// `intact`, `not_checked`, or the reason code.
    conclusion: String,
    /// Members of the card that no valid signature covers.
    unsigned: Vec<String>,
    #[serde(flatten)]
    report: SignatureReport,
}

/// Reads a JWK set.
///
/// # Errors
/// When it cannot be read or holds no key set.
pub(super) fn keys(path: &Path) -> Result<Anchors, CliError> {
    let what = format!("`{}` is no JWK set", path.display());
    Anchors::parse(&read(path)?).map_err(|e| CliError::because(&what, &e))
}

// === impl Verify ===

impl Verify {
    pub(super) fn run(self, console: Console) -> Result<Exit, CliError> {
        let report = verify(&read(&self.file)?, &keys(&self.trust)?);
        let (conclusion, exit) = match report.conclude(Expectation::Signature) {
            Conclusion::Intact => ("intact".to_owned(), Exit::Done),
            Conclusion::NotChecked => ("not_checked".to_owned(), Exit::Inconclusive),
            Conclusion::NotSigned => ("not_signed".to_owned(), Exit::Failed),
            Conclusion::Broken(reason) => (reason.to_string(), Exit::Failed),
        };
        let unsigned = report.unsigned().iter().map(|u| u.pointer.clone()).collect();
        console.result(&Said { conclusion, unsigned, report }, show);
        Ok(exit)
    }
}

fn show(console: &Console, said: &Said) {
    console.line(&said.conclusion);
    if let Some(why) = &said.report.refused {
        console.line(why);
    }
    for line in &said.report.signatures {
        console.line(format!("{}  {}", line.pointer, line.status.told()));
    }
    for pointer in &said.unsigned {
        console.line(format!("unsigned input: {pointer}"));
    }
}
