//! What was executed: an honest agent and its liar, as the reports of both say.
//!
//! The table of promises (`docs/promises.md`) is made of these records and of nothing else, so that an id stands in it
//! only while a test really drives both agents. Start with [`executed`].

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};
use ostiary_canon::Digest;
use serde_json::{Value, json};

use crate::{model::Caught, target::root};

/// The agent on the official Python SDK.
pub const PYTHON: &str = "a2a-sdk (Python)";
/// The agent on the official JavaScript SDK.
pub const JAVASCRIPT: &str = "@a2a-js/sdk (JavaScript)";
/// The agent on the official Rust SDK.
pub const RUST: &str = "a2a-server-lf (Rust)";
/// The agent on the published framework `fasta2a`.
pub const FASTA2A: &str = "fasta2a (Python)";

/// One broken promise that was caught, beside the same check passing for the honest agent.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The promise's id, as the check covers it.
    pub id: String,
    /// What the agent is built on; [`MEMORY`] for the agent of unit tests.
    pub agent: String,
    /// `JSON-RPC`, `HTTP+JSON`, `gRPC`, or `card` where no binding was called.
    pub binding: String,
    /// What the liar did.
    pub lie: String,
    /// The check that saw it.
    pub check: String,
    /// The layer of the finding.
    pub layer: String,
    /// Its reason code.
    pub code: String,
}

/// The agent of unit tests, whose recordings are changed.
pub const MEMORY: &str = "in memory";

/// Records that a liar was caught and the honest agent passed.
///
/// Both reports are of whole runs: each of the `wanted` layers and codes must be a FAIL of the liar's report, by a check
/// that has a PASS and no FAIL for the same profile in the honest one. `agent` says what both are built on, `lie` in a few
/// words what the liar does.
///
/// # Errors
/// When a wanted failure is missing, or the honest agent did not pass its check.
pub fn executed(agent: &str, lie: &str, honest: &Value, lying: &Value, wanted: &[Caught]) -> Result<()> {
    ensure!(!wanted.is_empty(), "{agent}, {lie}: a lie that nothing is wanted for proves nothing");
    let mut rows = Vec::new();
    for (layer, code) in wanted {
        let shown = |f: &&Value| f["verdict"] == "FAIL" && f["layer"] == *layer && f["reason_code"] == *code;
        let failing: Vec<&Value> = findings(lying).filter(shown).collect();
        ensure!(!failing.is_empty(), "{agent}, {lie}: no {layer} finding {code} in {lying:#}");
        let paired: Vec<&Value> = failing.iter().copied().filter(|f| passed(honest, f)).collect();
        if paired.is_empty() {
            bail!("{agent}, {lie}: the honest run has no PASS beside {:#}", failing[0]);
        }
        rows.extend(paired.into_iter().map(|f| row(agent, lie, f, lying)));
    }
    rows.sort_by_key(Value::to_string);
    rows.dedup();
    write("sdk", &Value::Array(rows))
}

/// Records that a report tells what it leaves uncovered (O-02): the promise `id` is shown in the first of two reports on one
/// agent, and listed as open in the second for the cause `why`.
///
/// # Errors
/// When either report says something else.
pub fn uncovered(agent: &str, what: &str, reports: (&Value, &Value), id: &str, why: &str) -> Result<()> {
    let list = |report: &'_ Value, name: &str| report["coverage"][name].as_array().cloned().unwrap_or_default();
    let (whole, bare) = reports;
    let shown = list(whole, "promises").iter().any(|p| p["id"] == id && p["verdict"] == "PASS");
    ensure!(shown, "{agent}: {id} is not shown in {:#}", whole["coverage"]["promises"]);
    let open = |u: &Value| u["why"] == why && u["ids"].as_array().is_some_and(|ids| ids.iter().any(|i| i == id));
    ensure!(list(bare, "uncovered").iter().any(open), "{agent}: {id} is not open for `{why}`: {:#}", bare["coverage"]);
    let row = json!({
        "agent": agent, "lie": what, "binding": "report", "check": "coverage", "layer": "–", "code": why,
        "covers": ["O-02"], "harness": bare["harness_version"],
    });
    write("sdk", &json!([row]))
}

/// All pairs that were executed by this harness, sorted, each once.
///
/// # Errors
/// When a record cannot be read.
pub fn all() -> Result<Vec<Pair>> {
    let harness = ostiary_verify::Harness::standard().version();
    let rows = read("sdk")?;
    let fresh = rows.iter().filter(|row| row["harness"] == harness.as_str());
    let mut pairs: Vec<Pair> = fresh.flat_map(pairs_of).collect();
    pairs.extend(in_memory(&read("unit")?));
    pairs.sort();
    pairs.dedup();
    Ok(pairs)
}

