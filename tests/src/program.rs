//! The `ostiary` binary, started as a user would.

use std::{
    io::{BufRead as _, BufReader},
    path::PathBuf,
    process::{Child, Command, Output, Stdio},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// A command that goes on, like `serve`; ended when dropped, without a chance to tidy up.
pub struct Running {
    child: Child,
    /// The document that it printed when it was ready.
    pub said: Value,
}

/// Where cargo put the binary that belongs to these tests.
///
/// # Errors
/// When it was not built.
pub fn path() -> Result<PathBuf> {
    let test = std::env::current_exe().context("failed to find the test's own binary")?;
    let folder = test.ancestors().nth(2).context("the test's binary lies in no target folder")?;
    let binary = folder.join("ostiary");
    ensure!(binary.is_file(), "{} is missing: run `cargo build --package ostiary-cli`", binary.display());
    Ok(binary)
}

/// Runs `ostiary` to its end.
///
/// # Errors
/// When it cannot be started.
pub fn run(arguments: &[&str]) -> Result<Output> {
    Command::new(path()?).args(arguments).output().context("failed to start ostiary")
}

/// Runs `ostiary … --format json`: exit code and the JSON it printed.
///
/// # Errors
/// When it cannot be started or prints no JSON.
pub fn json(arguments: &[&str]) -> Result<(i32, Value)> {
    let output = run(&[arguments, &["--format", "json"]].concat())?;
    let code = output.status.code().context("ostiary was ended by a signal")?;
    let value = serde_json::from_slice(&output.stdout).with_context(|| {
        let shown = String::from_utf8_lossy(&output.stderr);
        format!("ostiary {arguments:?} ended with {code} and printed no JSON; it said: {shown}")
    })?;
    Ok((code, value))
}

// === impl Running ===

impl Running {
    /// Starts a command that prints a JSON document once it is ready.
    ///
    /// # Errors
    /// When it cannot be started, or prints something else.
    pub fn start(arguments: &[&str]) -> Result<Self> {
        Self::start_with(arguments, &[])
    }

    /// The same, with environment variables.
    ///
    /// # Errors
    /// When it cannot be started, or prints something else.
    pub fn start_with(arguments: &[&str], variables: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(path()?);
        command.envs(variables.iter().copied());
        command.args(arguments).args(["--format", "json"]).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.spawn().context("failed to start ostiary")?;
        let printed = child.stdout.take().context("its output is not ours")?;
        let mut running = Self { child, said: Value::Null };
        let mut text = String::new();
        for line in BufReader::new(printed).lines() {
            let line = line.context("failed to read what ostiary prints")?;
            text.push_str(&line);
            // The last line of a printed object is a brace alone.
            if line == "}" {
                break;
            }
        }
        running.said = serde_json::from_str(&text).with_context(|| format!("ostiary {arguments:?} said: {text}"))?;
        ensure!(running.said.get("error").is_none(), "ostiary {arguments:?}: {}", running.said);
        Ok(running)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when it is gone already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
