//! What stands before an honest agent and means harm: one operation is answered by hand, everything else is passed on.
//! A double for faults: that an SDK would do these things is not to be expected, and it must not matter.

use std::{
    fs,
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::program;

pub mod grpc;

/// Says something in place of an answer, to the end of the connection.
pub type Says = fn(&Request, &mut TcpStream) -> io::Result<()>;

/// A listener before an agent; stops when dropped.
pub struct Front {
    address: SocketAddr,
    stopped: Arc<AtomicBool>,
}

/// A request as it came.
pub struct Request {
    head: String,
    /// Its body.
    pub body: String,
}

/// A run of `ostiary verify` with what it cost.
pub struct Measured {
    /// The exit code.
    pub code: i32,
    /// The report.
    pub report: Value,
    /// How long it took.
    pub seconds: f64,
    /// The most memory that was resident, in MiB.
    pub peak_mib: u64,
}

/// Between two looks at a process. Its high-water mark only rises, so that little is missed.
const LOOK: Duration = Duration::from_millis(5);

// === impl Front ===

impl Front {
    /// Listens before `agent`. What asks for `operation` (a method of JSON-RPC, or a path) is answered by `says`; an empty
    /// operation is any.
    ///
    /// # Errors
    /// When it cannot listen.
    pub fn before(agent: SocketAddr, operation: &'static str, says: Says) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").context("failed to listen")?;
        let (address, stopped) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let stop = Arc::clone(&stopped);
        std::thread::spawn(move || {
            for peer in listener.incoming().flatten() {
                if stop.load(Ordering::Relaxed) {
                    return;
                }
                // how a connection ends that means harm is the client's affair
                std::thread::spawn(move || drop(serve(peer, agent, operation, says)));
            }
        });
        Ok(Self { address, stopped })
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::Relaxed);
        // wakes the listener, which may be gone already
        drop(TcpStream::connect(self.address));
    }
}

// === impl Request ===

impl Request {
    /// The id of the call, as JSON.
    #[must_use]
    pub fn id(&self) -> Value {
        serde_json::from_str::<Value>(&self.body).map_or(Value::Null, |body| body["id"].clone())
    }

    fn asks(&self, operation: &str) -> bool {
        let line = self.head.lines().next().unwrap_or_default();
        let method = || serde_json::from_str::<Value>(&self.body).is_ok_and(|body| body["method"] == operation);
        operation.is_empty() && !line.contains("agent-card")
            || line.contains(operation) && operation.starts_with('/')
            || method()
    }

    fn read(peer: &mut TcpStream) -> io::Result<Option<Self>> {
        let mut seen = Vec::new();
        loop {
            if let Some(end) = seen.windows(4).position(|w| w == b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&seen[..end]).into_owned();
                let length = head.to_lowercase().lines().find_map(|l| l.strip_prefix("content-length: ")?.parse().ok());
                if seen.len() >= end + 4 + length.unwrap_or(0) {
                    let body = String::from_utf8_lossy(&seen[end + 4..]).into_owned();
                    return Ok(Some(Self { head, body }));
                }
            }
            let mut some = [0; 16 << 10];
            match peer.read(&mut some)? {
                0 => return Ok(None),
                n => seen.extend_from_slice(&some[..n]),
            }
        }
    }
}

fn serve(mut peer: TcpStream, agent: SocketAddr, operation: &str, says: Says) -> io::Result<()> {
    let Some(request) = Request::read(&mut peer)? else { return Ok(()) };
    if request.asks(operation) {
        says(&request, &mut peer)?;
    } else {
        let mut upstream = TcpStream::connect(agent)?;
        write!(upstream, "{}\r\nconnection: close\r\n\r\n{}", request.head, request.body)?;
        io::copy(&mut upstream, &mut peer)?;
    }
    peer.shutdown(Shutdown::Write)?;
    // until the client has gone, so that nothing it has not read is lost to a reset
    io::copy(&mut peer, &mut io::sink()).map(drop)
}

/// Says the same for ever; ends when the client does.
///
/// # Errors
/// When the client is gone.
pub fn for_ever(peer: &mut TcpStream, first: &str, again: &[u8]) -> io::Result<()> {
    peer.write_all(first.as_bytes())?;
    let block = again.repeat(1 + (16 << 10) / again.len());
    loop {
        peer.write_all(&block)?;
    }
}

/// Says a byte at a time, slower than anybody would read; ends when the client does.
///
/// # Errors
/// When the client is gone.
#[expect(clippy::disallowed_methods, reason = "to be slow is what it is for")]
pub fn drip(peer: &mut TcpStream, first: &str, drop: &[u8]) -> io::Result<()> {
    peer.write_all(first.as_bytes())?;
    loop {
        peer.write_all(drop)?;
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Runs `ostiary … --format json` and watches what it takes.
///
/// # Errors
/// When it cannot be run, is not over within `most`, or prints no JSON.
#[expect(clippy::disallowed_methods, reason = "a process is watched, by real time")]
pub fn measured(arguments: &[&str], most: Duration) -> Result<Measured> {
    let printed = tempfile::NamedTempFile::new()?;
    let mut command = Command::new(program::path()?);
    command.args(arguments).args(["--format", "json"]).stdin(Stdio::null()).stderr(Stdio::null());
    let start = Instant::now();
    let mut child = command.stdout(printed.reopen()?).spawn().context("failed to start ostiary")?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak_kib = 0;
    let code = loop {
        peak_kib = peak_kib.max(fs::read_to_string(&status).ok().and_then(|text| high_water(&text)).unwrap_or(0));
        if let Some(ended) = child.try_wait()? {
            break ended.code().context("ostiary was ended by a signal")?;
        }
        if start.elapsed() > most {
            child.kill()?;
            child.wait()?;
            anyhow::bail!("ostiary {arguments:?} was not over within {most:?}");
        }
        std::thread::sleep(LOOK);
    };
    let text = fs::read_to_string(printed.path())?;
    ensure!(peak_kib > 0, "nothing is known of its memory");
    let report = serde_json::from_str(&text).with_context(|| format!("ostiary {arguments:?} printed {text}"))?;
    Ok(Measured { code, report, seconds: start.elapsed().as_secs_f64(), peak_mib: peak_kib >> 10 })
}

/// The most that was resident, in KiB, of a `/proc/<pid>/status`.
fn high_water(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
