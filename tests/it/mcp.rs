//! MCP servers of other people, live: their tools as `ostiary` takes them are those that the official client of their SDK
//! hears, over each transport and in each era; a run over them compares them with the bundle (M-01, M-06, P-05).

use std::path::Path;

use anyhow::{Context as _, Result};
use ostiary_tests::{
    mcp::Server,
    pair,
    program::{self, run},
};
use serde_json::Value;
use tempfile::TempDir;

const MODERN: &str = "2026-07-28";
const OLDER: &str = "2025-11-25";

/// Where a server is, as options of a command.
fn at_url(url: &str) -> Vec<String> {
    ["--allow-private", "--allow-insecure-http", "--url", url].map(str::to_owned).to_vec()
}

fn on_stdio(command: &[String]) -> Vec<String> {
    [vec!["--command".to_owned()], command.to_vec()].concat()
}

/// `ostiary mcp snapshot`: what it says, and the list that it wrote.
fn snapshot(folder: &Path, revision: Option<&str>, place: &[String]) -> Result<(Value, Value)> {
    let out = folder.join("tools.snapshot.json").display().to_string();
    let mut arguments = vec!["--format", "json", "mcp", "snapshot", "--out", &out];
    arguments.extend(revision.iter().flat_map(|r| ["--protocol", r]));
    arguments.extend(place.iter().map(String::as_str));
    let output = run(&arguments)?;
    let said = String::from_utf8_lossy(&output.stdout);
    let value = serde_json::from_str(&said)
        .with_context(|| format!("{arguments:?} said {said} and {}", String::from_utf8_lossy(&output.stderr)))?;
    Ok((value, serde_json::from_slice(&std::fs::read(&out)?)?))
}

/// That everything the official client heard stands in the list, tool by tool in the same order.
#[track_caller]
fn same_tools(list: &Value, heard: &Value) {
    let (ours, theirs) = (&list["tools"], &heard["tools"]);
    let count = |v: &Value| v.as_array().map_or(0, Vec::len);
    assert!(count(ours) > 0 && count(ours) == count(theirs), "{ours:#} and {theirs:#}");
    for (ours, theirs) in ours.as_array().into_iter().flatten().zip(theirs.as_array().into_iter().flatten()) {
        for (member, value) in theirs.as_object().into_iter().flatten() {
            assert_eq!(ours.get(member), Some(value), "{member} of {}", theirs["name"]);
        }
    }
}

/// A server over HTTP, in each era that it speaks, against its official client; then the same over stdio.
fn both_transports(server: Server) -> Result<()> {
    let folder = TempDir::new()?;
    let kept = folder.path().to_str().context("the folder's name is not UTF-8")?;
    let served = server.serve(kept, &[])?;
    let url = std::slice::from_ref(&served.url);
    let place = at_url(&served.url);
    let (said, older) = snapshot(folder.path(), Some(OLDER), &place)?;
    assert_eq!(
        (&said["sessions"]["outcome"], &said["protocol"]),
        (&"speaks".into(), &format!("mcp-http-{OLDER}").into())
    );
    same_tools(&older, &server.official_client("legacy", url)?);
    if server.is_modern() {
        let (said, modern) = snapshot(folder.path(), None, &place)?;
        assert_eq!((&said["stateless"]["outcome"], &said["revision"]), (&"speaks".into(), &MODERN.into()), "{said:#}");
        let heard = server.official_client("auto", url)?;
        assert_eq!(heard["revision"], MODERN);
        same_tools(&modern, &heard);
        assert_eq!(modern["resultType"], "complete", "all members of the result are kept");
    } else {
        assert_eq!(said["stateless"]["outcome"], "refuses", "{said:#}");
    }
    let (said, list) = snapshot(folder.path(), None, &on_stdio(&server.command(kept)?))?;
    let eras = [&said["stateless"]["outcome"], &said["sessions"]["outcome"]];
    assert_eq!(eras, [if server.is_modern() { "speaks" } else { "refuses" }, "speaks"], "{said:#}");
    let newest = if server.is_modern() { "auto" } else { "legacy" };
    same_tools(&list, &server.official_client(newest, url)?);
    Ok(())
}