/// Unit tests record both halves apart: the check that passed, and the change that it caught.
fn in_memory(rows: &[Value]) -> Vec<Pair> {
    let harness = ostiary_verify::Harness::standard();
    let honest = |check: &str| rows.iter().any(|r| r["check"] == check && r["verdict"] == "PASS");
    let caught = |row: &&Value| row["verdict"] == "FAIL" && row["check"].as_str().is_some_and(honest);
    let of = |row: &Value| {
        let check = harness.checks().find(|c| row["check"] == c.spec().id)?;
        let mut row = row.clone();
        row["agent"] = MEMORY.into();
        row["binding"] = "recording".into();
        row["covers"] = json!(check.spec().covers);
        Some(pairs_of(&row))
    };
    rows.iter().filter(caught).filter_map(of).flatten().collect()
}

fn pairs_of(row: &Value) -> Vec<Pair> {
    let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let ids = row["covers"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let pair = |id: &str| Pair {
        id: id.to_owned(),
        agent: text("agent"),
        binding: text("binding"),
        lie: text("lie"),
        check: text("check"),
        layer: text("layer"),
        code: text("code"),
    };
    ids.map(pair).collect()
}

fn findings(report: &Value) -> impl Iterator<Item = &Value> {
    report["findings"].as_array().into_iter().flatten()
}

/// Whether the check of a finding passed in another report, for the same profile and case.
fn passed(report: &Value, finding: &Value) -> bool {
    // what only warns changes no verdict
    let counts = |f: &&Value| f["severity"] == "error";
    let same = |f: &&Value| counts(f) && ["check", "profile", "case"].iter().all(|key| f[*key] == finding[*key]);
    let verdicts: Vec<&Value> = findings(report).filter(same).map(|f| &f["verdict"]).collect();
    verdicts.iter().any(|v| **v == "PASS") && verdicts.iter().all(|v| **v != "FAIL")
}

fn row(agent: &str, lie: &str, finding: &Value, report: &Value) -> Value {
    json!({
        "agent": agent,
        "lie": lie,
        "binding": binding(finding["profile"].as_str()),
        "check": finding["check"],
        "layer": finding["layer"],
        "code": finding["reason_code"],
        "severity": finding["severity"],
        "covers": finding["covers"],
        "honest": "PASS",
        "harness": report["harness_version"],
    })
}

fn binding(profile: Option<&str>) -> &'static str {
    let known = [("a2a-jsonrpc-", "JSON-RPC"), ("a2a-http-json-", "HTTP+JSON"), ("a2a-grpc-", "gRPC")];
    let of = |profile: &str| known.iter().find(|(start, _)| profile.starts_with(start)).map_or("other", |(_, n)| n);
    profile.map_or("card", of)
}

fn folder(kind: &str) -> PathBuf {
    root().join("target/pairs").join(kind)
}

/// One file a record, named by its content: tests run as many processes, and a test that runs twice says the same.
fn write(kind: &str, record: &Value) -> Result<()> {
    let folder = folder(kind);
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let text = record.to_string();
    let path = folder.join(format!("{}.json", Digest::of(text.as_bytes()).hex()));
    let draft = path.with_extension(format!("{}.draft", std::process::id()));
    fs::write(&draft, text).with_context(|| format!("failed to write {}", draft.display()))?;
    fs::rename(&draft, &path).with_context(|| format!("failed to write {}", path.display()))
}

fn read(kind: &str) -> Result<Vec<Value>> {
    let Ok(entries) = fs::read_dir(folder(kind)) else { return Ok(Vec::new()) };
    let mut rows = Vec::new();
    for entry in entries {
        let path = entry.context("failed to read the folder of pairs")?.path();
        if path.extension().is_some_and(|e| e == "json") {
            rows.extend(record(&path)?);
        }
    }
    Ok(rows)
}

fn record(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is no record", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdict: &str, profile: &str) -> Value {
        let code = if verdict == "FAIL" { json!("STREAM_TRUNCATED") } else { Value::Null };
        json!({"harness_version": "of a test", "findings": [{
            "check": "a2a.stream.works", "profile": profile, "case": null, "verdict": verdict, "layer": "protocol",
            "reason_code": code, "severity": "error", "covers": ["I-09"],
        }]})
    }

    const WANTED: &[Caught] = &[("protocol", "STREAM_TRUNCATED")];

    #[test]
    fn a_liar_that_is_not_caught_is_no_pair() {
        let passes = report("PASS", "a2a-grpc-1.0");
        assert!(executed(PYTHON, "nothing", &passes, &passes, WANTED).is_err());
        assert!(executed(PYTHON, "nothing", &passes, &report("FAIL", "a2a-grpc-1.0"), &[]).is_err());
    }

    #[test]
    fn an_honest_agent_that_does_not_pass_for_the_same_profile_is_no_pair() {
        let fails = report("FAIL", "a2a-grpc-1.0");
        for (verdict, profile) in
            [("PASS", "a2a-jsonrpc-1.0"), ("INCONCLUSIVE", "a2a-grpc-1.0"), ("NOT_APPLICABLE", "a2a-grpc-1.0")]
        {
            assert!(executed(PYTHON, "cuts", &report(verdict, profile), &fails, WANTED).is_err(), "{verdict}");
        }
    }
}
