//! Runs after all other tests: what they executed makes the page of promises (`cargo xtask promises`).

use std::fs;

use anyhow::{Result, ensure};
use ostiary_tests::{pair, promises, target::root};

#[test]
#[ignore = "looks at what all other tests have executed: `cargo xtask promises`"]
#[expect(clippy::disallowed_methods, reason = "the developer's switch to rewrite generated files")]
fn the_page_of_promises_is_what_was_executed() -> Result<()> {
    let pairs = pair::all()?;
    let path = root().join("docs/promises.md");
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, promises::page(&pairs))?;
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    let lost = promises::lost(&committed, &pairs);
    ensure!(lost.is_empty(), "docs/promises.md has what no test executes any more (id, agent, binding): {lost:#?}");
    let gained = promises::gained(&committed, &pairs);
    if !gained.is_empty() {
        eprintln!("docs/promises.md lacks {} rows; `cargo xtask promises --bless` writes them", gained.len());
    }
    Ok(())
}
