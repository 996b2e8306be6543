//! Evidence that is carried away: as we sign it, as in-toto JSON lines, as Sigstore bundles, with the keys to verify it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bytes::Bytes;
use ostiary_canon::{
    dsse::{Envelope, Jwks},
    json::{Limits, parse_strict},
    sigstore,
};
use serde_json::Value;

use crate::{api::Api, commands::agent::word, error::CliError, local};

/// In which form evidence is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Form {
    /// One DSSE envelope a file, byte for byte as signed, with its report
    Dsse,
    /// All envelopes in one file of JSON lines
    IntotoJsonl,
    /// One Sigstore bundle a file (v0.3, by public key)
    Sigstore,
    /// The SLSA verification summary alone, as DSSE envelope
    Vsa,
}

/// All evidence of one version.
pub(crate) struct Dossier {
    /// What stands of it at the control plane.
    index: Value,
    /// By name: `conformance-evidence_…`.
    pieces: Vec<Piece>,
    /// The verification summary, where there is one.
    summary: Option<Bytes>,
    /// The key set that it verifies with.
    keys: Bytes,
}

struct Piece {
    name: String,
    envelope: Bytes,
    report: Bytes,
}

/// Where a control plane publishes its keys.
pub(super) const KEYS: &str = "/.well-known/ostiary-keys.json";

// === impl Dossier ===

impl Dossier {
    /// Fetches what a control plane holds about the version at `path`.
    pub(crate) async fn fetch(api: &Api, path: &str) -> Result<Self, CliError> {
        let index = api.get(&format!("{path}/evidence")).await?;
        let mut pieces = Vec::new();
        for evidence in index.as_array().into_iter().flatten() {
            let id = word(&evidence["id"]);
            pieces.push(Piece {
                name: format!("{}-{id}", word(&evidence["gate"])),
                envelope: api.get_bytes(&format!("/api/v1/evidence/{id}/envelope")).await?,
                report: api.get_bytes(&format!("/api/v1/evidence/{id}/report")).await?,
            });
        }
        // a version that is not admitted, or was quarantined, has none
        let summary = match api.get_bytes(&format!("{path}/vsa")).await {
            Ok(summary) => Some(summary),
            Err(error) if error.is("NOT_READY") => None,
            Err(error) => return Err(error),
        };
        Ok(Self { index, pieces, summary, keys: api.get_bytes(KEYS).await? })
    }

    /// Writes these forms into `folder`, with the keys as set and as PEM, and says what was written.
    pub(crate) fn write(&self, folder: &Path, forms: &[Form]) -> Result<Vec<PathBuf>, CliError> {
        let mut files: Vec<(String, Vec<u8>)> = vec![("keys.json".to_owned(), self.keys.to_vec())];
        for form in forms {
            files.extend(self.files(*form)?);
        }
        for key in keys(&self.keys)? {
            let pem = key.to_spki_pem().map_err(|e| CliError::because("a key cannot be written", &e))?;
            files.push((format!("{}.pem", key.key_id()), pem.into_bytes()));
        }
        fs::create_dir_all(folder)
            .map_err(|e| CliError::could_not_run(format!("cannot make `{}`: {e}", folder.display())))?;
        let mut written = Vec::new();
        for (name, bytes) in files {
            let path = folder.join(name);
            local::write(&path, &bytes)?;
            written.push(path);
        }
        Ok(written)
    }

    fn files(&self, form: Form) -> Result<Vec<(String, Vec<u8>)>, CliError> {
        let envelopes = || self.pieces.iter().map(|piece| (piece.name.clone(), &piece.envelope));
        Ok(match form {
            Form::Dsse => {
                let each = self.pieces.iter().flat_map(|piece| {
                    [
                        (format!("{}.dsse.json", piece.name), piece.envelope.to_vec()),
                        (format!("{}.report.json", piece.name), piece.report.to_vec()),
                    ]
                });
                each.chain([("index.json".to_owned(), self.index.to_string().into_bytes())]).collect()
            }
            Form::IntotoJsonl => {
                let summary = self.summary.iter().map(|summary| ("vsa".to_owned(), summary));
                let mut lines = String::new();
                for (name, bytes) in envelopes().chain(summary) {
                    lines.push_str(&envelope(&name, bytes)?.to_json());
                    lines.push('\n');
                }
                vec![("evidence.intoto.jsonl".to_owned(), lines.into_bytes())]
            }
            Form::Sigstore => {
                let mut files = Vec::new();
                for (name, bytes) in envelopes() {
                    files.extend(bundles(&name, &envelope(&name, bytes)?));
                }
                files
            }
            Form::Vsa => {
                let summary = self.summary.as_ref().ok_or_else(|| {
                    CliError::refused("there is no verification summary of this version now")
                        .hint("it is made while the version is admitted and on the road, or after a gate rejected it")
                })?;
                vec![("vsa.dsse.json".to_owned(), summary.to_vec())]
            }
        })
    }
}

/// The public keys of a key set.
pub(super) fn keys(bytes: &[u8]) -> Result<Vec<ostiary_canon::dsse::VerifyingKey>, CliError> {
    let value = parse_strict(bytes, Limits::DOCUMENT);
    let value = value.map_err(|e| CliError::because("the keys are no acceptable JSON", &e))?;
    let jwks: Jwks = serde_json::from_value(value).map_err(|e| CliError::because("the keys are no key set", &e))?;
    jwks.verifying_keys().map_err(|e| CliError::because("the keys cannot be used", &e))
}

fn envelope(name: &str, bytes: &[u8]) -> Result<Envelope, CliError> {
    Envelope::parse(bytes).map_err(|e| CliError::because(format!("evidence `{name}` is no envelope"), &e))
}

/// One bundle a signature; the usual one has the plain name.
fn bundles(name: &str, envelope: &Envelope) -> Vec<(String, Vec<u8>)> {
    let bundles = sigstore::Bundle::of(envelope);
    let single = bundles.len() == 1;
    let file = |bundle: &sigstore::Bundle| match single {
        true => format!("{name}.sigstore.json"),
        false => format!("{name}-{}.sigstore.json", &bundle.key().hex()[..16]),
    };
    bundles.iter().map(|bundle| (file(bundle), bundle.to_json().into_bytes())).collect()
}
