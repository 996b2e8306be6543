//! One reverse proxy in front of a real agent, and policies as data.
//!
//! Official SDKs refuse to tell many lies themselves; in front of them the proxy tells the lie, and everything else
//! stays the agent's own. Under [`Policy::Record`] bodies pass byte for byte. [`LyingProxy`] speaks HTTP/1.1 and knows
//! exchanges; [`TcpProxy`] passes bytes unread, for gRPC and databases. Both are disturbed through a [`FaultHandle`].

mod ask;
mod block;
mod card;
pub mod fault;
mod grpc;
pub mod lie;
mod memory;
pub mod mutate;
pub mod policy;
mod serve;
mod shape;
mod streams;
pub mod tcp;
mod tell;
mod upstream;

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use ostiary_record::Monotonic;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub(crate) use self::upstream::strip_hop_by_hop;
pub use self::{
    fault::FaultHandle,
    grpc::LyingGrpcProxy,
    lie::Lie,
    policy::{Policy, Trigger},
    tcp::{TcpOptions, TcpProxy},
    upstream::Upstream,
};
use self::{fault::door::Port, memory::Memory, serve::Desk};
use crate::clock::SinceStart;

/// What a proxy needs besides the agent and the policy.
#[derive(Clone, Default)]
pub struct Options {
    /// Where to listen; `None` = a free port of the loopback.
    pub listen: Option<SocketAddr>,
    /// Speaks TLS with this identity.
    pub tls: Option<Arc<rustls::ServerConfig>>,
    /// Rewrites scheme and authority of the card's interface URLs to this, such as `http://127.0.0.1:9100`; `None` =
    /// the card passes as it is, and the caller's `connect_to` leads here.
    pub card_base: Option<String>,
    /// The clock of the ledger of faults, a run's own where there is one; `None` = time since the proxy started.
    pub clock: Option<Arc<dyn Monotonic>>,
}

/// A running proxy; stops when dropped.
pub struct LyingProxy {
    addr: SocketAddr,
    desk: Arc<Desk>,
}

/// One request that passed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passed {
    /// HTTP method.
    pub method: String,
    /// Request target.
    pub target: String,
    /// The operation, where the body names one.
    pub operation: Option<String>,
    /// HTTP status as sent on; `None` = the agent gave no answer.
    pub status: Option<u16>,
}

// === impl LyingProxy ===

impl LyingProxy {
    /// Listens in front of an agent.
    ///
    /// # Errors
    /// When the address cannot be bound.
    pub async fn start(upstream: Upstream, policy: Policy, options: Options) -> io::Result<Self> {
        let listen = options.listen.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let port = Port::open(listen)?;
        let addr = port.addr();
        let faults = FaultHandle::new("agent", SinceStart::or(options.clock));
        faults.set(policy.faults());
        let desk = Arc::new(Desk {
            upstream,
            card_base: options.card_base,
            policy: Mutex::new(policy),
            faults,
            memory: Mutex::new(Memory::default()),
            passed: Mutex::new(VecDeque::new()),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        desk.tasks.spawn(serve::accept(port, options.tls, Arc::clone(&desk)));
        Ok(Self { addr, desk })
    }

    /// Where it listens.
    #[must_use]
    pub const fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Where it listens, as `host:port`: the right side of a `connect_to`.
    #[must_use]
    pub fn authority(&self) -> String {
        self.addr.to_string()
    }

    /// Changes the policy for whatever is asked or streamed from now on; what was seen before is remembered.
    ///
    /// A port that a plan of faults closes is closed soon; who must know waits by [`faults`](Self::faults).
    pub fn set_policy(&self, policy: Policy) {
        self.desk.faults.set(policy.faults());
        *lock(&self.desk.policy) = policy;
    }

    /// The handle by which faults are switched, beside whatever else the proxy does, and the ledger of what was done.
    #[must_use]
    pub fn faults(&self) -> FaultHandle {
        self.desk.faults.clone()
    }

    /// What passed so far, oldest first; beyond ten thousand requests the oldest are forgotten.
    #[must_use]
    pub fn passed(&self) -> Vec<Passed> {
        lock(&self.desk.passed).iter().cloned().collect()
    }

    /// Stops and waits until every connection is gone.
    pub async fn shutdown(self) {
        self.desk.stop.cancel();
        self.desk.tasks.close();
        self.desk.tasks.wait().await;
    }
}

// === impl Passed ===

impl Passed {
    /// What it is in ledgers.
    fn named(&self) -> String {
        let operation = self.operation.as_deref().map(|operation| format!(" {operation}"));
        format!("{} {}{}", self.method, self.target, operation.unwrap_or_default())
    }

    /// The names by which rules speak of it.
    fn names<'s>(&'s self, path: &'s str) -> Vec<&'s str> {
        self.operation.as_deref().into_iter().chain([path]).collect()
    }
}

impl Drop for LyingProxy {
    fn drop(&mut self) {
        self.desk.stop.cancel();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
