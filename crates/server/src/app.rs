//! Everything that a request can reach, wired once.

use std::{sync::Arc, time::Duration};

use ostiary_admission::{Index, View as _};
use ostiary_canon::{Revision, dsse::Jwks};
use ostiary_domain::{Clock, Failpoints, Ids, Policy, Signer, Store, StoreError};
use ostiary_pdp::Hub;
use ostiary_verify::Harness;
use tokio::sync::Semaphore;

use crate::{
    auth::TokenTable, config::Config, feed::Feed, granted::Granted, metrics::Metrics, proof::Prover,
    recordings::Recordings, snapshot::Keeper, wake::Wake,
};

/// The parts of one server.
pub struct App {
    /// Settings.
    pub config: Config,
    /// The database.
    pub store: Arc<dyn Store>,
    /// Recordings by digest.
    pub recordings: Recordings,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Ids and secrets.
    pub ids: Arc<dyn Ids>,
    /// Signs evidence.
    pub signer: Arc<dyn Signer>,
    /// The keys that evidence can be verified with.
    pub keys: Jwks,
    /// Who may call.
    pub tokens: Arc<TokenTable>,
    /// Scenarios and checks.
    pub harness: Arc<Harness>,
    /// What routers are answered from.
    pub index: Arc<Index>,
    /// The view with its streams: what the feed publishes into.
    pub hub: Arc<Hub>,
    /// Keeps the view in step.
    pub feed: Arc<Feed>,
    /// Tells other replicas what this one has given out.
    pub granted: Arc<Granted>,
    /// Says how far a revision has come.
    pub prover: Prover,
    /// Keeps the index on disk.
    pub keeper: Arc<Keeper>,
    /// Rings after commits, for the index.
    pub wake: Wake,
    /// Rings when a job was queued.
    pub work: Wake,
    /// Counters.
    pub metrics: Arc<Metrics>,
    /// Where a test may stop us.
    pub failpoints: Arc<dyn Failpoints>,
    /// How many bundles may still be taken at the same time.
    pub uploads: Semaphore,
}

/// Longest wait for our own index after our own commit; it takes milliseconds while the database answers.
const OWN_VIEW: Duration = Duration::from_secs(2);

// === impl App ===

impl App {
    /// The policy in force.
    ///
    /// # Errors
    /// When the store does not answer, or holds none, which only a damaged store does.
    pub async fn policy(&self) -> Result<Policy, StoreError> {
        self.store.current_policy().await?.ok_or_else(|| StoreError::Inconsistent {
            table: "policy",
            column: "current",
            id: "-".to_owned(),
            why: "no policy is in force".to_owned(),
        })
    }

    /// Whether routers are answered now: the index is filled, and its lease lives.
    #[must_use]
    pub fn answers(&self) -> bool {
        self.clock.now() < self.index.freshness().lease_until
    }

    /// Tells everybody in this process that something was committed.
    pub fn committed(&self) {
        self.wake.ring();
        self.work.ring();
    }

    /// The same, and waits until this server's own answers to routers know of it: whoever takes a version off the road
    /// and asks here next, with or without the revision token, sees it gone. Other replicas learn of it by the token.
    pub async fn committed_at(&self, revision: Revision) {
        self.committed();
        if !self.feed.reach(revision, OWN_VIEW).await {
            tracing::warn!(%revision, "this server's index has not reached its own commit; the token still protects");
        }
    }
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("App")
    }
}
