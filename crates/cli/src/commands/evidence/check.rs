//! Verifying evidence on this machine: envelopes, JSON lines of them, Sigstore bundles.

use std::path::{Path, PathBuf};

use ostiary_canon::{
    dsse::{Envelope, Keyring, VerifyingKey},
    intoto::PAYLOAD_TYPE,
    sigstore::Bundle,
};
use serde_json::{Value, json};

use crate::{
    api::read,
    commands::agent::word,
    console::{Console, coloured},
    error::CliError,
    exit::Exit,
};

/// A public key of a PEM file.
pub(super) fn pem(path: &Path) -> Result<VerifyingKey, CliError> {
    let text = String::from_utf8_lossy(&read(path)?).into_owned();
    VerifyingKey::from_spki_pem(&text)
        .map_err(|e| CliError::because(format!("`{}` cannot be used", path.display()), &e))
}

/// Verifies each envelope of each file; one that does not verify fails the command.
pub(super) fn verify(console: Console, files: &[PathBuf], keys: &Keyring, threshold: usize) -> Result<Exit, CliError> {
    let mut lines = Vec::new();
    for path in files {
        match envelopes(&read(path)?) {
            Ok(envelopes) => lines.extend(envelopes.into_iter().map(|(line, envelope)| {
                let verdict = envelope.and_then(|envelope| statement(&envelope, keys, threshold));
                said(path, line, verdict)
            })),
            Err(why) => lines.push(said(path, None, Err(why))),
        }
    }
    let all = lines.iter().all(|line| line["verified"] == json!(true));
    console.result(&json!({"verified": all, "files": lines}), |console, _| {
        for line in &lines {
            let (word_of, rest) = match line["verified"] == json!(true) {
                true => ("PASS", word(&line["statement"]["predicateType"])),
                false => ("FAIL", word(&line["why"])),
            };
            let place = line.get("line").map(|line| format!(":{line}")).unwrap_or_default();
            console.line(format!("{}  {}{place}  {rest}", coloured(word_of), word(&line["file"])));
        }
    });
    Ok(if all { Exit::Done } else { Exit::Failed })
}

/// An envelope, or why there is none, with its line where it stands among others.
type Found = (Option<usize>, Result<Envelope, String>);

/// The envelopes of a file: a bundle's, a single one, or one a line.
fn envelopes(bytes: &[u8]) -> Result<Vec<Found>, String> {
    let single = match serde_json::from_slice::<Value>(bytes) {
        Ok(value) if value.get("mediaType").is_some() => {
            Bundle::parse(bytes).map(|bundle| bundle.envelope().clone()).map_err(|e| e.to_string())
        }
        Ok(_) => Envelope::parse(bytes).map_err(|e| e.to_string()),
        Err(_) => return lines(bytes),
    };
    Ok(vec![(None, single)])
}

fn lines(bytes: &[u8]) -> Result<Vec<Found>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is no JSON and no text".to_owned())?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let found: Vec<Found> =
        lines.map(|(n, line)| (Some(n + 1), Envelope::parse(line.as_bytes()).map_err(|e| e.to_string()))).collect();
    if found.is_empty() { Err("it holds no envelope".to_owned()) } else { Ok(found) }
}

/// What a verified envelope says, and who signed; nothing is read before its signatures hold.
fn statement(envelope: &Envelope, keys: &Keyring, threshold: usize) -> Result<(Value, Vec<String>), String> {
    let verified = keys.verify_threshold(envelope, threshold).map_err(|e| e.to_string())?;
    if verified.payload_type() != PAYLOAD_TYPE {
        return Err(format!("it is no in-toto statement but `{}`", verified.payload_type()));
    }
    let said = serde_json::from_slice(verified.payload()).map_err(|e| e.to_string())?;
    Ok((said, verified.keys().iter().map(ToString::to_string).collect()))
}

fn said(path: &Path, line: Option<usize>, verdict: Result<(Value, Vec<String>), String>) -> Value {
    let mut said = match verdict {
        Ok((statement, keys)) => json!({"file": path, "verified": true, "keys": keys, "statement": statement}),
        Err(why) => json!({"file": path, "verified": false, "why": why}),
    };
    if let Some(line) = line {
        said["line"] = json!(line);
    }
    said
}

#[cfg(test)]
mod tests {
    use ostiary_canon::dsse::SigningKey;

    use super::*;

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed([seed; 32])
    }

    #[test]
    fn the_three_forms_are_told_apart_by_what_they_hold() {
        let envelope = key(1).sign(PAYLOAD_TYPE, *b"{}");
        let bundle = Bundle::of(&envelope)[0].to_json();
        let one = |text: &str| envelopes(text.as_bytes()).unwrap().remove(0).1.unwrap();
        assert_eq!(one(&envelope.to_json()), envelope);
        assert_eq!(one(&bundle), envelope);
        let many = envelopes(format!("{0}\n\n{0}\nnonsense\n", envelope.to_json()).as_bytes()).unwrap();
        let lines: Vec<(Option<usize>, bool)> = many.iter().map(|(line, found)| (*line, found.is_ok())).collect();
        assert_eq!(lines, [(Some(1), true), (Some(3), true), (Some(4), false)]);
        assert!(envelopes(b"\n").is_err(), "nothing is not verified");
    }

    #[test]
    fn a_threshold_counts_keys_and_not_signatures() {
        let ring = Keyring::trusting([key(1).verifying_key(), key(2).verifying_key()]);
        let mut envelope = key(1).sign(PAYLOAD_TYPE, *b"{}");
        envelope.signatures.push(envelope.signatures[0].clone());
        assert!(statement(&envelope, &ring, 2).unwrap_err().contains("1 trusted keys signed, 2 are needed"));
        key(2).countersign(&mut envelope);
        assert_eq!(statement(&envelope, &ring, 2).unwrap().1.len(), 2);
    }
}
