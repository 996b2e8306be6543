//! From the start of `ostiary serve` until it is ready, on SQLite: with nothing there, with what it left behind, and with
//! many versions, up to the first decision.
//!
//! The many versions stand in the snapshot that a server leaves when it stops, signed by its own key and bound to its
//! database. The database itself is small: at a restart only what is newer than the snapshot is read from it.

use std::{net::TcpListener, path::Path, process::Stdio, sync::Arc, time::Duration};

use anyhow::{Context as _, Result, bail, ensure};
use ostiary_admission::Index;
use ostiary_canon::dsse::{Keyring, SigningKey};
use ostiary_domain::{
    Clock,
    ports::{AuditLog as _, StorePorts},
};
use ostiary_proto::admission::v1::Outcome;
use ostiary_server::{
    entropy::SystemEntropy,
    snapshot,
    system::{EntropyIds, KeySigner, SystemClock},
};
use ostiary_store_sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    process::{Child, Command},
};

use crate::{
    cli::Plan,
    corpus,
    load::Clients,
    report::{Goal, Report},
    stats::median,
    stopwatch::Stopwatch,
};

/// Most milliseconds from the start of the process to the first answer that says it is ready.
const LIMIT_MS: f64 = 300.0;

/// Most seconds from the start of the process to the first decision, by the number of versions.
const MANY: [(usize, f64); 2] = [(100_000, 2.0), (1_000_000, 10.0)];

/// When to give up.
const PATIENCE: Duration = Duration::from_secs(60);

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
    let mut many = Vec::new();
    for (versions, limit) in if plan.quick { [(1_000, f64::INFINITY), (2_000, f64::INFINITY)] } else { MANY } {
        eprintln!("{versions} versions");
        let directory = TempDir::new().context("failed to make a data directory")?;
        start_once(ostiary, directory.path()).await?;
        let mut times = Vec::new();
        for _ in 0..if plan.quick { 1 } else { plan.rounds.min(3) } {
            leave(directory.path(), versions).await?;
            times.push(start_to_decision(ostiary, directory.path(), versions).await?);
        }
        many.push(Goal {
            name: format!("seconds to the first decision, {versions} versions"),
            value: median(times),
            limit,
        });
    }
    let goal = |name: &str, times| Goal { name: name.to_owned(), value: median(times), limit: LIMIT_MS };
    let mut goals =
        vec![goal("ms to ready, empty data directory", first), goal("ms to ready, existing data directory", again)];
    goals.append(&mut many);
    Ok(Report { bench: "start", rows: vec![], goals, costs: vec![] })
}

/// Leaves a snapshot of `versions` behind, as the server over `data` would have.
async fn leave(data: &Path, versions: usize) -> Result<()> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let ids = Arc::new(EntropyIds::new(Arc::clone(&clock), Arc::new(SystemEntropy)));
    let store = SqliteStore::open(&data.join("ostiary.db"), StorePorts::new(Arc::clone(&clock), ids)).await?;
    let (revision, audit) = store.audit_head().await?;
    let pem = std::fs::read_to_string(data.join("signing-key.pem")).context("failed to read the server's key")?;
    let key = SigningKey::from_pkcs8_pem(&pem).context("failed to understand the server's key")?;
    let keys = Keyring::trusting([key.verifying_key()]);
    let index = Index::new();
    index.publish(corpus::records(versions, clock.now()), revision).context("failed to fill an index")?;
    let file = data.join(snapshot::FILE);
    snapshot::write(&file, &index.freeze(), audit, (&keys, &KeySigner::new(key)), clock.now())
        .context("failed to write a snapshot")
}

/// Seconds until a server over `data` has answered a question about one of its versions.
async fn start_to_decision(ostiary: &Path, data: &Path, versions: usize) -> Result<f64> {
    let (http, grpc) = (free_address()?, free_address()?);
    let token = std::fs::read_to_string(data.join("admin.token")).context("failed to read the token")?;
    let question = corpus::questions(versions).swap_remove(ALLOWED);
    let watch = Stopwatch::start();
    let mut server = serve(ostiary, data, &http, &grpc)?;
    wait_until_ready(&mut server, &http, watch).await?;
    let clients = Clients::connect(&format!("http://{grpc}"), token.trim()).await?;
    let outcome = clients.ask(question.request).await?;
    let seconds = watch.elapsed().as_secs_f64();
    server.kill().await.context("failed to stop the server")?;
    ensure!(outcome == i32::from(Outcome::Allow), "the first decision was {outcome}, not an ALLOW");
    Ok(seconds)
}

/// Any question of the mix that is allowed.
const ALLOWED: usize = 10;

/// Milliseconds until a server over `data` is ready; stops it again.
async fn start_once(ostiary: &Path, data: &Path) -> Result<f64> {
    let address = free_address()?;
    let watch = Stopwatch::start();
    let mut server = serve(ostiary, data, &address, "127.0.0.1:0")?;
    let ready = wait_until_ready(&mut server, &address, watch).await;
    server.kill().await.context("failed to stop the server")?;
    ready
}

fn serve(ostiary: &Path, data: &Path, http: &str, grpc: &str) -> Result<Child> {
    Command::new(ostiary)
        .arg("serve")
        .env("OSTIARY_DATA_DIR", data)
        .env("OSTIARY_HTTP_LISTEN", http)
        .env("OSTIARY_GRPC_LISTEN", grpc)
        .current_dir(data)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .with_context(|| format!("failed to start `{}`", ostiary.display()))
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
