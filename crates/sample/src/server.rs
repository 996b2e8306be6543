//! Starting and stopping.

use std::{io, net::SocketAddr, sync::Arc};

use axum::Router;
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    agent::{Agent, Taken},
    card::Card,
    config::{Config, ConfigError},
    http,
    lies::{Lies, Switches},
    live::LiveTasks,
    store::{Ledger, Store, StoreError},
    tls::TlsError,
};

/// The planning agent.
pub struct PlanningAgent;

/// A planning agent at work. Dropping it stops it without waiting.
pub struct Running {
    addr: SocketAddr,
    tls: bool,
    agent: Arc<Agent>,
}

/// The agent could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// Its configuration cannot be honoured.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Its address cannot be had.
    #[error("listen on {addr}")]
    Listen {
        /// Which address.
        addr: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// Its certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// Its store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

// === impl PlanningAgent ===

impl PlanningAgent {
    /// Starts the agent; it listens when this returns.
    ///
    /// # Errors
    /// When the card is no JSON object, or address, certificate or store cannot be used.
    pub async fn start(config: Config) -> Result<Running, StartError> {
        let switches = Switches::default();
        switches.set(config.lies);
        let agent = Arc::new(Agent {
            card: Card::parse(config.card)?,
            trust: config.trust,
            switches,
            store: Store::open(&config.store).await?,
            live: LiveTasks::default(),
            pace: config.pace,
            tasks: TaskTracker::new(),
            stop: CancellationToken::new(),
            taken: Taken::default(),
        });
        agent.give_up_unfinished().await?;
        let acceptor = match &config.tls {
            Some(identity) => Some(TlsAcceptor::from(Arc::new(identity.server_config()?))),
            None => None,
        };
        let listen = |source| StartError::Listen { addr: config.listen, source };
        let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
        let addr = listener.local_addr().map_err(listen)?;
        let tls = acceptor.is_some();
        agent.tasks.spawn(accept(listener, acceptor, Arc::clone(&agent)));
        Ok(Running { addr, tls, agent })
    }
}

// === impl Running ===

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Scheme, address and port, without a path.
    #[must_use]
    pub fn base_url(&self) -> String {
        format!("{}://{}", if self.tls { "https" } else { "http" }, self.addr)
    }

    /// Tells these lies from now on, and no others.
    pub fn set_lies(&self, lies: Lies) {
        self.agent.switches.set(lies);
    }

    /// The lies told now.
    #[must_use]
    pub fn lies(&self) -> Lies {
        self.agent.switches.get()
    }

    /// What the store holds, of one tenant or of all.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub async fn ledger(&self, tenant: Option<&str>) -> Result<Ledger, StoreError> {
        self.agent.store.ledger(tenant).await
    }

    /// Stops, and waits until connections and tasks are gone.
    pub async fn stop(self) {
        self.agent.stop.cancel();
        self.agent.tasks.close();
        self.agent.tasks.wait().await;
        self.agent.store.close().await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.agent.stop.cancel();
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("addr", &self.addr).field("lies", &self.lies()).finish_non_exhaustive()
    }
}

async fn accept(listener: TcpListener, acceptor: Option<TlsAcceptor>, agent: Arc<Agent>) {
    let router = http::router(Arc::clone(&agent));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = agent.stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                let served = connection(stream, acceptor.clone(), router.clone(), agent.stop.clone());
                agent.tasks.spawn(served);
            }
            // out of descriptors, or a peer that was gone at once: neither ends the agent
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::task::yield_now().await;
            }
        }
    }
}

async fn connection(stream: TcpStream, acceptor: Option<TlsAcceptor>, router: Router, stop: CancellationToken) {
    // small frames must leave at once, or streamed events arrive in lumps
    let _ = stream.set_nodelay(true);
    let Some(acceptor) = acceptor else { return serve(stream, router, stop).await };
    let shaken = tokio::select! {
        shaken = acceptor.accept(stream) => shaken,
        () = stop.cancelled() => return,
    };
    match shaken {
        Ok(stream) => serve(stream, router, stop).await,
        Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
    }
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, router: Router, stop: CancellationToken) {
    let builder = Builder::new(TokioExecutor::new());
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    tokio::pin!(connection);
    let done = tokio::select! {
        done = connection.as_mut() => done,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = done {
        tracing::debug!(%error, "a connection broke");
    }
}
