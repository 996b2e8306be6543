//! Checks who may know whom. The table in ARCHITECTURE.md is the only place where it is written down.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::commands::root;

/// Crates that decide: no runtime, no socket, no file, no clock, no randomness.
const PURE: [&str; 7] = ["canon", "record", "protocol", "contract", "compat", "admission", "domain"];

/// What a pure crate must not depend on directly.
const IMPURE: [&str; 12] = [
    "tokio",
    "tokio-util",
    "tokio-stream",
    "sqlx",
    "hyper",
    "hyper-util",
    "axum",
    "tonic",
    "getrandom",
    "rand",
    "object_store",
    "tracing-subscriber",
];

/// What one row of the table allows.
struct Row {
    normal: Allowed,
    dev: Allowed,
}

enum Allowed {
    Everything,
    These(BTreeSet<String>),
}

/// Compares cargo's view with the table.
pub fn run() -> Result<()> {
    let table = table()?;
    let metadata = metadata()?;
    let mut problems = Vec::new();
    for package in metadata.workspace_packages() {
        let name = short(&package.name);
        match table.get(name) {
            None => problems.push(format!("`{name}` has no row in the table of ARCHITECTURE.md")),
            Some(row) => check(package, name, row, &mut problems),
        }
    }
    let members: BTreeSet<&str> = metadata.workspace_packages().iter().map(|p| short(&p.name)).collect();
    for name in table.keys().filter(|name| !members.contains(name.as_str())) {
        problems.push(format!("the table of ARCHITECTURE.md names `{name}`, which is no crate"));
    }
    ensure!(problems.is_empty(), "arrows:\n  {}", problems.join("\n  "));
    Ok(())
}

/// The packages of the workspace.
pub fn members() -> Result<Vec<String>> {
    Ok(metadata()?.workspace_packages().iter().map(|p| p.name.to_string()).collect())
}

fn metadata() -> Result<Metadata> {
    MetadataCommand::new().current_dir(root()).no_deps().exec().context("failed to read cargo's metadata")
}

fn short(package: &str) -> &str {
    package.strip_prefix("ostiary-").unwrap_or(package)
}

fn check(package: &Package, name: &str, row: &Row, problems: &mut Vec<String>) {
    for dependency in &package.dependencies {
        let Some(other) = dependency.name.strip_prefix("ostiary-") else {
            if PURE.contains(&name)
                && dependency.kind == DependencyKind::Normal
                && IMPURE.contains(&dependency.name.as_str())
            {
                problems.push(format!("`{name}` is pure and must not use `{}`", dependency.name));
            }
            continue;
        };
        // Its own tests may ask for its own test features.
        if other == name {
            continue;
        }
        let (allowed, what) = match dependency.kind {
            DependencyKind::Development => (&row.dev, "in tests"),
            _ => (&row.normal, "in the product"),
        };
        let fine = match allowed {
            Allowed::Everything => true,
            Allowed::These(names) => names.contains(other),
        };
        if !fine {
            problems.push(format!("`{name}` may not use `{other}` {what}"));
        }
    }
}

/// Rows of the form `| `name` | one sentence | may use | in tests also |`.
fn table() -> Result<BTreeMap<String, Row>> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).context("failed to read ARCHITECTURE.md")?;
    let mut rows = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [names, _, normal, dev] = cells[..] else {
            bail!("ARCHITECTURE.md: the row `{line}` must have four cells");
        };
        for name in names.split(',').map(|n| n.trim().trim_matches('`')) {
            rows.insert(name.to_owned(), Row { normal: allowed(normal), dev: dev_allowed(normal, dev) });
        }
    }
    ensure!(!rows.is_empty(), "ARCHITECTURE.md holds no table of crates");
    Ok(rows)
}

fn allowed(cell: &str) -> Allowed {
    match cell {
        "everything" => Allowed::Everything,
        "–" | "-" | "" => Allowed::These(BTreeSet::new()),
        list => Allowed::These(list.split(',').map(|n| n.trim().trim_matches('`').to_owned()).collect()),
    }
}

fn dev_allowed(normal: &str, dev: &str) -> Allowed {
    match (allowed(normal), allowed(dev)) {
        (Allowed::These(mut a), Allowed::These(b)) => {
            a.extend(b);
            Allowed::These(a)
        }
        _ => Allowed::Everything,
    }
}
