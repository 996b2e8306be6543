//! Installs what the tests need from pinned lock files, into `target/` and nowhere else.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail, ensure};

use crate::{
    commands::{call, root},
    licences::MANIFEST,
};

/// Where the Python agents and verifiers are installed.
const PYTHON: &str = "target/targets/python";
/// Where the JavaScript agent, signer and verifier are installed.
const JAVASCRIPT: &str = "target/targets/javascript";
/// Where the MCP servers and clients are installed.
const MCP_PYTHON: &str = "target/targets/mcp-python";
const MCP_JAVASCRIPT: &str = "target/targets/mcp-javascript";
/// Where Envoy is installed, which its package index has as a Python package.
const ENVOY: &str = "target/targets/envoy";
/// Where the Rust agent is built.
const RUST: &str = "target/targets/rust";
/// Where the example clients of `deploy/examples` find what they need.
const EXAMPLES: &str = "target/targets/examples";
/// The oldest node that was seen to sign and verify: that of Debian 12.
const NODE: u32 = 18;

/// Installs what is missing; quick when nothing is.
pub fn run() -> Result<()> {
    nginx()?;
    once(PYTHON, "tests/targets/python/requirements.lock", install_python)?;
    once(ENVOY, "tests/targets/envoy/requirements.lock", install_python)?;
    once(&format!("{EXAMPLES}/python"), "deploy/examples/python/requirements.lock", install_python)?;
    once(JAVASCRIPT, "tests/targets/javascript/package-lock.json", install_javascript)?;
    once(MCP_PYTHON, "tests/targets/mcp-python/requirements.lock", install_python)?;
    once(MCP_JAVASCRIPT, "tests/targets/mcp-javascript/package-lock.json", install_javascript)?;
    once(&format!("{EXAMPLES}/typescript"), "deploy/examples/typescript/package-lock.json", install_javascript)?;
    build_rust()
}

/// Builds the Rust agent; cargo itself knows when nothing has to be done.
fn build_rust() -> Result<()> {
    let manifest = root().join(MANIFEST);
    let mut command = Command::new(env!("CARGO"));
    command.args(["build", "--quiet", "--locked", "--manifest-path"]).arg(manifest);
    call(command.arg("--target-dir").arg(root().join(RUST))).context("failed to build the Rust agent")
}

/// Runs `install` unless `folder` was made from this very lock file.
fn once(folder: &str, lock: &str, install: impl FnOnce(&Path, &Path) -> Result<()>) -> Result<()> {
    let (folder, lock) = (root().join(folder), root().join(lock));
    let wanted = fs::read_to_string(&lock).with_context(|| format!("failed to read {}", lock.display()))?;
    let stamp = folder.join("installed.lock");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    // a half-made installation is none
    let _ = fs::remove_file(&stamp);
    install(&folder, &lock)?;
    fs::write(&stamp, wanted).with_context(|| format!("failed to write {}", stamp.display()))
}

fn install_python(venv: &Path, lock: &Path) -> Result<()> {
    let python = python()?;
    eprintln!("installing {} into {}", shown(lock), venv.display());
    let made = call(Command::new(python).args(["-m", "venv", "--clear"]).arg(venv));
    made.context("failed to make a virtual environment (on Debian: apt-get install python3-venv)")?;
    let pip = venv.join("bin/pip");
    let mut command = Command::new(pip);
    command.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"]).arg(lock);
    call(&mut command).with_context(|| format!("failed to install {}; is the package index reachable?", shown(lock)))
}

/// A lock file as a person finds it.
fn shown(lock: &Path) -> String {
    lock.strip_prefix(root()).unwrap_or(lock).display().to_string()
}

/// Checks that the gateway of the tests is there; it is a program of the system, and lies off an ordinary user's PATH.
fn nginx() -> Result<()> {
    let folders = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/opt/homebrew/bin"];
    let found = folders.iter().any(|folder| Path::new(folder).join("nginx").is_file());
    ensure!(found, "nginx is missing; the tests put it in front of an agent (apt-get install nginx-light)");
    Ok(())
}

fn python() -> Result<&'static str> {
    for candidate in ["python3", "python"] {
        let found = Command::new(candidate)
            .args(["-c", "import sys, venv; sys.exit(sys.version_info < (3, 11))"])
            .output()
            .is_ok_and(|out| out.status.success());
        if found {
            return Ok(candidate);
        }
    }
    bail!(
        "Python 3.11 or newer with `venv` is missing; the tests run agents written in it (apt-get install python3-venv)"
    )
}

/// `npm ci` beside a copy of the lock file: packages land under `target/`, and no package runs a script of its own.
fn install_javascript(folder: &Path, lock: &Path) -> Result<()> {
    node()?;
    eprintln!("installing {} into {}", shown(lock), folder.display());
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    for file in [lock.to_owned(), lock.with_file_name("package.json")] {
        let name = file.file_name().context("a file has a name")?;
        fs::copy(&file, folder.join(name)).with_context(|| format!("failed to copy {}", file.display()))?;
    }
    let mut command = Command::new("npm");
    command.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"]).arg(folder);
    call(&mut command).with_context(|| format!("failed to install {}; is the package index reachable?", shown(lock)))
}

/// Checks that node is new enough and npm is there.
fn node() -> Result<()> {
    let missing = || {
        format!(
            "node {NODE} or newer with npm is missing; the tests sign and verify cards with it (apt-get install nodejs npm)"
        )
    };
    let version = Command::new("node").arg("--version").output().with_context(missing)?;
    let text = String::from_utf8_lossy(&version.stdout);
    let major = text.trim().trim_start_matches('v').split('.').next().and_then(|major| major.parse::<u32>().ok());
    ensure!(major.is_some_and(|major| major >= NODE), "node {} is too old: {}", text.trim(), missing());
    ensure!(Command::new("npm").arg("--version").output().is_ok_and(|out| out.status.success()), missing());
    Ok(())
}
