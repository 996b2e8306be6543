//! Those who watch, in a process of their own, each on a connection of its own: bare readers of a stream, or router
//! libraries.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use ostiary_admission::{Index, ViewScope, wire::Sent};
use ostiary_canon::{
    Revision,
    dsse::{Keyring, SigningKey},
};
use ostiary_proto::admission::v1::{
    admission_service_client::AdmissionServiceClient, watch_admissions_response::Message,
};
use ostiary_router::{Downstream, RelayedHead, Router, RouterConfig};
use tokio::{sync::Notify, task::JoinSet};
use tonic::transport::Endpoint;

use super::watch::SEED;

/// Who watches.
pub enum Watchers {
    /// Readers of a stream that do nothing with it.
    Bare(Arc<Arrived>),
    /// Router libraries, which verify, apply and acknowledge.
    Routers(Arc<Arrived>, #[expect(dead_code, reason = "they are only kept alive")] Vec<Router>),
}

/// How many have seen the step that is waited for.
pub struct Arrived {
    all: usize,
    awaited: AtomicU64,
    seen: AtomicUsize,
    done: Notify,
}

/// One of them, and the newest step that it has seen.
struct Watcher {
    arrived: Arc<Arrived>,
    newest: AtomicU64,
}

/// Longest wait until all of them are connected, and until a step has reached all of them.
const PATIENCE: Duration = Duration::from_secs(60);

/// Connections that are made at the same time.
const AT_ONCE: usize = 64;

// === impl Watchers ===

impl Watchers {
    /// `number` readers of the stream at `address`.
    pub async fn bare(tasks: &mut JoinSet<Result<()>>, address: &str, number: usize) -> Result<Self> {
        let arrived = Arc::new(Arrived::of(number));
        for _ in 0..number {
            let channel = endpoint(address)?.connect().await.context("failed to connect a reader")?;
            let opened = AdmissionServiceClient::new(channel).watch_admissions(futures::stream::pending()).await;
            let mut steps = opened.context("failed to open a stream")?.into_inner();
            let watcher = Watcher::of(&arrived);
            tasks.spawn(async move {
                while let Some(step) = steps.message().await? {
                    if let Some(Message::Delta(delta)) = step.message {
                        watcher.saw(delta.to);
                    }
                }
                Ok(())
            });
        }
        Ok(Self::Bare(arrived))
    }

    /// `number` router libraries, each with a copy of what is served at `address`.
    pub async fn routers(address: &str, number: usize) -> Result<Self> {
        let arrived = Arc::new(Arrived::of(number));
        let mut routers = Vec::with_capacity(number);
        while routers.len() < number {
            let from = routers.len();
            for n in from..number.min(from + AT_ONCE) {
                routers.push(Router::connect(config(address, n, &arrived)?).await?);
            }
            for router in &routers[from..] {
                ensure!(router.ready(PATIENCE).await, "a router has no copy after {PATIENCE:?}");
            }
        }
        Ok(Self::Routers(arrived, routers))
    }

    /// Says which step is waited for next.
    pub fn expect(&self, step: u64) {
        let arrived = self.arrived();
        arrived.seen.store(0, Ordering::Release);
        arrived.awaited.store(step, Ordering::Release);
    }

    /// Returns when all of them have seen it.
    pub async fn all(&self) -> Result<()> {
        let arrived = self.arrived();
        tokio::time::timeout(PATIENCE, arrived.done.notified())
            .await
            .with_context(|| format!("{} of {} saw the step", arrived.seen.load(Ordering::Acquire), arrived.all))
    }

    fn arrived(&self) -> &Arc<Arrived> {
        match self {
            Self::Bare(arrived) | Self::Routers(arrived, _) => arrived,
        }
    }
}

// === impl Arrived ===

impl Arrived {
    fn of(all: usize) -> Self {
        Self { all, awaited: AtomicU64::new(u64::MAX), seen: AtomicUsize::new(0), done: Notify::new() }
    }
}

// === impl Watcher ===

impl Watcher {
    fn of(arrived: &Arc<Arrived>) -> Self {
        Self { arrived: Arc::clone(arrived), newest: AtomicU64::new(0) }
    }

    /// A step, or what stands for it and more: a watcher that was cut off and came back counts when it is there again.
    fn saw(&self, step: u64) {
        let awaited = self.arrived.awaited.load(Ordering::Acquire);
        let before = self.newest.fetch_max(step, Ordering::AcqRel);
        let arrives = before < awaited && awaited <= step;
        if arrives && self.arrived.seen.fetch_add(1, Ordering::AcqRel) + 1 == self.arrived.all {
            self.arrived.done.notify_one();
        }
    }
}

impl Downstream for Watcher {
    fn replaced(&self, _: &ViewScope, _: &Arc<Index>, head: &RelayedHead) {
        self.saw(head.revision.0);
    }

    fn stepped(&self, _: &ViewScope, _: &[Sent], to: Revision, _: Option<&RelayedHead>) {
        self.saw(to.0);
    }

    fn confirmed(&self, _: &ViewScope, head: &RelayedHead) {
        self.saw(head.revision.0);
    }
}

fn config(address: &str, n: usize, arrived: &Arc<Arrived>) -> Result<RouterConfig> {
    let trust = Keyring::trusting([SigningKey::from_seed(SEED).verifying_key()]);
    let downstream: Arc<dyn Downstream> = Arc::new(Watcher::of(arrived));
    let mut config = RouterConfig::new(endpoint(address)?, format!("router-{n}"), trust);
    config.downstream = Some(downstream);
    Ok(config)
}

fn endpoint(address: &str) -> Result<Endpoint> {
    Ok(Endpoint::from_shared(address.to_owned())?.tcp_nodelay(true))
}
