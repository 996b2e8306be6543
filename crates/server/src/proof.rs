//! Whether nothing older than a revision is in use anywhere any more: at our own watchers exactly, and at every other
//! replica by the row that it keeps (L-04).

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use ostiary_canon::Revision;
use ostiary_domain::{Clock, ReplicaId, Store, grants::Replica};
use ostiary_pdp::{Hub, Proof};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep_until},
};

use crate::{
    error::{ApiError, ErrorCode},
    feed::Feed,
    granted::Granted,
};

/// Answers whoever waits for a proof.
pub struct Prover {
    parts: ProverParts,
    waiting: Semaphore,
}

/// What a prover is made of.
pub struct ProverParts {
    /// Our own view and who watches it.
    pub hub: Arc<Hub>,
    /// Knows since when a revision is visible.
    pub feed: Arc<Feed>,
    /// Our own row.
    pub granted: Arc<Granted>,
    /// The rows of the others.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
}

/// How far a revision has come.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The revision.
    pub revision: Revision,
    /// Among our own watchers and askers, exactly.
    pub own: Proof,
    /// At the other replicas.
    pub others: Vec<Elsewhere>,
    /// When this was found.
    pub at: Timestamp,
}

/// How far a revision has come at another replica.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    /// Its row.
    pub replica: Replica,
    /// From when on nothing older is in use there; what was found once stays true.
    pub over_at: Timestamp,
}

/// How often is looked again.
const LOOK: Duration = Duration::from_millis(50);

/// Looks at our own watchers for each look at the rows of others.
const ROWS: u32 = 4;

/// Callers that wait at the same time.
const WAITING: usize = 64;

// === impl Prover ===

impl Prover {
    /// A prover that nobody waits for yet.
    #[must_use]
    pub fn new(parts: ProverParts) -> Self {
        Self { parts, waiting: Semaphore::new(WAITING) }
    }

    /// Waits until `revision` is proved, at most `patience`, and says how it stands then.
    ///
    /// # Errors
    /// When there is no such revision, too many wait, or the database does not answer.
    pub async fn stands(&self, revision: Revision, patience: Duration) -> Result<Standing, ApiError> {
        let _place = self.waiting.try_acquire().map_err(|_| {
            ApiError::new(ErrorCode::Unavailable, format!("{WAITING} callers wait for proofs already; ask again soon"))
        })?;
        let deadline = now().checked_add(patience).unwrap_or_else(now);
        self.exists(revision, patience).await?;
        let mut bounds = BTreeMap::new();
        let mut others = self.elsewhere(revision, &mut bounds).await?;
        let mut looks = 0;
        loop {
            let (own, at) = (self.parts.hub.proof(revision), self.parts.clock.now());
            let standing = Standing { revision, own, others, at };
            if standing.is_proved() || now() >= deadline {
                return Ok(standing);
            }
            sleep_until(deadline.min(now() + LOOK)).await;
            looks += 1;
            others = if looks % ROWS == 0 || now() >= deadline {
                self.elsewhere(revision, &mut bounds).await?
            } else {
                standing.others
            };
        }
    }

    /// Refuses a revision that nobody has made; our own view then reaches it, or says that it has not.
    async fn exists(&self, revision: Revision, patience: Duration) -> Result<(), ApiError> {
        let feed = &self.parts.feed;
        if self.parts.hub.index().revision() >= revision {
            return Ok(());
        }
        let newest = feed.newest().await?;
        if newest < revision {
            let why = format!("there is no revision {revision} yet; the newest is {newest}");
            return Err(ApiError::new(ErrorCode::NotFound, why));
        }
        feed.reach(revision, patience).await;
        Ok(())
    }

    /// The other replicas; `bounds` keeps the earliest end that each ever had, since each is sound by itself.
    async fn elsewhere(
        &self,
        revision: Revision,
        bounds: &mut BTreeMap<ReplicaId, Timestamp>,
    ) -> Result<Vec<Elsewhere>, ApiError> {
        let parts = &self.parts;
        let rows = parts.store.grants().await?;
        let since = parts.feed.visible_since(revision).unwrap_or_else(|| parts.clock.now());
        let others = rows.into_iter().filter(|row| row.given.replica != *parts.granted.replica());
        let stands = |replica: Replica| {
            let over_at = replica.given.over_at(revision, since);
            let kept = bounds.entry(replica.given.replica.clone()).or_insert(over_at);
            *kept = over_at.min(*kept);
            Elsewhere { over_at: *kept, replica }
        };
        Ok(others.map(stands).collect())
    }
}

// === impl Standing ===

impl Standing {
    /// Whether nothing older is in use anywhere any more.
    #[must_use]
    pub fn is_proved(&self) -> bool {
        self.own.is_complete() && self.others.iter().all(|other| other.is_over(self.at))
    }

    /// When it is proved by time alone, as far as known; `None` when it is proved, or when our own view is behind.
    #[must_use]
    pub fn over_at(&self) -> Option<Timestamp> {
        let own = self.own.pending.iter().map(|pending| pending.granted_until).chain(self.own.answers_until);
        let others = self.others.iter().filter(|other| !other.is_over(self.at)).map(|other| other.over_at);
        own.chain(others).max().filter(|_| self.own.reached)
    }
}

// === impl Elsewhere ===

impl Elsewhere {
    /// Whether it is over there.
    #[must_use]
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.over_at <= now
    }
}

#[expect(clippy::disallowed_methods, reason = "a caller's patience is the runtime's time, not the control plane's")]
fn now() -> Instant {
    Instant::now()
}
