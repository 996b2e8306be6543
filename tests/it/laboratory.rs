//! The laboratory before clients and stores that other people wrote: PyJWT and jose verify the identity double's tokens,
//! requests and fetch meet the faults, PostgreSQL is observed and taken down.

mod identity;
mod surroundings;

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use ostiary_tests::target::root;

/// A script of `tests/targets/python`.
fn python(script: &str) -> Command {
    let mut command = Command::new(root().join("target/targets/python/bin/python"));
    command.arg(root().join("tests/targets/python").join(script));
    // Nobody's own proxy stands between a script and the loopback.
    command.envs([("NO_PROXY", ""), ("http_proxy", ""), ("https_proxy", "")]);
    command
}

/// A script of `tests/targets/javascript`.
fn javascript(script: &str) -> Command {
    let mut command = Command::new("node");
    command.arg(root().join("tests/targets/javascript").join(script));
    command
}

/// Runs a script to its end with this input, beside the servers of the test; what it printed.
async fn printed(mut command: Command, input: String) -> Result<String> {
    let run = move || -> Result<String> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let mut child = child.context("the agents are not installed: run `cargo xtask setup`")?;
        child.stdin.take().context("its input is ours")?.write_all(input.as_bytes())?;
        let output = child.wait_with_output()?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{command:?} ended with {}: {said}", output.status);
        Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
    };
    tokio::task::spawn_blocking(run).await?
}
