//! Checks licences, banned crates and sources of all dependencies against deny.toml.
//!
//! The agent on the Rust SDK is a package of its own, and an agent of other people: its dependencies have to come from the
//! same source under the same licences, but what is banned from our programs may be part of theirs.

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, Result, ensure};
use cargo_metadata::{MetadataCommand, Package};
use serde::Deserialize;

use crate::commands::root;

#[derive(Deserialize)]
struct Rules {
    licenses: Licences,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licences {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    name: String,
    reason: String,
}

/// The one source of other people's crates.
const SOURCE: &str = "registry+";

/// The package that the workspace does not hold.
pub const MANIFEST: &str = "tests/targets/rust/Cargo.toml";

/// Compares cargo's view with deny.toml.
pub fn run() -> Result<()> {
    let text = fs::read_to_string(root().join("deny.toml")).context("failed to read deny.toml")?;
    let rules: Rules = toml::from_str(&text).context("failed to parse deny.toml")?;
    let mut problems = Vec::new();
    for package in &packages(&mut MetadataCommand::new())? {
        banned(package, &rules, &mut problems);
        judge(package, &rules, &mut problems);
    }
    for package in &packages(MetadataCommand::new().manifest_path(root().join(MANIFEST)))? {
        judge(package, &rules, &mut problems);
    }
    ensure!(problems.is_empty(), "licences:\n  {}", problems.join("\n  "));
    Ok(())
}

fn packages(command: &mut MetadataCommand) -> Result<Vec<Package>> {
    let metadata = command.current_dir(root()).exec().context("failed to read cargo's metadata")?;
    Ok(metadata.packages)
}

fn banned(package: &Package, rules: &Rules, problems: &mut Vec<String>) {
    if let Some(ban) = rules.bans.deny.iter().find(|ban| ban.name == package.name.as_str()) {
        problems.push(format!("{} {} is banned: {}", package.name, package.version, ban.reason));
    }
}

fn judge(package: &Package, rules: &Rules, problems: &mut Vec<String>) {
    let name = format!("{} {}", package.name, package.version);
    if package.source.as_ref().is_some_and(|source| !source.repr.starts_with(SOURCE)) {
        problems.push(format!("{name} does not come from the registry"));
    }
    let expression = package.license.as_deref().unwrap_or_default().replace('/', " OR ");
    if !satisfied(&expression, &rules.licenses.allow) {
        problems.push(format!("{name} has the licence `{expression}`, which deny.toml does not allow"));
    }
}

/// Whether an SPDX expression can be satisfied with allowed licences; OR binds weaker than AND, parentheses are read.
fn satisfied(expression: &str, allow: &BTreeSet<String>) -> bool {
    let split = |separator: &str| split_outside(expression.trim(), separator);
    let alternatives = split(" OR ");
    if alternatives.len() > 1 {
        return alternatives.iter().any(|part| satisfied(part, allow));
    }
    let all = split(" AND ");
    if all.len() > 1 {
        return all.iter().all(|part| satisfied(part, allow));
    }
    let one = expression.trim();
    match one.strip_prefix('(').and_then(|rest| rest.strip_suffix(')')) {
        Some(inner) => satisfied(inner, allow),
        None => allow.contains(one),
    }
}

fn split_outside<'a>(text: &'a str, separator: &str) -> Vec<&'a str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, character) in text.char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ if depth == 0 && at >= start && text[at..].starts_with(separator) => {
                parts.push(&text[start..at]);
                start = at + separator.len();
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}
