//! Evidence of a real run in the hands of verifiers that are not ours: `securesystemslib` and `in-toto-attestation` for
//! envelopes, `@sigstore/verify` for bundles; and thresholds, where both sides must count alike (L-02).

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, ensure};
use ostiary_canon::dsse::{Envelope, Keyring, SigningKey};
use ostiary_tests::{program, target::root};
use serde_json::{Value, json};
use tempfile::TempDir;

const SUMMARY: &str = "https://slsa.dev/verification_summary/v1";
const AUTHORIZATION: &str = "https://ostiary.dev/attestation/admission/v1";
const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// Files of a folder whose names end so.
fn files(folder: &Path, end: &str) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("{}", folder.display()))?;
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.map(|e| e.path())).collect::<Result<_, _>>()?;
    files.retain(|path| path.to_str().is_some_and(|path| path.ends_with(end)));
    files.sort();
    ensure!(!files.is_empty(), "no file in {} ends with {end}", folder.display());
    Ok(files)
}

fn python(script: &str) -> Result<Command> {
    let python = root().join("target/targets/python/bin/python");
    ensure!(python.is_file(), "the Python verifiers are not installed: run `cargo xtask setup`");
    let mut command = Command::new(python);
    command.arg(root().join("tests/targets/python").join(script));
    Ok(command)
}

fn node(script: &str) -> Result<Command> {
    let installed = root().join("target/targets/javascript/node_modules/@sigstore/verify");
    ensure!(installed.is_dir(), "the JavaScript verifiers are not installed: run `cargo xtask setup`");
    let mut command = Command::new("node");
    command.arg(root().join("tests/targets/javascript").join(script));
    Ok(command)
}

fn lines(mut command: Command) -> Result<Vec<String>> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
    Ok(String::from_utf8(output.stdout)?.lines().map(str::to_owned).collect())
}

/// `ostiary evidence verify` with one key: exit code.
fn ours(key: &Path, files: &[PathBuf]) -> Result<Option<i32>> {
    let mut arguments = vec!["evidence", "verify", "--key", key.to_str().context("UTF-8")?];
    arguments.extend(files.iter().filter_map(|file| file.to_str()));
    Ok(program::run(&arguments)?.status.code())
}

#[test]
fn the_demos_evidence_verifies_everywhere_and_changed_evidence_nowhere() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let (code, shown) = program::json(&["demo", "--evidence", folder.path().to_str().context("UTF-8")?])?;
    assert_eq!((code, &shown["ok"]), (0, &json!(true)), "{shown:#}");
    for (version, result) in [("3.4.1", Some("PASSED")), ("3.4.2", Some("FAILED")), ("3.5.0", None)] {
        let evidence = folder.path().join(version);
        let key = &files(&evidence, ".pem")?[0];
        envelopes_verify(&evidence, key)?;
        summary_is(&evidence, key, result)?;
        bundles_verify(&evidence, key)?;
    }
    Ok(())
}

/// Envelopes and JSON lines, by securesystemslib, which also tries a changed payload; and by ourselves.
fn envelopes_verify(evidence: &Path, key: &Path) -> Result<()> {
    let envelopes = files(evidence, ".dsse.json")?;
    let jsonl = files(evidence, ".intoto.jsonl")?;
    let text = fs::read_to_string(&jsonl[0])?;
    let mut single = envelopes.clone();
    for (n, line) in text.lines().enumerate() {
        let file = evidence.join(format!("line-{n}.json"));
        fs::write(&file, line)?;
        single.push(file);
    }
    assert!(single.len() >= 2 * envelopes.len(), "each envelope stands in the JSON lines, too");
    let mut command = python("verify_evidence.py")?;
    command.arg(key).args(&single);
    let said = lines(command)?;
    assert_eq!(said.iter().filter(|line| line.ends_with("a changed payload is refused")).count(), single.len());
    assert!(said.iter().any(|line| line.contains(TEST_RESULT)), "{said:#?}");

    assert_eq!(ours(key, &[&envelopes[..], &jsonl[..]].concat())?, Some(0));
    let forged = evidence.join("forged.jsonl");
    let changed = text.replacen("\"payload\":\"e", "\"payload\":\"f", 1);
    ensure!(changed != text, "the change must change something");
    fs::write(&forged, changed)?;
    assert_eq!(ours(key, &[forged])?, Some(1), "one bad line of many");
    Ok(())
}

/// The summary of a version, read as the plain JSON that it is.
fn summary_is(evidence: &Path, key: &Path, wanted: Option<&str>) -> Result<()> {
    let jsonl = &files(evidence, ".intoto.jsonl")?[0];
    let key = key.to_str().context("UTF-8")?;
    let (_, said) = program::json(&["evidence", "verify", "--key", key, jsonl.to_str().context("UTF-8")?])?;
    let statements: Vec<&Value> =
        said["files"].as_array().into_iter().flatten().map(|line| &line["statement"]).collect();
    let of = |kind: &str| statements.iter().find(|s| s["predicateType"] == kind).copied();
    let summary = of(SUMMARY);
    assert_eq!(summary.and_then(|s| s["predicate"]["verificationResult"].as_str()), wanted, "{said:#}");
    if wanted == Some("PASSED") {
        let (summary, word) = (summary.context("a summary")?, of(AUTHORIZATION).context("an authorization")?);
        assert_eq!(summary["subject"], word["subject"], "about the same manifest");
        assert_eq!(summary["predicate"]["inputAttestations"].as_array().map(Vec::len), Some(4));
    }
    Ok(())
}

