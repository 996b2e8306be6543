//! One verdict in every format: the same exit code, and documents that other people's readers take.

use std::{collections::BTreeSet, fs, process::Command};

use anyhow::{Context as _, Result, ensure};
use ostiary_lab::proxy::{Lie, LyingProxy, Options, Policy, Upstream};
use ostiary_tests::{
    program,
    target::{free_address, root},
    world::World,
};
use serde_json::{Value, json};

const FORMATS: [&str; 6] = ["human", "json", "jsonl", "junit", "sarif", "markdown"];

/// A schema of SARIF 2.1.0 that a package of Microsoft's brings.
const SARIF_SCHEMA: &str =
    "target/targets/javascript/node_modules/@microsoft/jest-sarif/lib/schemas/sarif-2.1.0-rtm.5.json";

const CARD: &str = "bundles/planning-agent/agent-card.json";

/// What one command prints in each format.
struct Printed {
    code: i32,
    texts: Vec<(&'static str, String)>,
}

// === impl Printed ===

impl Printed {
    /// Runs a command in every format; all must end with one code.
    fn by(arguments: &[&str]) -> Result<Self> {
        let mut codes = BTreeSet::new();
        let mut texts = Vec::new();
        for format in FORMATS {
            let output = program::run(&[arguments, &["--format", format]].concat())?;
            codes.insert(output.status.code().context("ended by a signal")?);
            texts.push((format, String::from_utf8(output.stdout)?));
        }
        let [code] = codes.iter().copied().collect::<Vec<_>>()[..] else {
            anyhow::bail!("{arguments:?} ends with {codes:?}");
        };
        Ok(Self { code, texts })
    }

    fn text(&self, format: &str) -> &str {
        self.texts.iter().find(|(name, _)| *name == format).map_or("", |(_, text)| text)
    }

    fn report(&self) -> Result<Value> {
        serde_json::from_str(self.text("json")).context("no JSON")
    }

    /// The JUnit document as `junitparser` reads it.
    fn junit(&self) -> Result<Value> {
        let file = tempfile::NamedTempFile::new()?;
        fs::write(file.path(), self.text("junit"))?;
        let python = root().join("target/targets/python/bin/python");
        let script = root().join("tests/targets/python/read_junit.py");
        let output = Command::new(python).arg(script).arg(file.path()).output().context("failed to start Python")?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{said}\n{}", self.text("junit"));
        serde_json::from_slice(&output.stdout).context("the reader printed no JSON")
    }

    /// The SARIF document, valid by its schema.
    fn sarif(&self) -> Result<Value> {
        let schema = fs::read(root().join(SARIF_SCHEMA)).context("run `cargo xtask setup`")?;
        let mut schema: Value = serde_json::from_slice(&schema)?;
        for of in ["run", "toolComponent"] {
            // a pattern with a bracket too many, which is a regular expression to some readers only; we name no language
            schema["definitions"][of]["properties"]["language"] = json!({"not": {}});
        }
        let validator = jsonschema::validator_for(&schema)?;
        let log: Value = serde_json::from_str(self.text("sarif"))?;
        let wrong: Vec<String> = validator.iter_errors(&log).map(|e| format!("{}: {e}", e.instance_path())).collect();
        ensure!(wrong.is_empty(), "{wrong:#?}\n{log:#}");
        Ok(log)
    }
}

fn codes_of<'v>(findings: impl IntoIterator<Item = &'v Value>, name: &str) -> BTreeSet<&'v str> {
    findings.into_iter().filter_map(|one| one[name].as_str()).collect()
}

