//! `ostiary sidecar` as its users meet it: what it passes on, what it refuses, how it says what is wrong; the example
//! clients that ask it; and the example that quarantines everywhere.
//!
//! Covers L-03 and L-04 at a sidecar and behind a relay.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context as _, Result, ensure};
use ostiary_tests::{
    gateway::{AGENT, Client, PROFILE, Registry, VERSION, registered, token},
    program,
    target::{free_address, root},
};
use serde_json::Value;
use tempfile::TempDir;

use crate::gateways::eventually;

/// A sidecar that must not come up: how it ends, and what it says.
fn refused(registry: &Registry, as_whom: &str, arguments: &[&str]) -> Result<(Option<i32>, Value)> {
    let grpc = registry.grpc()?.to_owned();
    let mut command = Command::new(program::path()?);
    command.args(["sidecar", "--patience", "3", "--format", "json", "--log", "error", "--token-env", "ROUTER_TOKEN"]);
    for (name, value) in [("--control-plane", grpc.as_str()), ("--listen", "127.0.0.1:0"), ("--http", "127.0.0.1:0")] {
        if !arguments.contains(&name) {
            command.args([name, value]);
        }
    }
    let ended = command.args(arguments).env("ROUTER_TOKEN", token(as_whom)).output()?;
    let said = serde_json::from_slice(&ended.stdout).with_context(|| format!("{ended:?}"))?;
    Ok((ended.status.code(), said))
}

#[test]
fn a_sidecar_that_cannot_get_a_copy_says_why_and_what_to_do() -> Result<()> {
    let registry = Registry::start()?;
    let other = Registry::bare()?;
    let (own, foreign) = (registry.trust()?, other.trust()?);
    let (own, foreign) = (own.to_str().context("UTF-8")?, foreign.to_str().context("UTF-8")?);
    let nobody = format!("http://{}", free_address()?);
    let cases: [(&str, &[&str], &str, i32); 5] = [
        ("nobody", &["--trust", own], "Unauthenticated", 4),
        ("far", &["--trust", own], "PermissionDenied", 4),
        ("router", &["--trust", foreign], "HEAD_NOT_BELIEVED", 4),
        ("router", &["--trust", own, "--control-plane", &nobody], "Unavailable", 4),
        ("router", &["--trust", own, "--listen", "0.0.0.0:0"], "", 2),
    ];
    for (as_whom, arguments, wanted, exit) in cases {
        let (code, said) = refused(&registry, as_whom, arguments)?;
        assert_eq!((code, said["error"]["code"].as_str().unwrap_or_default()), (Some(exit), wanted), "{said:#}");
        assert!(said["error"]["hint"].is_string(), "{said:#}");
    }
    // its own namespace it may have
    let own_scope = ["sidecar", "--trust", own, "--control-plane", registry.grpc()?, "--scope", "far"];
    let more = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--token-env", "ROUTER_TOKEN"];
    let far = program::Running::start_with(&[&own_scope[..], &more].concat(), &[("ROUTER_TOKEN", &token("far"))])?;
    assert_eq!(far.said["status"]["scopes"][0]["scope"], "far");
    Ok(())
}

#[test]
fn a_quarantine_is_proved_only_when_those_behind_a_relay_have_it() -> Result<()> {
    let registry = Registry::start()?;
    let near = registry.sidecar(&["--router-id", "near"])?;
    let upstream = format!("http://{}", near.grpc()?);
    let behind = registry.sidecar(&["--control-plane", &upstream, "--router-id", "behind"])?;
    let question = format!("/forward-auth?{}", registered(&registry.digest));
    let (near_http, behind_http) = (Client::of(near.http()?), Client::of(behind.http()?));
    for client in [&near_http, &behind_http] {
        let answer = client.get(&question)?;
        assert_eq!((answer.status, answer.header("x-ostiary-reason")), (200, Some("ALLOWED")), "{answer:?}");
    }
    assert!(near_http.get("/metrics")?.body.contains("ostiary_sidecar_watching 1"));

    let which = ["--agent", AGENT, "--version", VERSION, "--reason", "test"];
    let (code, proof) = registry.try_admin(&[&["version", "quarantine"], &which[..], &["--wait", "30"]].concat())?;
    assert_eq!(code, 0, "{proof:#}");
    // proved: not one of them decides otherwise any more
    for client in [&near_http, &behind_http] {
        let answer = client.get(&question)?;
        assert_eq!((answer.status, answer.header("x-ostiary-reason")), (403, Some("QUARANTINED")), "{answer:?}");
    }
    Ok(())
}

#[test]
fn what_is_behind_a_relay_goes_on_without_it_until_its_lease_ends() -> Result<()> {
    let registry = Registry::start()?;
    let near = registry.sidecar(&[])?;
    let behind = registry.sidecar(&["--control-plane", &format!("http://{}", near.grpc()?)])?;
    let client = Client::of(behind.http()?);
    let question = format!("/forward-auth?{}", registered(&registry.digest));
    assert_eq!(client.get(&question)?.status, 200);
    drop(near);
    assert_eq!(client.get(&question)?.status, 200);
    eventually(|| Ok(client.get(&question)?.status == 503))?;
    assert_eq!(client.get("/readyz")?.status, 503);
    assert_eq!(client.get("/healthz")?.status, 200);
    Ok(())
}