/// Bundles, by `@sigstore/verify`: honest, with another payload, under another key's name, without a signature.
fn bundles_verify(evidence: &Path, key: &Path) -> Result<()> {
    let bundles = files(evidence, ".sigstore.json")?;
    let check = |files: &[PathBuf]| {
        let mut command = node("verify_bundle.mjs")?;
        command.arg(key).args(files);
        lines(command)
    };
    let said = check(&bundles)?;
    assert!(said.len() == bundles.len() && said.iter().all(|line| line.starts_with("valid http")), "{said:#?}");
    assert_eq!(ours(key, &bundles)?, Some(0));

    let honest = fs::read_to_string(&bundles[0])?;
    let id = serde_json::from_str::<Value>(&honest)?["verificationMaterial"]["publicKey"]["hint"].clone();
    let id = id.as_str().context("a hint")?;
    let liars = [
        ("payload", honest.replacen("\"payload\":\"e", "\"payload\":\"f", 1), "invalid SIGNATURE_ERROR"),
        ("key", honest.replacen(id, &"0".repeat(64), 1), "invalid PUBLIC_KEY_ERROR"),
    ];
    for (what, text, verdict) in liars {
        ensure!(text != honest, "{what}: the change must change something");
        let file = evidence.join(format!("forged-{what}.json"));
        fs::write(&file, text)?;
        assert_eq!(check(std::slice::from_ref(&file))?, [verdict], "{what}");
        assert_eq!(ours(key, &[file])?, Some(1), "{what}");
    }
    Ok(())
}

/// Keys as files.
struct Keys {
    folder: TempDir,
}

// === impl Keys ===

impl Keys {
    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed([seed; 32])
    }

    fn pem(&self, seed: u8) -> Result<PathBuf> {
        let path = self.folder.path().join(format!("{seed}.pem"));
        fs::write(&path, Self::key(seed).verifying_key().to_spki_pem()?)?;
        Ok(path)
    }

    /// Who accepts `envelope` by this threshold of these keys: the library, the command, the keyring.
    fn accepted(&self, envelope: &Envelope, trusted: &[u8], threshold: usize) -> Result<[bool; 3]> {
        let file = self.folder.path().join("envelope.json");
        fs::write(&file, envelope.to_json())?;
        let pems = trusted.iter().map(|seed| self.pem(*seed)).collect::<Result<Vec<_>>>()?;
        let mut command = python("verify_threshold.py")?;
        command.arg(threshold.to_string()).arg(&file).args(&pems);
        let theirs = lines(command)?.first().is_some_and(|line| line.starts_with("accepted"));

        let threshold_text = threshold.to_string();
        let mut arguments = vec!["evidence", "verify", "--threshold", &threshold_text];
        for pem in &pems {
            arguments.extend(["--key", pem.to_str().context("UTF-8")?]);
        }
        arguments.push(file.to_str().context("UTF-8")?);
        let command = program::run(&arguments)?.status.code() == Some(0);
        let ring = Keyring::trusting(trusted.iter().map(|seed| Self::key(*seed).verifying_key()));
        Ok([theirs, command, ring.verify_threshold(envelope, threshold).is_ok()])
    }
}

#[test]
fn thresholds_count_different_trusted_keys_here_and_in_securesystemslib() -> Result<()> {
    let keys = Keys { folder: tempfile::tempdir()? };
    let signed = |by: &[u8]| {
        let mut envelope = Keys::key(by[0]).sign("application/vnd.in-toto+json", *b"{}");
        by[1..].iter().for_each(|seed| Keys::key(*seed).countersign(&mut envelope));
        envelope
    };
    let mut twice = signed(&[1]);
    twice.signatures.push(twice.signatures[0].clone());
    let mut borrowed = signed(&[1, 9]);
    borrowed.signatures[1].keyid = Keys::key(2).key_id();
    for (what, envelope, trusted, threshold, accepted) in [
        ("2 of 2", signed(&[1, 2]), &[1, 2][..], 2, true),
        ("2 of 3", signed(&[1, 3]), &[1, 2, 3], 2, true),
        ("1 where 2 are needed", signed(&[1]), &[1, 2, 3], 2, false),
        ("2 where 3 are needed", signed(&[1, 2]), &[1, 2, 3], 3, false),
        ("the same key twice", twice, &[1, 2], 2, false),
        ("a stranger as the second", signed(&[1, 9]), &[1, 2], 2, false),
        ("a stranger beside two", signed(&[1, 9, 2]), &[1, 2], 2, true),
        ("a stranger in a trusted key's name", borrowed, &[1, 2], 2, false),
    ] {
        assert_eq!(keys.accepted(&envelope, trusted, threshold)?, [accepted; 3], "{what}");
    }
    Ok(())
}

#[test]
fn who_signs_twice_stands_there_once_for_readers_refuse_doubled_names() -> Result<()> {
    let keys = Keys { folder: tempfile::tempdir()? };
    let mut envelope = Keys::key(1).sign("application/vnd.in-toto+json", *b"{}");
    Keys::key(1).countersign(&mut envelope);
    assert_eq!(envelope.signatures.len(), 1);
    assert_eq!(keys.accepted(&envelope, &[1], 1)?, [true; 3]);
    Ok(())
}
