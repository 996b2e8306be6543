//! Checks what no compiler checks: names, sizes, documents.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, ensure};

use crate::commands::root;

/// Module names that say nothing.
const EMPTY_NAMES: [&str; 7] = ["utils", "util", "helpers", "helper", "common", "misc", "manager"];

/// A source file may not be longer (tests and generated code aside).
const HARD_STOP: usize = 800;

/// ARCHITECTURE.md stays readable in one sitting.
const ARCHITECTURE_LINES: usize = 200;

/// Runs all checks and reports all problems at once.
pub fn run() -> Result<()> {
    let mut problems = Vec::new();
    for top in ["crates", "proto", "bench", "tests", "xtask"] {
        for file in rust_files(&root().join(top))? {
            source(&file, &mut problems)?;
        }
    }
    documents(&mut problems)?;
    reason_codes(&mut problems)?;
    ensure!(problems.is_empty(), "tidy:\n  {}", problems.join("\n  "));
    Ok(())
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = fs::read_dir(folder).with_context(|| format!("failed to read {}", folder.display()))?;
    for entry in entries {
        let path = entry.context("failed to read a folder's entry")?.path();
        if path.is_dir() && !path.ends_with("node_modules") {
            found.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    Ok(found)
}

fn source(file: &Path, problems: &mut Vec<String>) -> Result<()> {
    let text = fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    let shown = file.strip_prefix(root()).unwrap_or(file).display().to_string();
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let is_test = shown.contains("/tests/") || shown.starts_with("tests/") || stem.ends_with("tests");
    if stem == "mod" {
        problems.push(format!("{shown}: name it after its folder, beside it, not mod.rs"));
    }
    if EMPTY_NAMES.contains(&stem) {
        problems.push(format!("{shown}: the name says nothing about what is inside"));
    }
    if !is_test && text.lines().count() > HARD_STOP {
        problems.push(format!("{shown}: more than {HARD_STOP} lines; split it by what its parts know"));
    }
    if !text.starts_with("//!") && !is_test && stem != "build" {
        problems.push(format!("{shown}: open with a module doc"));
    }
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("#[allow(") || line.trim_start().starts_with("#![allow(") {
            problems.push(format!("{shown}:{}: use #[expect(…, reason = …)]", number + 1));
        }
    }
    Ok(())
}

fn documents(problems: &mut Vec<String>) -> Result<()> {
    for name in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "LICENSE",
        "docs/glossary.md",
        "docs/reason-codes.md",
        "docs/checks.md",
    ] {
        if !root().join(name).is_file() {
            problems.push(format!("{name} is missing"));
        }
    }
    let architecture = fs::read_to_string(root().join("ARCHITECTURE.md")).context("failed to read ARCHITECTURE.md")?;
    if architecture.lines().count() > ARCHITECTURE_LINES {
        problems.push(format!("ARCHITECTURE.md has more than {ARCHITECTURE_LINES} lines"));
    }
    Ok(())
}

/// A reason code needs a documented row, a changelog line and a test that produces it.
fn reason_codes(problems: &mut Vec<String>) -> Result<()> {
    let catalogue = fs::read_to_string(root().join("crates/record/src/reason/catalogue.rs"))
        .context("failed to read the catalogue of reason codes")?;
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).context("failed to read CHANGELOG.md")?;
    let page = fs::read_to_string(root().join("docs/reason-codes.md")).unwrap_or_default();
    for line in catalogue.lines().filter(|line| line.contains(" = \"") && line.ends_with(',')) {
        let Some(code) = line.split('"').nth(1) else { continue };
        for (text, name) in [(&changelog, "CHANGELOG.md"), (&page, "docs/reason-codes.md")] {
            if !text.contains(&format!("`{code}`")) {
                problems.push(format!("reason code {code} is missing from {name}"));
            }
        }
    }
    Ok(())
}
