//! The proxy for what it does not understand: bytes pass unread, so that gRPC, TLS and databases can stand behind it.
//!
//! An exchange is a connection. Latency holds for each turn: for the first bytes that come back after the caller spoke.

use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use ostiary_record::{Down, Fault, Monotonic};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        TcpStream,
        tcp::{ReadHalf, WriteHalf},
    },
    sync::{Semaphore, watch},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::fault::{
    Disturbance, FaultHandle,
    door::Port,
    shaper::{Act, Shaper},
};
use crate::clock::SinceStart;

/// What a proxy needs besides who stands behind it.
#[derive(Clone, Default)]
pub struct TcpOptions {
    /// Where to listen; `None` = a free port of the loopback.
    pub listen: Option<SocketAddr>,
    /// What stands behind, in ledgers; empty = its address.
    pub place: String,
    /// The clock of the ledger; `None` = time since the proxy started.
    pub clock: Option<Arc<dyn Monotonic>>,
}

/// A running proxy; stops when dropped.
pub struct TcpProxy {
    addr: SocketAddr,
    desk: Arc<Desk>,
}

struct Desk {
    behind: String,
    faults: FaultHandle,
    connections: Semaphore,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// Connections at the same time; more wait to be taken.
const CONNECTIONS: usize = 1024;
/// Bytes that are read at once.
const PIECE: usize = 16 << 10;

// === impl TcpProxy ===

impl TcpProxy {
    /// Listens in front of `behind`, a `host:port`.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(behind: impl Into<String>, options: TcpOptions) -> io::Result<Self> {
        let behind = behind.into();
        let mut port = Port::open(options.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0))))?;
        let addr = port.addr();
        let place = if options.place.is_empty() { behind.clone() } else { options.place };
        let faults = FaultHandle::new(&place, SinceStart::or(options.clock));
        let (tasks, stop, connections) = (TaskTracker::new(), CancellationToken::new(), Semaphore::new(CONNECTIONS));
        let desk = Arc::new(Desk { behind, faults, connections, tasks, stop });
        let serving = Arc::clone(&desk);
        desk.tasks.spawn(async move {
            while let Some(tcp) = port.accept(&serving.faults, &serving.stop).await {
                serving.tasks.spawn(Arc::clone(&serving).take(tcp));
            }
        });
        Ok(Self { addr, desk })
    }

    /// Where it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// The handle by which faults are switched, and the ledger of what was done.
    #[must_use]
    pub fn faults(&self) -> FaultHandle {
        self.desk.faults.clone()
    }

    /// Stops and waits until every connection is gone.
    pub async fn shutdown(self) {
        self.desk.stop.cancel();
        self.desk.tasks.close();
        self.desk.tasks.wait().await;
    }
}

impl Drop for TcpProxy {
    fn drop(&mut self) {
        self.desk.stop.cancel();
    }
}

// === impl Desk ===

impl Desk {
    async fn take(self: Arc<Self>, mut caller: TcpStream) {
        let Ok(_permit) = self.connections.acquire().await else { return };
        let mut disturbance = self.faults.begin("connection".to_owned(), &[]);
        let mut down = self.faults.watch();
        let ended = tokio::select! {
            () = self.stop.cancelled() => None,
            ended = self.serve(&mut caller, &mut disturbance) => ended,
            Ok(_) = down.wait_for(|down| *down == Some(Down::Refuse)) => {
                let fault = Fault::Down { how: Down::Refuse };
                disturbance.note(fault, true, 0, 0);
                Some(fault)
            }
        };
        if matches!(ended, Some(Fault::Reset { .. } | Fault::Down { .. })) {
            // Without it the connection is closed, not reset; there is nobody left to tell.
            let _ = caller.set_zero_linger();
        }
    }