/// A server that knows stdio only, against the official client.
fn stdio_alone(server: Server, tools: usize) -> Result<()> {
    let folder = TempDir::new()?;
    let command = server.command(folder.path().to_str().context("the folder's name is not UTF-8")?)?;
    let (said, list) = snapshot(folder.path(), None, &on_stdio(&command))?;
    assert_eq!((&said["revision"], &said["stateless"]["outcome"]), (&OLDER.into(), &"refuses".into()), "{said:#}");
    assert_eq!(list["tools"].as_array().map(Vec::len), Some(tools));
    same_tools(&list, &server.official_client("legacy", &command)?);
    Ok(())
}

#[test]
fn the_python_sdk_is_read_over_both_transports_in_both_eras() -> Result<()> {
    both_transports(Server::Python)
}

#[test]
fn fastmcp_is_read_over_both_transports_in_both_eras() -> Result<()> {
    both_transports(Server::Fast)
}

#[test]
fn the_typescript_sdk_is_read_over_both_transports_in_both_eras() -> Result<()> {
    both_transports(Server::TypeScript)
}

#[test]
fn server_everything_is_read_over_both_transports() -> Result<()> {
    both_transports(Server::Everything)
}

#[test]
fn published_servers_are_read_over_stdio() -> Result<()> {
    stdio_alone(Server::Filesystem, 14)?;
    stdio_alone(Server::Memory, 9)?;
    stdio_alone(Server::Thinking, 1)
}

/// A bundle drafted from a live server, and its environment.
fn drafted(folder: &Path, place: &[String]) -> Result<(String, String)> {
    let bundle = folder.join("bundle");
    let out = bundle.to_str().context("the folder's name is not UTF-8")?;
    let mut arguments = vec!["--format", "json", "bundle", "init", "--out", out];
    arguments.extend(place.iter().map(String::as_str));
    let output = run(&arguments)?;
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    Ok((out.to_owned(), format!("{out}.environment.yaml")))
}

fn verdicts(report: &Value, check: &str) -> Vec<(String, String)> {
    let of = |f: &&Value| f["check"] == check && f["layer"] == "declaration";
    let text = |v: &Value| v.as_str().unwrap_or_default().to_owned();
    let found = report["findings"].as_array().into_iter().flatten().filter(of);
    found.map(|f| (text(&f["verdict"]), text(&f["reason_code"]))).collect()
}

const LIVE: [&str; 3] = ["mcp.revision.spoken", "mcp.tools.whole", "mcp.tools.unchanged"];

/// Drafts a bundle from the honest server, verifies it, and verifies a server in its place that changed in silence.
fn drift_is_caught(server: Server, place: &[String], change: impl FnOnce(&str) -> String) -> Result<()> {
    let folder = TempDir::new()?;
    let (bundle, environment) = drafted(folder.path(), place)?;
    let (_, honest) = program::json(&["verify", &bundle, "--env", &environment])?;
    for check in LIVE {
        let found = verdicts(&honest, check);
        assert!(
            !found.is_empty() && found.iter().all(|(verdict, _)| verdict == "PASS"),
            "{server:?} {check}: {honest:#}"
        );
    }
    let text = std::fs::read_to_string(&environment)?;
    std::fs::write(&environment, change(&text))?;
    let (code, report) = program::json(&["verify", &bundle, "--env", &environment])?;
    assert_eq!((code, &report["layers"]["declaration"]), (1, &"FAIL".into()), "{report:#}");
    let expect = [("FAIL".to_owned(), "TOOL_LIST_CHANGED".to_owned())];
    assert_eq!(verdicts(&report, "mcp.tools.unchanged"), expect, "{report:#}");
    assert!(verdicts(&report, "mcp.revision.spoken").iter().all(|(verdict, _)| verdict == "PASS"));
    pair::executed(server.sdk(), "a tool more", &honest, &report, &[("declaration", "TOOL_LIST_CHANGED")])
}

#[test]
fn a_tool_that_a_server_adds_in_silence_is_caught_over_stdio() -> Result<()> {
    let command = Server::Python.command("")?;
    let place = [vec!["--mcp-command".to_owned()], command].concat();
    drift_is_caught(Server::Python, &place, |text| text.replace("text_tools.py\"", "text_tools.py\",\"--extra\""))
}

#[test]
fn a_tool_that_a_server_adds_in_silence_is_caught_over_http() -> Result<()> {
    let honest = Server::TypeScript.serve("", &[])?;
    let changed = Server::TypeScript.serve("", &["--extra"])?;
    let place = ["--allow-private", "--allow-insecure-http", "--mcp", &honest.url].map(str::to_owned);
    drift_is_caught(Server::TypeScript, &place, |text| text.replace(&honest.url, &changed.url))
}
