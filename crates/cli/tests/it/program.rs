//! The built binary.

use std::{
    fs,
    io::{BufRead as _, BufReader},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

/// How a command ended, and what it printed.
#[derive(Debug)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

/// A command that goes on; ended when dropped.
pub struct Running {
    child: Child,
    /// The document it printed when it was ready.
    pub said: Value,
}

// === impl Ended ===

impl Ended {
    /// The one JSON document it printed.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

// === impl Running ===

impl Running {
    /// Starts a command that prints a JSON document once it is ready.
    pub fn start(arguments: &[&str]) -> Self {
        let mut command = command();
        let child = command.args(arguments).args(["--format", "json"]).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let mut text = String::new();
        for line in BufReader::new(child.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            text.push_str(&line);
            // the last line of a printed object is a brace alone
            if line == "}" {
                break;
            }
        }
        let said: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
        assert!(said.get("error").is_none(), "{arguments:?}: {said}");
        Self { child, said }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // both fail only when it is gone already, which is what is wanted
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a command to its end.
pub fn run(arguments: &[&str]) -> Ended {
    let output = command().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    Ended { code: output.status.code().unwrap(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// Runs a command with `--format json`.
pub fn json(arguments: &[&str]) -> (i32, Value) {
    let ended = run(&[arguments, &["--format", "json"]].concat());
    (ended.code, ended.json())
}

/// The shipped bundle.
pub fn bundle() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bundles/planning-agent").display().to_string()
}

/// An environment for the sample agent on a port of its own, in `folder`.
pub fn environment(folder: &Path, name: &str) -> PathBuf {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let shipped = fs::read_to_string(format!("{}.environment.yaml", bundle())).unwrap();
    let text = shipped
        .replace("127.0.0.1:9100", &format!("127.0.0.1:{port}"))
        .replace("name: local", &format!("name: {name}"));
    assert_ne!(text, shipped);
    let path = folder.join(format!("{name}.yaml"));
    fs::write(&path, text).unwrap();
    path
}

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ostiary"));
    // nothing of the caller's surroundings may change what a test sees
    for name in
        ["OSTIARY_SERVER", "OSTIARY_TOKEN", "OSTIARY_TOKEN_FILE", "OSTIARY_GRPC", "OSTIARY_CONFIG", "OSTIARY_LOG"]
    {
        command.env_remove(name);
    }
    command.stdin(Stdio::null());
    command
}
