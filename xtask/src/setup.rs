//! Installs what the tests need from pinned lock files, into `target/` and nowhere else.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::commands::{call, root};

/// Where the Python agents and verifiers are installed.
const PYTHON: &str = "target/targets/python";

/// Installs what is missing; quick when nothing is.
pub fn run() -> Result<()> {
    let venv = root().join(PYTHON);
    let lock = root().join("tests/targets/python/requirements.lock");
    let wanted = fs::read_to_string(&lock).with_context(|| format!("failed to read {}", lock.display()))?;
    let stamp = venv.join("installed.lock");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    install(&venv, &lock)?;
    fs::write(&stamp, wanted).with_context(|| format!("failed to write {}", stamp.display()))
}

fn install(venv: &Path, lock: &Path) -> Result<()> {
    let python = python()?;
    eprintln!("installing the Python agents into {}", venv.display());
    let made = call(Command::new(python).args(["-m", "venv", "--clear"]).arg(venv));
    made.context("failed to make a virtual environment (on Debian: apt-get install python3-venv)")?;
    let pip = venv.join("bin/pip");
    let mut command = Command::new(pip);
    command.args(["install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"]).arg(lock);
    call(&mut command).context("failed to install the Python agents; is the package index reachable?")
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
    bail!("Python 3.11 or newer with `venv` is missing; the tests run agents written in it (apt-get install python3-venv)")
}
