//! A server in a process of its own.

use std::{collections::BTreeMap, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

/// What a server says when it is ready.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Ready {
    /// Ports by the name of what is served there.
    pub ports: BTreeMap<String, u16>,
    /// What it cost to get there, if there is anything to say.
    pub costs: Option<Costs>,
}

/// What it costs to hold versions and to change one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Costs {
    /// How many versions are held.
    pub versions: usize,
    /// Seconds to make and publish all of them.
    pub load_seconds: f64,
    /// Resident memory that they added, divided by their number.
    pub bytes_per_version: f64,
    /// Median microseconds to publish a change of one version.
    pub publish_us: f64,
    /// Shards that such a publish copied, at most.
    pub publish_shards: usize,
    /// Records (pointers) in the copied shard, median.
    pub publish_records: f64,
    /// Nanoseconds of one decision in process, over the mix of questions.
    pub decision_ns: f64,
    /// The same over 64 hot questions.
    pub decision_hot_ns: f64,
}

/// A running server; ends with this value.
pub struct Server {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    /// What it said when it was ready.
    pub ready: Ready,
}

/// CPU time is counted in hundredths of a second (`USER_HZ`, which is 100 on every Linux).
const TICKS_PER_SECOND: f64 = 100.0;

/// Longest wait for a server: a million versions take seconds.
const PATIENCE: Duration = Duration::from_secs(120);

// === impl Server ===

impl Server {
    /// Starts this program again as a server and waits until it is ready.
    pub async fn start(arguments: &[String]) -> Result<Self> {
        let program = std::env::current_exe().context("failed to find this program")?;
        let mut child = Command::new(program)
            .arg("serve")
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("failed to start the server {arguments:?}"))?;
        let input = child.stdin.take().context("the server has no input")?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut server = Self { child, input, output: BufReader::new(output).lines(), ready: Ready::default() };
        let line = server.line().await.with_context(|| format!("the server {arguments:?} did not become ready"))?;
        server.ready = serde_json::from_str(&line).with_context(|| format!("the server said `{line}`"))?;
        Ok(server)
    }

    /// Where it serves `name`.
    pub fn address(&self, name: &str) -> Result<String> {
        let port = self.ready.ports.get(name).with_context(|| format!("the server does not serve `{name}`"))?;
        Ok(format!("http://127.0.0.1:{port}"))
    }

    /// How many database queries it has made.
    pub async fn queries(&mut self) -> Result<u64> {
        let line = self.ask("queries").await?;
        line.parse().with_context(|| format!("the server said `{line}`"))
    }

    /// Asks it something about itself, or to do something; gives its answer.
    pub async fn ask(&mut self, question: &str) -> Result<String> {
        self.tell(question).await?;
        self.line().await
    }

    /// Asks without waiting for the answer, which [`Server::line`] gives.
    pub async fn tell(&mut self, question: &str) -> Result<()> {
        self.input.write_all(format!("{question}\n").as_bytes()).await.context("failed to ask the server")
    }

    /// Seconds of CPU that it has used, user and system.
    pub fn cpu_seconds(&self) -> Result<f64> {
        let pid = self.child.id().context("the server has ended")?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).context("failed to read its CPU time")?;
        cpu_ticks(&stat).map(|ticks| ticks / TICKS_PER_SECOND).context("failed to understand its CPU time")
    }

    /// Its next answer.
    pub async fn line(&mut self) -> Result<String> {
        match tokio::time::timeout(PATIENCE, self.output.next_line()).await {
            Ok(Ok(Some(line))) => Ok(line),
            Ok(Ok(None)) => bail!("the server ended"),
            Ok(Err(error)) => Err(error).context("failed to listen to the server"),
            Err(_) => bail!("the server said nothing for {PATIENCE:?}"),
        }
    }
}

/// User and system ticks of a `/proc/<pid>/stat`; the program's name may hold spaces and brackets.
fn cpu_ticks(stat: &str) -> Option<f64> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some(user + system)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_found_behind_any_program_name() {
        let stat = "12 (a b) (c) S 1 12 12 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 100 1000 10 18446744073709551615";
        assert_eq!(cpu_ticks(stat), Some(300.0));
        assert_eq!(cpu_ticks("12 (x) S 1"), None);
    }
}
