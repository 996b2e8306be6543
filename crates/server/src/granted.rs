//! What this replica has given out on older views, kept in the database for all others to read (L-04).
//!
//! The row is there before the first answer is given, and written again when it says something else, at most four times
//! a second. It makes no revision. See `domain::grants` for what each number bounds.

use std::{sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::View as _;
use ostiary_canon::Revision;
use ostiary_domain::{ReplicaId, Store, StoreError, grants::Given};
use ostiary_pdp::Hub;

use crate::error::chain;

/// Keeps this replica's row.
pub struct Granted {
    hub: Arc<Hub>,
    store: Arc<dyn Store>,
    replica: ReplicaId,
    lease: SignedDuration,
}

/// How often is looked whether the row says something else.
const LOOK: Duration = Duration::from_millis(250);

/// Looks until the row is written although it says the same, so that nobody forgets it: half a minute.
const AGAIN: u32 = 120;

// === impl Granted ===

impl Granted {
    /// The row of `replica`, whose longest lease is `lease`.
    #[must_use]
    pub fn new(hub: Arc<Hub>, store: Arc<dyn Store>, replica: ReplicaId, lease: SignedDuration) -> Self {
        Self { hub, store, replica, lease }
    }

    /// Which run of which server this is.
    #[must_use]
    pub const fn replica(&self) -> &ReplicaId {
        &self.replica
    }

    /// What the row would say now.
    #[must_use]
    pub fn given(&self) -> Given {
        let floor = self.hub.floor();
        let count = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
        Given {
            replica: self.replica.clone(),
            applied: floor.applied,
            applied_until: floor.answers_until.max(Timestamp::UNIX_EPOCH),
            view: floor.view,
            view_until: floor.answers_until.max(floor.watched_until).max(Timestamp::UNIX_EPOCH),
            lease: self.lease,
            watchers: count(floor.watching),
            pending: count(floor.pending),
        }
    }

    /// Writes the row.
    ///
    /// # Errors
    /// When the database does not take it.
    pub async fn write(&self) -> Result<Given, StoreError> {
        let given = self.given();
        self.store.put_grants(given.clone()).await?;
        Ok(given)
    }

    /// Writes the last row of a server that gives out nothing any more: all of it ends with its lease, whatever is published
    /// later. Without it others wait for this server at each revision as for one that is cut off.
    ///
    /// # Errors
    /// When the database does not take it.
    pub async fn close(&self) -> Result<(), StoreError> {
        let until = self.hub.index().freshness().lease_until.max(Timestamp::UNIX_EPOCH);
        let (applied, view) = (Revision(u64::MAX), Revision(u64::MAX));
        let given = Given { applied, applied_until: until, view, view_until: until, pending: 0, ..self.given() };
        self.store.put_grants(given).await
    }

    /// Keeps the row in step until dropped.
    pub async fn run(&self) {
        let (mut written, mut looks, mut failing) = (None, 0, false);
        loop {
            looks += 1;
            if looks >= AGAIN || written.as_ref() != Some(&self.given()) {
                match self.write().await {
                    Ok(given) => (written, looks, failing) = (Some(given), 0, false),
                    // Whoever waits for us then waits for our leases, which end by themselves.
                    Err(error) if !failing => {
                        failing = true;
                        tracing::warn!(error = %chain(&error), "other replicas are no longer told what ours has given out");
                    }
                    Err(_) => {}
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
