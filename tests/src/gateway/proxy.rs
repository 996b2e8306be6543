//! nginx and Envoy as processes, with the configurations of deploy/examples and the test's addresses put in.

use std::{
    fs,
    net::{SocketAddr, TcpStream},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;

use crate::target::{free_address, root};

/// A gateway; stopped when dropped.
pub struct Gateway {
    process: Child,
    folder: TempDir,
    address: SocketAddr,
}

/// What is put into an example.
pub struct Where<'a> {
    /// The agent.
    pub agent: SocketAddr,
    /// The sidecar: HTTP for nginx, gRPC for Envoy.
    pub sidecar: &'a str,
    /// Lines of the example that end in `# NAME`, and what stands before it instead.
    pub lines: &'a [(&'a str, String)],
}

/// Envoy takes seconds on two busy cores.
const READY: Duration = Duration::from_secs(60);

// === impl Gateway ===

impl Gateway {
    /// nginx with the configuration of the example.
    ///
    /// # Errors
    /// When it is not installed, or does not come up.
    pub fn nginx(place: &Where<'_>) -> Result<Self> {
        let address = free_address()?;
        let mut lines = vec![
            ("AGENT", format!("server {};", place.agent)),
            ("SIDECAR", format!("server {};", place.sidecar)),
            ("LISTEN", format!("listen {address};")),
        ];
        lines.extend_from_slice(place.lines);
        let folder = folder()?;
        let file = put(&folder, "nginx/nginx.conf", "nginx.conf", &lines)?;
        // started as root it would give its rights away to somebody who cannot read the test's folder
        let mut command = Command::new(nginx()?);
        command.arg("-p").arg(folder.path()).arg("-c").arg(file).args(["-g", "daemon off; user root;"]);
        Self::spawn(command, folder, address)
    }

    /// Envoy with the configuration of the example.
    ///
    /// # Errors
    /// When it is not installed, or does not come up.
    pub fn envoy(place: &Where<'_>) -> Result<Self> {
        let address = free_address()?;
        let sidecar: SocketAddr = place.sidecar.parse().context("Envoy asks over TCP here")?;
        let endpoint = |at: SocketAddr| {
            format!(
                "- endpoint: {{ address: {{ socket_address: {{ address: {}, port_value: {} }} }} }}",
                at.ip(),
                at.port()
            )
        };
        let mut lines = vec![
            ("AGENT", endpoint(place.agent)),
            ("SIDECAR", endpoint(sidecar)),
            (
                "LISTEN",
                format!(
                    "address: {{ socket_address: {{ address: {}, port_value: {} }} }}",
                    address.ip(),
                    address.port()
                ),
            ),
        ];
        lines.extend_from_slice(place.lines);
        let folder = folder()?;
        let file = put(&folder, "envoy/envoy.yaml", "envoy.yaml", &lines)?;
        let mut command = Command::new(envoy()?);
        command.arg("-c").arg(file).args(["--log-level", "warning", "--concurrency", "1", "--use-dynamic-base-id"]);
        Self::spawn(command, folder, address)
    }

    /// Where clients reach the agent through it.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    fn spawn(mut command: Command, folder: TempDir, address: SocketAddr) -> Result<Self> {
        let process = command.stdin(Stdio::null()).spawn().with_context(|| format!("failed to start {command:?}"))?;
        let mut gateway = Self { process, folder, address };
        gateway.wait()?;
        Ok(gateway)
    }

    #[expect(clippy::disallowed_methods, reason = "a test waits for a process of somebody else, by real time")]
    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < READY {
            if let Some(status) = self.process.try_wait().context("failed to look after the gateway")? {
                let log = fs::read_to_string(self.folder.path().join("error.log")).unwrap_or_default();
                bail!("the gateway ended with {status} before it was ready: {log}");
            }
            if TcpStream::connect(self.address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("the gateway did not listen within {READY:?}")
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        // nginx's workers end with their master, but only if it is told to: killed, it would leave them behind
        let id = self.process.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.process.wait();
    }
}

fn folder() -> Result<TempDir> {
    let folder = TempDir::new().context("failed to make a folder")?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755))?;
    Ok(folder)
}

/// Writes an example with other lines: each that ends in `# NAME` keeps its indentation and gets another text.
fn put(folder: &TempDir, example: &str, name: &str, lines: &[(&str, String)]) -> Result<PathBuf> {
    let text = fs::read_to_string(root().join("deploy/examples").join(example))?;
    let mut missing: Vec<&str> = lines.iter().map(|(name, _)| *name).collect();
    let written = text.lines().map(|line| {
        let Some((_, (name, new))) = line
            .rsplit_once("# ")
            .and_then(|(_, mark)| lines.iter().find(|(name, _)| *name == mark).map(|found| (mark, found)))
        else {
            return format!("{line}\n");
        };
        missing.retain(|other| other != name);
        let indent: String = line.chars().take_while(|c| *c == ' ').collect();
        format!("{indent}{new}\n")
    });
    let written: String = written.collect();
    ensure!(missing.is_empty(), "{example} has no line for {missing:?}");
    let file = folder.path().join(name);
    fs::write(&file, written)?;
    Ok(file)
}

fn nginx() -> Result<PathBuf> {
    let places = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx", "/opt/homebrew/bin/nginx"];
    let found = places.iter().map(Path::new).find(|path| path.is_file());
    found.map(Path::to_owned).context("nginx is missing (apt-get install nginx-light)")
}

/// The program itself: the one on the virtual environment's PATH starts it and would outlive it.
fn envoy() -> Result<PathBuf> {
    let versions = fs::read_dir(root().join("target/targets/envoy/lib"));
    let versions = versions.context("Envoy is not installed: run `cargo xtask setup`")?;
    let found = versions.flatten().map(|version| version.path().join("site-packages/envoy/_bin/envoy"));
    found.into_iter().find(|path| path.is_file()).context("the package that is installed as Envoy has no program")
}
