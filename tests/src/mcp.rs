//! MCP servers of other people, as commands and as processes, and what the official clients hear of them.

use std::{
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use crate::target::{free_address, root};

/// A cold start of an interpreter on two busy cores was seen to take 28 s.
const READY: Duration = Duration::from_secs(90);

/// A server of `tests/targets`, or one that somebody published.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    /// On the official Python SDK; of both eras.
    Python,
    /// On `FastMCP`; of both eras.
    Fast,
    /// On the official TypeScript SDK v2; of both eras.
    TypeScript,
    /// `server-everything`; of the older era.
    Everything,
    /// `server-filesystem`; of the older era, over stdio.
    Filesystem,
    /// `server-memory`; of the older era, over stdio.
    Memory,
    /// `server-sequential-thinking`; of the older era, over stdio.
    Thinking,
}

/// A server over HTTP; stopped when dropped.
pub struct Served {
    process: Child,
    /// The address of its endpoint.
    pub url: String,
}

// === impl Server ===

impl Server {
    /// The command that starts it on stdio; what it keeps goes into `folder`.
    ///
    /// # Errors
    /// When it is not installed.
    pub fn command(self, folder: &str) -> Result<Vec<String>> {
        let script = |of: &str| root().join("tests/targets").join(of).display().to_string();
        let package = |name: &str| {
            node_modules()
                .map(|at| at.join("@modelcontextprotocol").join(name).join("dist/index.js").display().to_string())
        };
        let sdk = || format!("MCP_SDK={}", sdk().display());
        Ok(match self {
            Self::Python => vec![python()?, script("mcp-python/text_tools.py")],
            Self::Fast => vec![python()?, script("mcp-python/text_tools.py"), "--sdk".into(), "fastmcp".into()],
            Self::TypeScript => vec!["env".into(), sdk(), "node".into(), script("mcp-javascript/text_tools.mjs")],
            Self::Everything => vec!["node".into(), package("server-everything")?, "stdio".into()],
            Self::Filesystem => vec!["node".into(), package("server-filesystem")?, folder.into()],
            Self::Memory => {
                let file = format!("MEMORY_FILE_PATH={folder}/memory.jsonl");
                vec!["env".into(), file, "node".into(), package("server-memory")?]
            }
            Self::Thinking => vec!["node".into(), package("server-sequential-thinking")?],
        })
    }

    /// Starts it over HTTP and waits until it listens.
    ///
    /// # Errors
    /// When it does not come up, or knows stdio only.
    pub fn serve(self, folder: &str, more: &[&str]) -> Result<Served> {
        let address = free_address()?;
        let port = address.port().to_string();
        let mut command = self.command(folder)?;
        match self {
            Self::Everything => {
                command.pop();
                command.push("streamableHttp".into());
                command.splice(0..0, ["env".to_owned(), format!("PORT={port}")]);
            }
            Self::Python | Self::Fast | Self::TypeScript => command.extend(["--port".into(), port]),
            Self::Filesystem | Self::Memory | Self::Thinking => bail!("{self:?} knows stdio only"),
        }
        command.extend(more.iter().map(|m| (*m).to_owned()));
        let mut program = Command::new(&command[0]);
        program.args(&command[1..]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let process = program.spawn().with_context(|| format!("failed to start {command:?}"))?;
        let mut served = Served { process, url: format!("http://{address}/mcp") };
        served.wait(address)?;
        Ok(served)
    }

    /// What it is built on, as pairs of honest and lying servers are recorded.
    #[must_use]
    pub const fn sdk(self) -> &'static str {
        match self {
            Self::Python => "mcp (Python)",
            Self::Fast => "fastmcp (Python)",
            Self::TypeScript => "@modelcontextprotocol/server (TypeScript)",
            Self::Everything | Self::Filesystem | Self::Memory | Self::Thinking => "@modelcontextprotocol/sdk v1",
        }
    }

    /// Whether it speaks 2026-07-28.
    #[must_use]
    pub const fn is_modern(self) -> bool {
        matches!(self, Self::Python | Self::Fast | Self::TypeScript)
    }

    /// What the official client of its SDK hears, in one era: `auto` or `legacy`.
    ///
    /// # Errors
    /// When the client fails.
    pub fn official_client(self, era: &str, place: &[String]) -> Result<Value> {
        let script = |of: &str| root().join("tests/targets").join(of);
        let mut client = if matches!(self, Self::Python | Self::Fast) {
            let mut client = Command::new(python()?);
            client.arg(script("mcp-python/list_tools.py"));
            client
        } else {
            let mut client = Command::new("node");
            client.arg(script("mcp-javascript/list_tools.mjs")).env("MCP_SDK", sdk());
            client
        };
        let output = client.arg(era).args(place).output().context("failed to start the official client")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().find(|line| line.starts_with('{'));
        let line = line.with_context(|| format!("the client said: {}", String::from_utf8_lossy(&output.stderr)))?;
        serde_json::from_str(line).context("the client printed no JSON")
    }
}

impl Served {
    #[expect(clippy::disallowed_methods, reason = "a test waits for a process of somebody else, by real time")]
    fn wait(&mut self, address: std::net::SocketAddr) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < READY {
            if let Some(status) = self.process.try_wait().context("failed to look after the server")? {
                bail!("the server ended with {status} before it was ready");
            }
            if std::net::TcpStream::connect(address).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        bail!("the server did not listen within {READY:?}")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Both fail only when the process is gone already, which is what is wanted.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn python() -> Result<String> {
    let python = root().join("target/targets/mcp-python/bin/python");
    ensure!(python.is_file(), "the MCP servers are not installed: run `cargo xtask setup`");
    Ok(python.display().to_string())
}

fn node_modules() -> Result<PathBuf> {
    let folder = root().join("target/targets/mcp-javascript/node_modules");
    ensure!(folder.is_dir(), "the MCP servers are not installed: run `cargo xtask setup`");
    Ok(folder)
}

/// From where the JavaScript programs find their SDK.
fn sdk() -> PathBuf {
    root().join("target/targets/mcp-javascript/package.json")
}
