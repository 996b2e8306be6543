//! Keeps the view of routers in step with the store: filled at start, refreshed after each commit and by polling.
//!
//! The lease of the index starts when the last successful database read *began*. A server that cannot read its database
//! therefore stops answering by itself, and a quarantine written elsewhere is bounded in time.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{Index, PublishError};
use ostiary_canon::{Revision, dsse::Keyring};
use ostiary_domain::{Clock, Crashed, Failpoint, Failpoints, Store, StoreError};
use ostiary_pdp::Hub;
use tokio::sync::watch;

use crate::{
    config::AdmissionConfig,
    error::chain,
    projection::changes,
    wake::{Waiter, Wake},
};

/// The feed of one view.
pub struct Feed {
    store: Arc<dyn Store>,
    hub: Arc<Hub>,
    clock: Arc<dyn Clock>,
    keys: Arc<Keyring>,
    failpoints: Arc<dyn Failpoints>,
    wake: Wake,
    reached: watch::Sender<Revision>,
    /// Held by whoever refreshes: what was read first is published first.
    refreshing: tokio::sync::Mutex<()>,
    seen: Mutex<VecDeque<(Revision, Timestamp)>>,
    config: AdmissionConfig,
}

/// What a feed is made of.
pub struct FeedParts {
    /// Where the truth is.
    pub store: Arc<dyn Store>,
    /// The copy in memory, and who watches it.
    pub hub: Arc<Hub>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// The keys whose statements are believed.
    pub keys: Arc<Keyring>,
    /// Where a test may stop us.
    pub failpoints: Arc<dyn Failpoints>,
    /// Rings after commits.
    pub wake: Wake,
    /// Freshness.
    pub config: AdmissionConfig,
}

/// Why the index was not refreshed.
#[derive(Debug, thiserror::Error)]
pub enum FeedError {
    /// The store did not answer.
    #[error("failed to read what changed")]
    Store(#[from] StoreError),
    /// The store answered with the past.
    #[error("failed to publish what changed")]
    Publish(#[from] PublishError),
    /// A test stopped us.
    #[error(transparent)]
    Crashed(#[from] Crashed),
}

/// Records read at a time: a few megabytes at most.
const BATCH: u32 = 10_000;

/// Revisions of which is remembered when they were first seen; of older ones the oldest of these is told.
const SEEN: usize = 4096;

// === impl Feed ===

impl Feed {
    /// A feed that has read nothing yet.
    #[must_use]
    pub fn new(parts: FeedParts) -> Self {
        let FeedParts { store, hub, clock, keys, failpoints, wake, config } = parts;
        let (reached, refreshing) = (watch::Sender::new(Revision(0)), tokio::sync::Mutex::default());
        Self { store, hub, clock, keys, failpoints, wake, reached, refreshing, seen: Mutex::default(), config }
    }

    /// Reads everything that is new, and extends the lease.
    ///
    /// # Errors
    /// When the store does not answer; the lease then stays as it is.
    pub async fn refresh(&self) -> Result<(), FeedError> {
        let _alone = self.refreshing.lock().await;
        loop {
            let began = self.clock.now();
            let found = self.store.changes_since(self.index().revision(), BATCH).await?;
            self.between(found.reached)?;
            let changes = changes(self.store.as_ref(), &self.keys, found.told).await?;
            self.see(found.reached);
            self.hub.publish(changes, found.reached)?;
            self.reached.send_replace(found.reached);
            if !found.more {
                let lease = SignedDuration::try_from(self.config.lease()).unwrap_or(SignedDuration::ZERO);
                self.index().extend_lease(began.saturating_add(lease).unwrap_or(began));
                return Ok(());
            }
        }
    }

    /// A moment at which `revision` was in the database for everybody to read, not long after it was made; `None` when it
    /// was not seen yet.
    #[must_use]
    pub fn visible_since(&self, revision: Revision) -> Option<Timestamp> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().find(|(reached, _)| *reached >= revision).map(|(_, at)| *at)
    }

    fn see(&self, reached: Revision) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.back().is_some_and(|(last, _)| *last >= reached) {
            return;
        }
        if seen.len() >= SEEN {
            seen.pop_front();
        }
        seen.push_back((reached, self.clock.now()));
    }

    fn index(&self) -> &Index {
        self.hub.index()
    }

    /// The place where a commit is known and routers are not told yet. The first filling is no such place.
    fn between(&self, reached: Revision) -> Result<(), Crashed> {
        let known = self.index().revision();
        if known > Revision(0) && reached > known { self.failpoints.hit(Failpoint::IndexNotPublished) } else { Ok(()) }
    }

    /// Refreshes until dropped: at each ring, and every poll interval.
    pub async fn run(&self) {
        let mut waiter: Waiter = self.wake.waiter();
        let mut failing = false;
        loop {
            match self.refresh().await {
                Ok(()) => failing = false,
                // Once for each outage: the lease tells routers, the log tells people.
                Err(error) if !failing => {
                    failing = true;
                    tracing::error!(error = %chain(&error), "index is no longer refreshed; answers end with its lease");
                }
                Err(_) => {}
            }
            waiter.wait(self.config.poll()).await;
        }
    }

    /// Waits until the index has reached `wanted`, at most `patience`; says whether it has.
    pub async fn reach(&self, wanted: Revision, patience: Duration) -> bool {
        if self.index().revision() >= wanted {
            return true;
        }
        let mut reached = self.reached.subscribe();
        self.wake.ring();
        let arrived = reached.wait_for(|revision| *revision >= wanted);
        matches!(tokio::time::timeout(patience, arrived).await, Ok(Ok(_)))
    }

    /// The newest revision that the store has: for questions that want nothing older.
    ///
    /// # Errors
    /// When the store does not answer.
    pub async fn newest(&self) -> Result<Revision, StoreError> {
        self.store.revision().await
    }
}