fn failed(report: &Value) -> BTreeSet<&str> {
    let findings = report["findings"].as_array().into_iter().flatten();
    codes_of(findings.filter(|f| f["verdict"] == "FAIL" && f["severity"] == "error"), "reason_code")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_of_a_real_run_is_the_same_in_every_format() -> Result<()> {
    let world = World::open()?;
    let recording = tempfile::NamedTempFile::new()?;
    let path = recording.path().to_str().context("UTF-8")?;
    let upstream = Upstream::plain(world.address().to_string());
    let proxy = LyingProxy::start(upstream, Policy::lie(Lie::DropArtifact), Options::default()).await?;
    let (code, _) = tokio::task::block_in_place(|| world.verify(proxy.addr(), &["--record", path]))?;
    proxy.shutdown().await;
    assert_eq!(code, 1);
    let bundle = world.bundle().to_str().context("UTF-8")?;
    let printed = tokio::task::block_in_place(|| Printed::by(&["judge", path, "--bundle", bundle]))?;
    assert_eq!(printed.code, 1);
    let report = printed.report()?;
    let wanted = failed(&report);
    assert!(!wanted.is_empty(), "{report:#}");

    let junit = printed.junit()?;
    let suites = junit["suites"].as_array().context("suites")?;
    let failures = suites.iter().flat_map(|suite| suite["failed"].as_array().into_iter().flatten());
    assert_eq!(codes_of(failures, "type"), wanted, "{junit:#}");
    assert!(junit["failures"].as_u64() > Some(0), "{junit:#}");

    let sarif = printed.sarif()?;
    let results = sarif["runs"][0]["results"].as_array().context("results")?;
    let errors = results.iter().filter(|result| result["level"] == "error");
    assert_eq!(codes_of(errors, "ruleId"), wanted, "{sarif:#}");
    for result in results {
        let uri = &result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
        assert!(uri.as_str().is_some_and(|uri| uri.contains("bundle/")), "scanners show what has a file: {result:#}");
    }

    let markdown = printed.text("markdown");
    for code in &wanted {
        assert!(markdown.contains(&format!("`{code}`")), "{code}: {markdown}");
    }
    let last = markdown.trim_end().lines().next_back().unwrap_or_default();
    assert!(last.starts_with("Verified: ") && last.contains("Not verified"), "{last}");
    events_end_with_the_report(&printed, &report)?;
    nothing_is_printed_twice(printed.text("human"));
    Ok(())
}

fn events_end_with_the_report(printed: &Printed, report: &Value) -> Result<()> {
    let events: Vec<Value> =
        printed.text("jsonl").lines().map(serde_json::from_str).collect::<Result<_, _>>().context("JSON lines")?;
    let (last, before) = events.split_last().context("events")?;
    assert!(before.iter().all(|event| event["event"] == "judged"));
    assert_eq!(before.len(), report["findings"].as_array().map_or(0, Vec::len));
    assert_eq!((&last["event"], &last["report"]), (&json!("finished"), report));
    Ok(())
}

/// Each block of a finding has different lines, and what did not apply takes one line.
fn nothing_is_printed_twice(human: &str) {
    let blocks: Vec<&str> = human.split("\n\n").collect();
    for (n, block) in blocks.iter().enumerate() {
        assert!(!blocks[..n].contains(block), "{block}");
    }
    assert_eq!(human.lines().filter(|line| line.starts_with("NOT_APPLICABLE")).count(), 1, "{human}");
    let lines = human.lines().map(str::trim);
    let sentences = lines.filter(|line| line.starts_with("expected ") && line.contains("; observed ")).count();
    assert_eq!(sentences, 0, "expected and observed stand on their own lines: {human}");
}

#[test]
fn a_target_that_is_not_there_is_inconclusive_and_unreachable_in_every_format() -> Result<()> {
    let world = World::open()?;
    let environment = world.environment(free_address()?)?;
    let (bundle, environment) = (world.bundle().to_str().context("UTF-8")?, environment.to_str().context("UTF-8")?);
    let printed = Printed::by(&["verify", bundle, "--env", environment])?;
    assert_eq!(printed.code, 4, "it could not be reached");
    let junit = printed.junit()?;
    assert_eq!(junit["failures"], 0, "{junit:#}");
    assert!(junit["errors"].as_u64() > Some(0), "an INCONCLUSIVE must not look green: {junit:#}");
    let sarif = printed.sarif()?;
    let results = sarif["runs"][0]["results"].as_array().context("results")?;
    assert!(!results.is_empty() && results.iter().all(|result| result["level"] != "error"), "{sarif:#}");
    let first: Value = serde_json::from_str(printed.text("jsonl").lines().next().context("events")?)?;
    assert_eq!(first["event"], "planned", "as it happens, not afterwards");
    Ok(())
}

#[test]
fn cards_pass_fail_and_fail_to_be_read_with_one_code_in_every_format() -> Result<()> {
    let good = root().join(CARD);
    let good = good.to_str().context("UTF-8")?;
    let printed = Printed::by(&["card", "lint", good])?;
    assert_eq!(printed.code, 0);
    let junit = printed.junit()?;
    assert_eq!((&junit["failures"], &junit["errors"]), (&json!(0), &json!(0)), "{junit:#}");
    assert_eq!(printed.sarif()?["runs"][0]["results"], json!([]));

    let bad = tempfile::NamedTempFile::new()?;
    let mut card: Value = serde_json::from_slice(&fs::read(good)?)?;
    card["name"] = json!("x\u{0}\u{1b}]]></failure>|`@everyone");
    card["supportedInterfaces"][0]["url"] = json!("http://a.example.test/]]>\u{8}|`");
    fs::write(bad.path(), card.to_string())?;
    let bad = bad.path().to_str().context("UTF-8")?;
    let printed = Printed::by(&["card", "lint", good, bad])?;
    assert_eq!(printed.code, 1, "the worst of several");
    let junit = printed.junit()?;
    assert_eq!(junit["suites"].as_array().map(Vec::len), Some(2), "{junit:#}");
    assert!(junit["failures"].as_u64() > Some(0), "{junit:#}");
    assert_eq!(printed.sarif()?["runs"].as_array().map(Vec::len), Some(2));

    let printed = Printed::by(&["card", "lint", "no-such-card.json"])?;
    assert_eq!(printed.code, 4);
    assert_eq!(printed.junit()?["errors"], 1, "no green document where nothing ran");
    assert_eq!(printed.sarif()?["runs"][0]["invocations"][0]["executionSuccessful"], false);
    assert!(printed.text("markdown").contains("could not run"));
    Ok(())
}

#[test]
fn snapshots_are_printed_in_every_format_too() -> Result<()> {
    let snapshot = root().join("bundles/planning-agent/tools.snapshot.json");
    let printed = Printed::by(&["mcp", "lint", snapshot.to_str().context("UTF-8")?])?;
    let report = printed.report()?;
    let junit = printed.junit()?;
    let green = junit["failures"] == 0 && junit["errors"] == 0;
    assert_eq!(green, report["verdict"] == "PASS", "{junit:#}");
    printed.sarif()?;
    Ok(())
}

#[test]
fn other_commands_and_wrong_usage_end_with_2_in_every_format() -> Result<()> {
    assert_eq!(Printed::by(&["verify"])?.code, 2);
    for format in ["jsonl", "junit", "sarif", "markdown"] {
        let bundle = root().join("bundles/planning-agent");
        let output = program::run(&["bundle", "digest", bundle.to_str().context("UTF-8")?, "--format", format])?;
        assert_eq!(output.status.code(), Some(2), "{format}");
    }
    Ok(())
}
