//! The README's way from an own agent to a router's "allow", typed as it stands there, so that the README cannot rot.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use ostiary_tests::{
    program,
    target::{SdkAgent, free_address, root},
};
use tempfile::TempDir;

/// A debug build on two busy cores needs about one second.
const READY: Duration = Duration::from_secs(60);

/// Where the README says that the agent listens; here it listens on a port that is free.
const README_ADDRESS: &str = "127.0.0.1:9000";

/// The script that the README starts.
const SCRIPT: &str = "text_statistics_agent.py";

/// The control plane, stopped when dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only when the process is gone already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A newcomer's terminal: the README's folder, the README's `PATH`, and addresses that nobody else uses.
struct Terminal {
    folder: TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Terminal {
    fn open() -> Result<Self> {
        let folder = TempDir::new().context("failed to make a folder")?;
        let root = root().canonicalize()?;
        for name in ["tests", "target"] {
            symlink(root.join(name), folder.path().join(name))?;
        }
        let (http, grpc) = (free_address()?, free_address()?);
        let binary = program::path()?;
        let programs = binary.parent().context("the binary lies in no folder")?;
        let variables = vec![
            ("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", programs.display())),
            ("OSTIARY_HTTP_LISTEN", http.to_string()),
            ("OSTIARY_GRPC_LISTEN", grpc.to_string()),
            ("OSTIARY_SERVER", format!("http://{http}")),
            ("OSTIARY_GRPC", format!("http://{grpc}")),
        ];
        Ok(Self { folder, variables })
    }

    fn bash(&self, script: &str) -> Command {
        let mut command = Command::new("bash");
        command.args(["-euo", "pipefail", "-c", script]).current_dir(self.folder.path()).stdin(Stdio::null());
        command.env_clear().envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    fn serve(&self, script: &str) -> Result<Served> {
        let served = Served(self.bash(&format!("exec {script}")).spawn().context("failed to start the control plane")?);
        let token = self.folder.path().join(".ostiary/admin.token");
        wait_for(&token)?;
        Ok(served)
    }
}

#[expect(clippy::disallowed_methods, reason = "a test waits for a process, by real time")]
fn wait_for(file: &Path) -> Result<()> {
    let start = Instant::now();
    while start.elapsed() < READY {
        if file.is_file() {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    anyhow::bail!("{} did not appear within {READY:?}", file.display())
}

/// The fenced shell blocks of the README's section.
fn blocks() -> Result<Vec<String>> {
    let readme = fs::read_to_string(root().join("README.md")).context("failed to read the README")?;
    let section = readme.split_once("<!-- own-agent -->").context("the README has no section on one's own agent")?.1;
    let section = section.split("\n## ").next().unwrap_or(section);
    let fenced = section.split("```sh\n").skip(1);
    Ok(fenced.filter_map(|rest| rest.split_once("```").map(|(block, _)| block.trim().to_owned())).collect())
}

fn shown(output: &Output) -> String {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    format!("{}\n{out}\n{err}", output.status)
}

#[test]
fn a_newcomer_gets_from_the_readme_to_a_routers_allow() -> Result<()> {
    let blocks = blocks()?;
    let [agent, serve, steps] = blocks.as_slice() else { anyhow::bail!("expected three blocks: {blocks:#?}") };
    ensure!(agent.contains(&format!("{SCRIPT} --port 9000")), "the README starts another agent: {agent}");
    let running = SdkAgent::python(SCRIPT, &[])?;
    let terminal = Terminal::open()?;
    let serve = serve.split(" #").next().unwrap_or(serve).trim();
    let _served = terminal.serve(serve)?;
    let steps = steps.replace(README_ADDRESS, &running.address().to_string());
    let output = terminal.bash(&steps).output()?;
    let said = shown(&output);
    ensure!(output.status.success(), "{said}");
    for wanted in ["places for you to decide", "REGISTRY_ADMITTED", "CANARY", "ACTIVE", "ALLOW  ALLOWED"] {
        assert!(said.contains(wanted), "`{wanted}` is missing:\n{said}");
    }
    Ok(())
}

#[test]
fn a_namespace_that_is_none_for_development_is_told_how_to_become_one() -> Result<()> {
    let blocks = blocks()?;
    let [_, _, steps] = blocks.as_slice() else { anyhow::bail!("expected three blocks: {blocks:#?}") };
    let running = SdkAgent::python(SCRIPT, &[])?;
    let terminal = Terminal::open()?;
    let _served = terminal.serve("ostiary serve")?;
    let steps = steps.replace(README_ADDRESS, &running.address().to_string());
    let output = terminal.bash(&steps).output()?;
    let said = shown(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("ostiary serve --development acme"), "{said}");
    Ok(())
}

#[test]
fn the_readme_stays_short() -> Result<()> {
    let lines = fs::read_to_string(root().join("README.md"))?.lines().count();
    assert!(lines <= 150, "{lines} lines");
    Ok(())
}
