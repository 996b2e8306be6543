//! The subjects: Ostiary's own service, the decision alone and as it ships.

use std::{sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use jiff::SignedDuration;
use ostiary_admission::Index;
use ostiary_canon::dsse::Keyring;
use ostiary_domain::{Clock, NoFailpoints, ports::StorePorts};
use ostiary_pdp::{Hub, Nobody};
use ostiary_server::{
    RolesOf, TokenConfig,
    auth::{Role, TokenTable},
    config::AdmissionConfig,
    entropy::SystemEntropy,
    feed::{Feed, FeedParts},
    grpc::{AdmissionApi, Guard, HubClock},
    metrics::Metrics,
    system::{EntropyIds, SystemClock},
    wake::Wake,
};
use ostiary_store_sqlite::SqliteStore;
use tempfile::TempDir;
use tokio::task::JoinSet;

use super::{DECISION, SHIPPED, TOKEN, costs};
use crate::child::Ready;

/// How long a question waits for a revision; no question of the mix asks for one.
const PATIENCE: Duration = Duration::from_millis(50);

/// What must live as long as the servers do.
pub struct Kept {
    _directory: TempDir,
}

/// Serves both over `versions` versions.
pub async fn serve(tasks: &mut JoinSet<Result<()>>, versions: usize) -> Result<(Ready, Kept)> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let index = Arc::new(Index::new());
    // The benchmark is the feed: the lease outlives it.
    index.extend_lease(clock.now() + SignedDuration::from_hours(24));
    let costs = costs::fill(&index, versions, clock.now())?;
    let directory = TempDir::new().context("failed to make a directory for the database")?;
    let feed = feed(&directory, &index, &clock).await?;
    let decision = AdmissionApi::bare(Arc::clone(&index), Arc::clone(&clock));
    let shipped = AdmissionApi::guarded(index, clock, guard()?).fed_by(feed, PATIENCE);
    let mut ready = Ready { costs: Some(costs), ..Ready::default() };
    ready.ports.insert(DECISION.to_owned(), super::serve(tasks, decision).await?);
    ready.ports.insert(SHIPPED.to_owned(), super::serve(tasks, shipped).await?);
    Ok((ready, Kept { _directory: directory }))
}

/// One router's token among many others.
fn guard() -> Result<Guard> {
    let rights = RolesOf { roles: &[Role::Router], namespaces: &["*"], person: false };
    let others = (0..1_000).map(|n| TokenConfig::of(&format!("router-{n}"), &format!("another-token-{n}"), rights));
    let tokens: Vec<TokenConfig> = others.chain([TokenConfig::of("router", TOKEN, rights)]).collect();
    Ok(Guard { tokens: Arc::new(TokenTable::new(&tokens)?), metrics: Arc::new(Metrics::default()) })
}

/// The way to a real database, which a check must not take.
async fn feed(directory: &TempDir, index: &Arc<Index>, clock: &Arc<dyn Clock>) -> Result<Arc<Feed>> {
    let ids = Arc::new(EntropyIds::new(Arc::clone(clock), Arc::new(SystemEntropy)));
    let ports = StorePorts::new(Arc::clone(clock), ids);
    let store = SqliteStore::open(&directory.path().join("ostiary.sqlite"), ports).await?;
    Ok(Arc::new(Feed::new(FeedParts {
        store: Arc::new(store),
        hub: Arc::new(Hub::new(Arc::clone(index), Arc::new(HubClock(Arc::clone(clock))), Arc::new(Nobody))),
        clock: Arc::clone(clock),
        keys: Arc::new(Keyring::default()),
        failpoints: Arc::new(NoFailpoints),
        wake: Wake::default(),
        config: AdmissionConfig::default(),
    })))
}
