//! One reverse proxy in front of a real agent, and policies as data.
//!
//! Official SDKs refuse to tell many lies themselves; in front of them the proxy tells the lie, and everything else
//! stays the agent's own. Under [`Policy::Record`] bodies pass byte for byte.

mod ask;
mod block;
mod card;
mod grpc;
pub mod lie;
mod memory;
pub mod mutate;
pub mod policy;
mod serve;
mod shape;
mod tell;
mod upstream;

use std::{
    collections::VecDeque,
    io,
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    grpc::LyingGrpcProxy,
    lie::Lie,
    policy::{Policy, Trigger},
    upstream::Upstream,
};
use self::{memory::Memory, serve::Desk};

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
        let listener = TcpListener::bind(listen).await?;
        let addr = listener.local_addr()?;
        let desk = Arc::new(Desk {
            upstream,
            card_base: options.card_base,
            policy: Mutex::new(policy),
            memory: Mutex::new(Memory::default()),
            passed: Mutex::new(VecDeque::new()),
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
        });
        desk.tasks.spawn(serve::accept(listener, options.tls, Arc::clone(&desk)));
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
    pub fn set_policy(&self, policy: Policy) {
        *lock(&self.desk.policy) = policy;
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

impl Drop for LyingProxy {
    fn drop(&mut self) {
        self.desk.stop.cancel();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
