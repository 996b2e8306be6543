//! From the start of `ostiary serve` until it is ready, on SQLite: with nothing there, and with what it left behind.

use std::{net::TcpListener, path::Path, process::Stdio, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::{Child, Command},
};

use crate::{
    cli::Plan,
    report::{Goal, Report},
    stats::median,
    stopwatch::Stopwatch,
};

/// Most milliseconds from the start of the process to the first answer that says it is ready.
const LIMIT_MS: f64 = 300.0;

/// When to give up.
const PATIENCE: Duration = Duration::from_secs(20);

/// Between two looks; a hundredth of the limit.
const POLL: Duration = Duration::from_millis(3);

/// Runs the benchmark.
pub async fn run(ostiary: &Path, plan: &Plan) -> Result<Report> {
    ensure!(
        ostiary.is_file(),
        "`{}` is not there; build it with `cargo build --release -p ostiary-cli`, or name another with --ostiary",
        ostiary.display()
    );
    // Servers run in their data directories, where a relative path would name something else.
    let ostiary = &ostiary.canonicalize().context("failed to find the program")?;
    let (mut first, mut again) = (Vec::new(), Vec::new());
    for _ in 0..if plan.quick { 1 } else { plan.rounds } {
        let directory = TempDir::new().context("failed to make a data directory")?;
        first.push(start_once(ostiary, directory.path()).await?);
        again.push(start_once(ostiary, directory.path()).await?);
    }
    let goal = |name: &str, times| Goal { name: name.to_owned(), value: median(times), limit: LIMIT_MS };
    Ok(Report {
        bench: "start",
        rows: vec![],
        goals: vec![
            goal("ms to ready, empty data directory", first),
            goal("ms to ready, existing data directory", again),
        ],
        costs: vec![],
    })
}

/// Milliseconds until a server over `data` is ready; stops it again.
async fn start_once(ostiary: &Path, data: &Path) -> Result<f64> {
    let address = free_address()?;
    let watch = Stopwatch::start();
    let mut server = Command::new(ostiary)
        .arg("serve")
        .env("OSTIARY_DATA_DIR", data)
        .env("OSTIARY_HTTP_LISTEN", &address)
        .env("OSTIARY_GRPC_LISTEN", "127.0.0.1:0")
        .current_dir(data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("failed to start `{}`", ostiary.display()))?;
    let ready = wait_until_ready(&mut server, &address, watch).await;
    server.kill().await.context("failed to stop the server")?;
    ready
}

async fn wait_until_ready(server: &mut Child, address: &str, watch: Stopwatch) -> Result<f64> {
    loop {
        if is_ready(address).await {
            return Ok(watch.elapsed().as_secs_f64() * 1e3);
        }
        if let Some(status) = server.try_wait()? {
            bail!("the server ended with {status} before it was ready");
        }
        ensure!(watch.elapsed() < PATIENCE, "the server was not ready after {PATIENCE:?}");
        tokio::time::sleep(POLL).await;
    }
}

/// Whether `/readyz` answers 200; a refused connection is only "not yet".
async fn is_ready(address: &str) -> bool {
    const OK: &[u8] = b"HTTP/1.1 200";
    let asked = async {
        let mut stream = TcpStream::connect(address).await?;
        let question = format!("GET /readyz HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(question.as_bytes()).await?;
        let mut answer = [0; OK.len()];
        stream.read_exact(&mut answer).await?;
        Ok::<_, std::io::Error>(answer == OK)
    };
    matches!(tokio::time::timeout(PATIENCE, asked).await, Ok(Ok(true)))
}

/// An address of the loopback interface that nobody listens on.
fn free_address() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0").context("failed to find a free port")?;
    Ok(listener.local_addr()?.to_string())
}
