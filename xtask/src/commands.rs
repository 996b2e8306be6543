//! Commands that call cargo.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result, ensure};

use crate::{arrows, licences, setup, tidy};

/// The root of the checkout.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().expect("xtask lies in the checkout")
}

/// Runs a command in the checkout and fails when it does.
pub fn call(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command.current_dir(root()).status().with_context(|| format!("failed to start {shown}"))?;
    ensure!(status.success(), "{shown} ended with {status}");
    Ok(())
}

fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(arguments);
    command
}

/// Everything that CI runs.
pub fn everything() -> Result<()> {
    step("setup", setup::run)?;
    step("format", || call(&mut cargo(&["fmt", "--all", "--check"])))?;
    step("arrows", arrows::run)?;
    step("licences", licences::run)?;
    step("tidy", tidy::run)?;
    step("lints", || call(&mut cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"])))?;
    step("documentation", || {
        let mut doc = cargo(&["doc", "--workspace", "--no-deps", "--quiet"]);
        call(doc.env("RUSTDOCFLAGS", "-D warnings"))
    })?;
    step("tests", || {
        forget_pairs()?;
        tests(None)
    })?;
    step("promises", || promises(false))
}

fn step(name: &str, run: impl FnOnce() -> Result<()>) -> Result<()> {
    eprintln!("== {name}");
    run().with_context(|| format!("step `{name}` failed"))
}

/// All tests, or those whose name contains `filter`.
pub fn tests(filter: Option<&str>) -> Result<()> {
    // The end-to-end tests start these, as a user would.
    call(&mut cargo(&["build", "--quiet", "--package", "ostiary-cli"]))?;
    call(&mut cargo(&["build", "--quiet", "--package", "ostiary-router", "--example", "checking_proxy"]))?;
    let nextest = cargo(&["nextest", "--version"]).output().is_ok_and(|out| out.status.success());
    let mut run = if nextest {
        cargo(&["nextest", "run", "--workspace", "--no-fail-fast", "--status-level", "slow"])
    } else {
        eprintln!("cargo-nextest is not installed; cargo test serves");
        cargo(&["test", "--workspace", "--no-fail-fast"])
    };
    call(run.args(filter))
}

/// Where tests leave what they executed.
const PAIRS: &str = "target/pairs";

/// Forgets what earlier runs executed, so that the page of promises says what this one does.
fn forget_pairs() -> Result<()> {
    match std::fs::remove_dir_all(root().join(PAIRS)) {
        Err(problem) if problem.kind() != std::io::ErrorKind::NotFound => {
            Err(problem).with_context(|| format!("failed to empty {PAIRS}"))
        }
        _ => Ok(()),
    }
}

/// Compares the page of promises with what the tests executed, or writes it.
pub fn promises(bless: bool) -> Result<()> {
    // the whole workspace, as the tests before it, so that nothing is built with other features
    let mut run = cargo(&["test", "--quiet", "--workspace", "--test", "it", "the_page_of_promises"]);
    run.args(["--", "--ignored", "--nocapture"]);
    if bless {
        run.env("BLESS", "1");
    }
    call(&mut run)
}

/// Tests that compare generated files, by package and part of the name; with `BLESS=1` they write them.
const GENERATED: [(&str, &str); 6] = [
    ("ostiary-verify", "the_page_of"),
    ("ostiary-domain", "the_generated_page"),
    ("ostiary-contract", "committed_schemas"),
    ("ostiary-store-sqlite", "the_generated_schema"),
    ("ostiary-store-postgres", "the_generated_schema"),
    ("ostiary-server", "committed_document"),
];

/// Writes all generated files again, by running the tests that compare them.
pub fn generate() -> Result<()> {
    query_data()?;
    for (package, filter) in GENERATED {
        eprintln!("-- {package}: {filter}");
        call(cargo(&["test", "--quiet", "--package", package, filter]).env("BLESS", "1"))?;
    }
    Ok(())
}

/// Query data of the stores: the macros write it when they see a migrated database.
fn query_data() -> Result<()> {
    for store in ["store-sqlite", "store-postgres"] {
        let script = root().join("crates").join(store).join("prepare-queries.sh");
        call(Command::new("bash").arg(script))?;
    }
    Ok(())
}

/// Builds each crate alone.
pub fn alone() -> Result<()> {
    for package in arrows::members()? {
        eprintln!("-- {package}");
        call(&mut cargo(&["check", "--quiet", "--package", &package]))?;
    }
    Ok(())
}

/// Builds the benchmark with optimisation and runs it.
pub fn bench(arguments: &[String]) -> Result<()> {
    call(&mut cargo(&["build", "--release", "--package", "ostiary-cli"]))?;
    call(cargo(&["run", "--release", "--package", "ostiary-bench", "--"]).args(arguments))
}

/// The packages that hold properties: readers of cards, bundles, snapshots and envelopes, and what decides.
const PROPERTIES: [&str; 8] = [
    "ostiary-canon",
    "ostiary-protocol",
    "ostiary-contract",
    "ostiary-verify",
    "ostiary-admission",
    "ostiary-domain",
    "ostiary-drivers",
    "ostiary-router",
];

/// Properties with many cases, end-to-end tests many times.
pub fn soak(cases: u32, repeats: u32) -> Result<()> {
    setup::run()?;
    for package in PROPERTIES {
        // the properties over bytes stand beside the library as often as in it
        let mut run = cargo(&["test", "--package", package, "--lib", "--tests"]);
        call(run.env("PROPTEST_CASES", cases.to_string()))?;
    }
    let mut steady = cargo(&["test", "--package", "ostiary-tests", "--test", "it", "every_honest_agent_gets_the_same"]);
    steady.args(["--", "--ignored", "--nocapture"]).env("OSTIARY_SOAK_REPEATS", repeats.to_string());
    call(&mut steady)?;
    for round in 1..=repeats {
        eprintln!("== end to end, round {round} of {repeats}");
        call(&mut cargo(&["test", "--package", "ostiary-tests"]))?;
    }
    Ok(())
}
