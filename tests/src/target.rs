//! Agents on other people's SDKs, started as processes.

use std::{
    io::{Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    ops::Range,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};

/// A cold Python start on two busy cores was seen to take 28 s.
const READY: Duration = Duration::from_secs(90);

/// Where an A2A agent serves its card.
const CARD: &str = "/.well-known/agent-card.json";

/// An agent of `tests/targets`; stopped when dropped.
pub struct SdkAgent {
    process: Child,
    address: SocketAddr,
}

// === impl SdkAgent ===

impl SdkAgent {
    /// Starts `script` of `tests/targets/python` on a free port of the loopback interface and waits until it serves its
    /// card.
    ///
    /// # Errors
    /// When the agents are not installed (`cargo xtask setup`), or this one does not come up.
    pub fn python(script: &str, arguments: &[&str]) -> Result<Self> {
        let python = root().join("target/targets/python/bin/python");
        ensure!(python.is_file(), "the Python agents are not installed: run `cargo xtask setup`");
        Self::start(Command::new(python).arg(root().join("tests/targets/python").join(script)), arguments)
    }

    /// The same for `tests/targets/javascript`.
    ///
    /// # Errors
    /// When the SDK is not installed (`cargo xtask setup`), or the agent does not come up.
    pub fn javascript(script: &str, arguments: &[&str]) -> Result<Self> {
        let sdk = root().join("target/targets/javascript/node_modules/@a2a-js/sdk");
        ensure!(sdk.is_dir(), "the JavaScript SDK is not installed: run `cargo xtask setup`");
        Self::start(Command::new("node").arg(root().join("tests/targets/javascript").join(script)), arguments)
    }

    /// The agent of `tests/targets/rust`.
    ///
    /// # Errors
    /// When it is not built (`cargo xtask setup`), or does not come up.
    pub fn rust(arguments: &[&str]) -> Result<Self> {
        let agent = root().join("target/targets/rust/debug/text-statistics-agent");
        ensure!(agent.is_file(), "the Rust agent is not built: run `cargo xtask setup`");
        Self::start(&mut Command::new(agent), arguments)
    }

    fn start(program: &mut Command, arguments: &[&str]) -> Result<Self> {
        let address = free_address()?;
        let process = program
            .args(["--port", &address.port().to_string()])
            .args(arguments)
            .stdin(Stdio::null())
            .spawn()
            .with_context(|| format!("failed to start {program:?}"))?;
        let mut agent = Self { process, address };
        agent.wait()?;
        Ok(agent)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    #[expect(clippy::disallowed_methods, reason = "a test waits for a process of somebody else, by real time")]
    fn wait(&mut self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < READY {
            if let Some(status) = self.process.try_wait().context("failed to look after the agent")? {
                bail!("the agent ended with {status} before it was ready");
            }
            if get(self.address, CARD).is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")) {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the agent did not serve its card within {READY:?}")
    }
}

impl Drop for SdkAgent {
    fn drop(&mut self) {
        // Both fail only when the process is gone already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The root of the checkout.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// Ports that are given to agents: below those that systems give away by themselves, so that no other socket takes one
/// between here and the agent's start.
const PORTS: Range<u32> = 10_000..30_000;

/// Ports given away by this process.
static GIVEN: AtomicU32 = AtomicU32::new(0);

/// An address of the loopback interface on which nobody listens now. Tests in other processes begin to look elsewhere.
///
/// # Errors
/// When the system has no free port.
pub fn free_address() -> Result<SocketAddr> {
    let many = PORTS.end - PORTS.start;
    for _ in PORTS {
        let n = std::process::id().wrapping_mul(61).wrapping_add(GIVEN.fetch_add(1, Ordering::Relaxed)) % many;
        let port = u16::try_from(PORTS.start + n).context("ports have sixteen bits")?;
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            return listener.local_addr().context("failed to read the port");
        }
    }
    bail!("every port of {PORTS:?} is taken")
}

/// A plain HTTP GET, head and body as text.
///
/// # Errors
/// When nobody answers within two seconds.
pub fn get(address: SocketAddr, path: &str) -> Result<String> {
    let wait = Duration::from_secs(2);
    let mut stream = TcpStream::connect_timeout(&address, wait)?;
    stream.set_read_timeout(Some(wait))?;
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
