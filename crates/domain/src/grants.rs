//! What replicas have given out on older views, and until when it may still be used: how a quarantine is proved (L-04).
//!
//! A *grant* is anything that lets somebody dispatch without asking again: the lease of a watching router, or the
//! `valid_until` of an answer. Each replica keeps one row that bounds its grants; any replica can then say for all of
//! them when nothing older than a revision is in use any more. Three bounds hold independently, and the earliest counts:
//!
//! - `applied`: every live watcher has acknowledged it, so only answers given before may still be in use.
//! - `view`: the replica itself has seen it; what it gave out before ends with the leases of those days.
//! - time: a lease never lasts longer than `lease` after the read of the database that it rests on, and a read that began
//!   after a revision was visible has seen it. This bounds replicas that are dead, cut off, or were never heard of again.

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Revision;
use serde::{Deserialize, Serialize};

use crate::names::ReplicaId;

/// How far two replicas' clocks may be apart; added wherever one of them judges what the other said.
pub const SKEW: SignedDuration = SignedDuration::from_secs(2);

/// After which silence a row is forgotten: many times the longest lease that can be configured.
pub const FORGOTTEN_AFTER: SignedDuration = SignedDuration::from_mins(10);

/// The bounds of what one replica has given out, by its own clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Given {
    /// Which run of which server; a restarted one is another.
    pub replica: ReplicaId,
    /// Every live watcher has applied this revision.
    pub applied: Revision,
    /// Nothing that was given out on a view older than `applied` is used from then on.
    pub applied_until: Timestamp,
    /// The replica's own view.
    pub view: Revision,
    /// Nothing that was given out on a view older than `view` is used from then on.
    pub view_until: Timestamp,
    /// Its longest lease, from the beginning of the database read that it rests on.
    pub lease: SignedDuration,
    /// Routers that watch.
    pub watchers: u32,
    /// Those of them that have not applied `view`.
    pub pending: u32,
}

/// A replica's row, as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replica {
    /// The bounds.
    pub given: Given,
    /// When they were written, by the store's clock.
    pub seen_at: Timestamp,
}

// === impl Given ===

impl Given {
    /// From when on nothing that this replica gave out on a view older than `revision` is used any more, by our clock.
    ///
    /// `visible_since` is a moment at which the revision was in the database for everybody to read; a later one is safe.
    #[must_use]
    pub fn over_at(&self, revision: Revision, visible_since: Timestamp) -> Timestamp {
        let by_time = later(visible_since, self.lease);
        let by_view = (revision <= self.view).then_some(self.view_until);
        let by_watchers = (revision <= self.applied).then_some(self.applied_until);
        let earliest = [by_view, by_watchers].into_iter().flatten().fold(by_time, Timestamp::min);
        later(earliest, SKEW)
    }
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    fn given() -> Given {
        Given {
            replica: ReplicaId("replica-1".into()),
            applied: Revision(5),
            applied_until: at(103),
            view: Revision(7),
            view_until: at(110),
            lease: SignedDuration::from_secs(15),
            watchers: 2,
            pending: 1,
        }
    }

    #[test]
    fn what_all_watchers_applied_is_bounded_by_the_answers_before_it() {
        assert_eq!(given().over_at(Revision(5), at(100)), at(105));
        assert_eq!(given().over_at(Revision(3), at(100)), at(105));
    }

    #[test]
    fn what_a_watcher_has_not_applied_is_bounded_by_its_lease() {
        assert_eq!(given().over_at(Revision(6), at(100)), at(112));
        assert_eq!(given().over_at(Revision(7), at(100)), at(112));
    }

    #[test]
    fn what_the_replica_has_not_seen_is_bounded_by_time() {
        assert_eq!(given().over_at(Revision(8), at(100)), at(117));
        assert_eq!(given().over_at(Revision(8), Timestamp::MAX), Timestamp::MAX, "and never earlier");
    }

    #[test]
    fn time_bounds_also_a_row_that_says_more() {
        let frozen = Given { view_until: at(1_000), applied_until: at(1_000), ..given() };
        assert_eq!(frozen.over_at(Revision(7), at(100)), at(117));
    }

    #[test]
    fn a_later_revision_is_never_over_earlier() {
        let over: Vec<_> = (0..10).map(|revision| given().over_at(Revision(revision), at(100))).collect();
        assert!(over.is_sorted(), "{over:?}");
    }
}
