//! Until when answers to single questions may still be used: what a quarantine has to wait for where nobody watches.

use std::{
    hash::{BuildHasher as _, BuildHasherDefault, DefaultHasher},
    sync::atomic::{AtomicI64, Ordering, fence},
};

use jiff::Timestamp;
use ostiary_admission::{Decision, Index, Query, View as _};
use ostiary_canon::Revision;

/// How many slots there are; agents that share one wait for each other's answers, a lease at most.
const SLOTS: usize = 1024;

/// For each slot of agents the latest `valid_until` of an ALLOW that was given out, in milliseconds, rounded up.
pub(crate) struct Grants {
    slots: Box<[AtomicI64]>,
}

// === impl Grants ===

impl Grants {
    pub(crate) fn new() -> Self {
        Self { slots: (0..SLOTS).map(|_| AtomicI64::new(i64::MIN)).collect() }
    }

    /// Decides, and books the answer before it is given: either a publish sees the booking, or this sees the publish.
    pub(crate) fn decide(
        &self,
        index: &Index,
        query: &Query<'_>,
        at_least: Option<Revision>,
        now: Timestamp,
    ) -> Decision {
        loop {
            let before = index.revision();
            let decision = index.check(query, at_least, now);
            if !decision.allows() {
                return decision;
            }
            self.slot(query.agent).fetch_max(ceiling(decision.valid_until), Ordering::SeqCst);
            fence(Ordering::SeqCst);
            // Something was published meanwhile: it may have been this version's quarantine.
            if index.revision() == before {
                return decision;
            }
        }
    }

    /// Books an ALLOW that somebody else decided before it is passed on; says whether it may be, or is of before something
    /// that was published here.
    pub(crate) fn book(&self, index: &Index, agent: &str, decision: &Decision) -> bool {
        self.slot(agent).fetch_max(ceiling(decision.valid_until), Ordering::SeqCst);
        fence(Ordering::SeqCst);
        index.revision() <= decision.revision
    }

    /// When the last answer about one of `agents` that was booked so far ends; call it after the publish.
    pub(crate) fn until<'a>(&self, agents: impl Iterator<Item = &'a str>) -> Timestamp {
        fence(Ordering::SeqCst);
        let last = agents.map(|agent| self.slot(agent).load(Ordering::SeqCst)).max().unwrap_or(i64::MIN);
        Timestamp::from_millisecond(last).unwrap_or(Timestamp::MIN)
    }

    fn slot(&self, agent: &str) -> &AtomicI64 {
        let hash = BuildHasherDefault::<DefaultHasher>::default().hash_one(agent);
        &self.slots[hash as usize % SLOTS]
    }
}

fn ceiling(time: Timestamp) -> i64 {
    time.as_millisecond().saturating_add(1)
}
