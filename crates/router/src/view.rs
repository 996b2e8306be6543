//! One scope as decisions read it: swapped whole, read without waiting.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering},
    },
};

use arc_swap::{ArcSwap, Guard};
use jiff::Timestamp;
use ostiary_admission::{
    AdmissionRecord, Decision, DecisionReason, Freshness, Index, Query, View as _, ViewScope, decide_dispatch,
};
use ostiary_canon::Revision;
use tokio::sync::Notify;

use crate::{status::Phase, time::Bounds};

/// What is held of one scope.
pub(crate) struct ScopeView {
    pub(crate) scope: ViewScope,
    held: ArcSwap<Held>,
    phase: AtomicU8,
    /// Told at every change, for whoever waits.
    changed: Notify,
}

/// The copy, and until when it may be decided on.
#[derive(Clone)]
pub(crate) struct Held {
    /// The records.
    pub(crate) index: Arc<Index>,
    /// The revision that the last verified head signs.
    pub(crate) verified: Revision,
    /// End of the lease, by the control plane's clock.
    pub(crate) lease_until: Timestamp,
    /// The control plane's clock; nothing is decided without.
    pub(crate) clock: Option<Bounds>,
    /// Why nothing may be decided although the lease may live.
    pub(crate) trouble: Option<Trouble>,
}

/// Why a copy must not be decided on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trouble {
    /// There is no verified copy yet.
    Empty,
    /// A head did not verify, or its root is not that of the copy.
    NotVerified,
    /// Trust was lowered, and no signed head covered it in time.
    HeadOverdue,
    /// This machine's clock is further off than is tolerated.
    Skewed,
    /// The control plane's time is not known well enough.
    Uncertain,
}

// === impl ScopeView ===

impl ScopeView {
    pub(crate) fn new(scope: ViewScope) -> Self {
        Self {
            scope,
            held: ArcSwap::from_pointee(Held::nothing()),
            phase: AtomicU8::new(Phase::Away as u8),
            changed: Notify::new(),
        }
    }

    pub(crate) fn hold(&self, held: Held) {
        self.held.store(Arc::new(held));
        self.changed.notify_waiters();
    }

    pub(crate) fn show(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        Phase::ALL.into_iter().find(|known| *known as u8 == phase).unwrap_or_default()
    }

    /// Waits until `is` holds of what is held.
    pub(crate) async fn wait_for(&self, is: impl Fn(&Held) -> bool) {
        loop {
            let changed = self.changed.notified();
            let mut changed = pin!(changed);
            changed.as_mut().enable();
            if is(&self.held.load()) {
                return;
            }
            changed.await;
        }
    }

    pub(crate) fn held(&self) -> Guard<Arc<Held>> {
        self.held.load()
    }
}

// === impl Held ===

impl Held {
    pub(crate) fn nothing() -> Self {
        Self {
            index: Arc::new(Index::new()),
            verified: Revision(0),
            lease_until: Timestamp::MIN,
            clock: None,
            trouble: Some(Trouble::Empty),
        }
    }

    /// Until when may be decided: over at once where there is trouble or no clock.
    fn lease(&self) -> Timestamp {
        if self.trouble.is_some() || self.clock.is_none() { Timestamp::MIN } else { self.lease_until }
    }

    /// Whether the copy may be decided on at `boot`.
    pub(crate) fn lives(&self, boot: i64) -> bool {
        self.clock.is_some_and(|clock| clock.at(boot).latest < self.lease())
    }

    /// Decides at the boot clock's `boot`, on the pessimistic end of the control plane's time.
    pub(crate) fn check(&self, query: &Query<'_>, at_least: Option<Revision>, boot: i64) -> Decision {
        let lease_until = self.lease();
        let Some(clock) = &self.clock else { return self.stale(Timestamp::UNIX_EPOCH) };
        let latest = clock.latest(boot);
        if latest >= lease_until {
            return self.stale(latest);
        }
        // Only what a head signs counts as reached: an unsigned step could name any revision.
        let freshness = Freshness { revision: self.verified, lease_until, at_least };
        let enforcement = self.index.enforcement_of(query);
        self.index.read(query.agent, query.version, |record| {
            // The late end is the strict one for all that ends; evidence that has yet to begin is judged by the early end.
            let now = if is_young(record, latest) { Self::strict_start(record, clock, boot) } else { latest };
            decide_dispatch(query, record, enforcement, &freshness, now)
        })
    }

    /// The early end of the time where the evidence has not surely begun by then, else the late one.
    #[cold]
    fn strict_start(record: Option<&AdmissionRecord>, clock: &Bounds, boot: i64) -> Timestamp {
        let range = clock.at(boot);
        if begins_after(record, range.earliest) { range.earliest } else { range.latest }
    }

    /// The answer of a copy that may have missed anything: it says nothing of the version.
    fn stale(&self, now: Timestamp) -> Decision {
        Decision { reason: DecisionReason::ViewStale, ..Decision::forbidden(self.verified, now) }
    }
}

/// Whether the evidence began so lately that it matters how well the time is known. Nobody decides on a time that is
/// uncertain by more than seconds, so an hour is far.
fn is_young(record: Option<&AdmissionRecord>, latest: Timestamp) -> bool {
    let evidence = record.and_then(|record| record.evidence.as_ref());
    evidence.is_some_and(|evidence| evidence.verified_at.as_second() + HOUR > latest.as_second())
}

const HOUR: i64 = 3_600;

fn begins_after(record: Option<&AdmissionRecord>, earliest: Timestamp) -> bool {
    record.and_then(|record| record.evidence.as_ref()).is_some_and(|evidence| earliest < evidence.verified_at)
}

// === impl Trouble ===

impl Trouble {
    /// The name in metrics and answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::NotVerified => "not_verified",
            Self::HeadOverdue => "head_overdue",
            Self::Skewed => "skewed",
            Self::Uncertain => "uncertain",
        }
    }
}