/// The Python client's folder with what is generated into `folder`, and its interpreter.
fn python(folder: &Path) -> Result<Command> {
    let interpreter = root().join("target/targets/examples/python/bin/python");
    ensure!(interpreter.is_file(), "the example client is not installed: run `cargo xtask setup`");
    let example = root().join("deploy/examples/python");
    let mut generate = Command::new("bash");
    ended_well(generate.arg(example.join("generate.sh")).arg(folder).arg(&interpreter))?;
    let mut command = Command::new(interpreter);
    command.current_dir(example).env("PYTHONPATH", folder).env("PYTHONDONTWRITEBYTECODE", "1");
    Ok(command)
}

/// The TypeScript client, built in `folder`.
fn typescript(folder: &Path) -> Result<()> {
    let (example, installed) = (
        root().join("deploy/examples/typescript").canonicalize()?,
        root().join("target/targets/examples").canonicalize()?,
    );
    for name in ["package.json", "tsconfig.json", "generate.sh", "src"] {
        ended_well(Command::new("cp").arg("-R").arg(example.join(name)).arg(folder))?;
    }
    symlink(installed.join("typescript/node_modules"), folder.join("node_modules"))?;
    let protoc = format!("{} -m grpc_tools.protoc", installed.join("python/bin/python").display());
    let mut generate = Command::new("bash");
    generate.arg(folder.join("generate.sh")).env("PROTOC", protoc).env("PROTO", root().join("proto").canonicalize()?);
    ended_well(&mut generate)?;
    ended_well(Command::new("node").args(["node_modules/typescript/bin/tsc"]).current_dir(folder))?;
    Ok(())
}

fn ended_well(command: &mut Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("failed to start {command:?}"))?;
    let shown = || [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned()).join("\n");
    ensure!(output.status.success(), "{command:?}: {}\n{}", output.status, shown());
    Ok(output)
}

#[test]
fn the_python_client_fails_closed() -> Result<()> {
    let folder = TempDir::new()?;
    ended_well(python(folder.path())?.args(["-m", "unittest", "test_client"])).map(drop)
}

#[test]
fn the_typescript_client_fails_closed() -> Result<()> {
    let folder = TempDir::new()?;
    typescript(folder.path())?;
    ended_well(Command::new("node").args(["--test", "dist/src/client.test.js"]).current_dir(folder.path())).map(drop)
}

#[test]
fn both_clients_see_an_allow_end_at_a_sidecar_on_a_path() -> Result<()> {
    let registry = Registry::start()?;
    let sockets = TempDir::new()?;
    let [grpc, http] = ["grpc", "http"].map(|name| format!("unix:{}", sockets.path().join(name).display()));
    let sidecar = registry.sidecar(&["--listen", &grpc, "--http", &http])?;
    assert_eq!(sidecar.grpc()?, grpc);
    let (py, ts) = (TempDir::new()?, TempDir::new()?);
    typescript(ts.path())?;
    let question = [
        "--target",
        &grpc,
        "--agent",
        AGENT,
        "--version",
        VERSION,
        "--card-digest",
        &registry.digest,
        "--profile",
        PROFILE,
    ];
    let mut one = python(py.path())?;
    one.arg("watch_outcome.py").args(question);
    let mut two = Command::new("node");
    two.arg("dist/src/watch-outcome.js").args(question).current_dir(ts.path());
    for command in [&mut one, &mut two] {
        let seen = ended_well(command.args(["--times", "1"]))?;
        assert!(String::from_utf8_lossy(&seen.stdout).starts_with("ALLOW ALLOWED"), "{seen:?}");
    }
    registry.quarantine()?;
    for command in [&mut one, &mut two] {
        let seen = command.args(["--times", "600", "--until-denied"]).output()?;
        assert_eq!(seen.status.code(), Some(1), "{seen:?}");
        assert!(String::from_utf8_lossy(&seen.stdout).contains("DENY QUARANTINED"), "{seen:?}");
    }
    Ok(())
}

#[test]
fn the_example_quarantines_everywhere() -> Result<()> {
    let binary = program::path()?;
    let proxy = binary.with_file_name("examples").join("checking_proxy");
    ensure!(proxy.is_file(), "run `cargo build --package ostiary-router --example checking_proxy`");
    let mut command = Command::new("bash");
    command.arg(root().canonicalize()?.join("deploy/examples/quarantine-everywhere.sh"));
    command.env("OSTIARY", binary).env("CHECKING_PROXY", proxy);
    let said = ended_well(&mut command)?;
    let said = String::from_utf8_lossy(&said.stdout);
    assert_eq!(said.matches("200   TASK_STATE_COMPLETED").count(), 2, "{said}");
    assert_eq!(said.matches("403   QUARANTINED").count(), 2, "{said}");
    assert!(!said.contains('\u{1b}'), "colours in a pipe: {said}");
    Ok(())
}

#[test]
fn the_example_fails_when_a_router_lets_through() -> Result<()> {
    // a proxy that asks nobody
    let folder = TempDir::new()?;
    let liar = folder.path().join("proxy");
    fs::write(&liar, LIAR)?;
    ended_well(Command::new("chmod").arg("+x").arg(&liar))?;
    let mut command = Command::new("bash");
    command.arg(root().canonicalize()?.join("deploy/examples/quarantine-everywhere.sh"));
    let ended = command.env("OSTIARY", program::path()?).env("CHECKING_PROXY", &liar).output()?;
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{ended:?}");
    assert!(said.contains("instead of `403 QUARANTINED`"), "{said}");
    Ok(())
}

/// Says where it listens, and that is the agent itself.
const LIAR: &str = "#!/usr/bin/env bash
while [[ $# -gt 0 ]]; do [[ $1 == --upstream ]] && echo \"listening on $2\"; shift; done
exec sleep 120
";
