//! The subject of a watch: Ostiary's own hub and service over some versions, with a key that signs their heads.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use anyhow::{Context as _, Result};
use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{HEAD_PAYLOAD_TYPE, Head, Index};
use ostiary_canon::{Revision, dsse::SigningKey};
use ostiary_domain::Clock as _;
use ostiary_pdp::{Api, Clock, HeadSource, Hub};
use ostiary_server::system::SystemClock;
use tokio::task::JoinSet;

use super::{WATCH, costs};
use crate::{child::Ready, corpus};

/// Seed of the key that signs heads here; its public half is what the watchers trust.
pub const SEED: [u8; 32] = [42; 32];

/// What is kept while it serves: where steps are published.
pub struct Steps {
    hub: Arc<Hub>,
    versions: usize,
    revision: AtomicU64,
}

/// Serves `versions` versions.
pub async fn serve(tasks: &mut JoinSet<Result<()>>, versions: usize) -> Result<(Ready, Steps)> {
    let index = Arc::new(Index::new());
    let now = SystemClock.now();
    // The benchmark is the feed: the lease outlives it.
    index.extend_lease(now + SignedDuration::from_hours(24));
    let costs = costs::fill(&index, versions, now)?;
    let revision = AtomicU64::new(index.revision().0);
    let heads = Signing(SigningKey::from_seed(SEED));
    let hub = Arc::new(Hub::new(index, Arc::new(Wall), Arc::new(heads)));
    let mut ready = Ready { costs: Some(costs), ..Ready::default() };
    ready.ports.insert(WATCH.to_owned(), super::serve(tasks, Api::new(Arc::clone(&hub))).await?);
    let beats = Arc::clone(&hub);
    tasks.spawn(async move {
        beats.run().await;
        Ok(())
    });
    Ok((ready, Steps { hub, versions, revision }))
}

// === impl Steps ===

impl Steps {
    /// The revision of the next step.
    pub fn next(&self) -> u64 {
        self.revision.load(Ordering::Relaxed) + 1
    }

    /// Takes one more version off the road; answers the microseconds that publishing it took, and its revision.
    pub fn step(&self) -> Result<(f64, u64)> {
        let to = self.revision.fetch_add(1, Ordering::Relaxed) + 1;
        // Predecessors only, so that no question changes its answer.
        let one = (usize::try_from(to).unwrap_or(0) * 2) % self.versions;
        let change = corpus::quarantined(one, Timestamp::UNIX_EPOCH);
        let watch = crate::stopwatch::Stopwatch::start();
        self.hub.publish([change], Revision(to)).context("failed to publish a step")?;
        Ok((watch.elapsed().as_secs_f64() * 1e6, to))
    }
}

struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        SystemClock.now()
    }
}

struct Signing(SigningKey);

impl HeadSource for Signing {
    fn signed(&self, head: &Head) -> Option<Bytes> {
        Some(self.0.sign(HEAD_PAYLOAD_TYPE, head.payload()).to_json().into())
    }
}