    /// Serves one connection; what it was ended by, where that was a fault.
    async fn serve(&self, caller: &mut TcpStream, disturbance: &mut Disturbance) -> Option<Fault> {
        if let Some(fault) = disturbance.unsent() {
            disturbance.note(fault, false, 0, 0);
            return broken(caller, fault).await;
        }
        let Ok(mut behind) = TcpStream::connect(&self.behind).await else {
            // Nobody is there: the caller sees what it would see without us, a connection that comes to nothing.
            return Some(Fault::Down { how: Down::Refuse });
        };
        // As on the caller's side.
        let _ = behind.set_nodelay(true);
        let turn = AtomicBool::new(false);
        let ended = {
            let (mut from_caller, mut to_caller) = caller.split();
            let (mut from_behind, mut to_behind) = behind.split();
            let asking = pass_on(&mut from_caller, &mut to_behind, &turn, self.faults.watch());
            let mut answer = Answer { disturbance, turn: &turn, down: self.faults.watch() };
            // Each way may end by itself; only when both did, or one broke, is the connection over.
            futures::future::try_join(answer.pass(&mut from_behind, &mut to_caller), asking).await.err()?
        };
        broken(caller, ended?).await
    }
}

/// The way back of one connection.
struct Answer<'a> {
    disturbance: &'a mut Disturbance,
    turn: &'a AtomicBool,
    down: watch::Receiver<Option<Down>>,
}

// === impl Answer ===

impl Answer<'_> {
    /// Passes what comes back until it ends. An error ends the connection: a fault, or a side that broke off.
    async fn pass(&mut self, from: &mut ReadHalf<'_>, to: &mut WriteHalf<'_>) -> Result<(), Option<Fault>> {
        let mut shaper = self.disturbance.shaper();
        let mut buffer = BytesMut::new();
        loop {
            self.act(&mut shaper, to).await?;
            buffer.reserve(PIECE);
            if from.read_buf(&mut buffer).await.map_err(|_| None)? == 0 {
                return to.shutdown().await.map_err(|_| None);
            }
            if self.turn.swap(false, Ordering::AcqRel) {
                self.disturbance.delay().await;
            }
            shaper.feed(Bytes::from(buffer.split()));
        }
    }

    /// Does what is to be done to the piece at hand.
    async fn act(&mut self, shaper: &mut Shaper, to: &mut WriteHalf<'_>) -> Result<(), Option<Fault>> {
        while let Some(act) = shaper.next() {
            let _ = self.down.wait_for(|down| *down != Some(Down::BlackHole)).await;
            match act {
                Act::Pass(bytes) => to.write_all(&bytes).await.map_err(|_| None)?,
                Act::Wait(time, fault) => {
                    let millis = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
                    self.disturbance.note(fault, true, shaper.passed(), millis);
                    tokio::time::sleep(time).await;
                }
                Act::Break(fault) => {
                    self.disturbance.note(fault, true, shaper.passed(), 0);
                    return Err(Some(fault));
                }
            }
        }
        Ok(())
    }
}

/// Passes on what the caller says until it has finished speaking; an error = a side broke off.
async fn pass_on(
    from: &mut ReadHalf<'_>,
    to: &mut WriteHalf<'_>,
    turn: &AtomicBool,
    mut down: watch::Receiver<Option<Down>>,
) -> Result<(), Option<Fault>> {
    let mut buffer = BytesMut::new();
    loop {
        buffer.reserve(PIECE);
        if from.read_buf(&mut buffer).await.map_err(|_| None)? == 0 {
            return to.shutdown().await.map_err(|_| None);
        }
        let _ = down.wait_for(|down| *down != Some(Down::BlackHole)).await;
        turn.store(true, Ordering::Release);
        to.write_all(&buffer.split()).await.map_err(|_| None)?;
    }
}

/// Does to a caller what a fault says when nothing is passed any more.
async fn broken(caller: &mut TcpStream, fault: Fault) -> Option<Fault> {
    match fault {
        Fault::Partial { .. } => {
            let _ = caller.shutdown().await;
            return Some(fault);
        }
        Fault::HalfClose { .. } => {
            let _ = caller.shutdown().await;
        }
        Fault::Stall { .. } | Fault::Down { how: Down::BlackHole } => {}
        _ => return Some(fault),
    }
    // What it still says is taken and lost, until it leaves.
    let mut lost = [0; 1024];
    while caller.read(&mut lost).await.is_ok_and(|n| n > 0) {}
    None
}
