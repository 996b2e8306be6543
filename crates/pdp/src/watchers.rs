//! Who watches, what it has applied, and until when it may decide on what it had before.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use jiff::Timestamp;
use ostiary_admission::ViewScope;
use ostiary_canon::Revision;

/// Heads that one watcher may hold at the same time: a lease is a few heartbeats long. More are counted as one.
const GRANTS: usize = 64;

/// Copies without a stream that are told apart: each is kept for as long as its lease.
const COPIES: usize = 4096;

/// How far a revision has come: what `--wait` waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// Whether our own view has reached it.
    pub reached: bool,
    /// Watchers that said they decide on nothing older.
    pub applied: usize,
    /// Watchers that never said so, but whose leases on anything older are over.
    pub lapsed: usize,
    /// Watchers that may still decide on something older.
    pub pending: Vec<Pending>,
    /// When the last answer to a single question that rests on something older ends; `None` when it is over.
    pub answers_until: Option<Timestamp>,
}

/// A watcher that may still decide on something older.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pending {
    /// What it calls itself; for a copy without a stream, its caller's name.
    pub router_id: String,
    /// What it watches.
    pub scope: ViewScope,
    /// Whether its stream is open.
    pub connected: bool,
    /// When that ends by itself.
    pub granted_until: Timestamp,
}

/// What holds for every revision up to the view's, whatever it changed: what one replica tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Floor {
    /// Our own view's revision.
    pub view: Revision,
    /// No watcher decides on anything older.
    pub applied: Revision,
    /// When the last lease on something older than `view` ends.
    pub watched_until: Timestamp,
    /// When the last answer to a single question ends that rests on something older than `view`.
    pub answers_until: Timestamp,
    /// Open streams.
    pub watching: usize,
    /// Watchers, gone ones too, that may still decide on something older than `view`.
    pub pending: usize,
}

/// All watchers, and those that are gone but whose leases live.
#[derive(Default)]
pub(crate) struct Watchers {
    seats: Mutex<Vec<Arc<Seat>>>,
}

/// One watcher's place; its stream holds it open.
pub(crate) struct Seat {
    router_id: String,
    scope: ViewScope,
    /// Nobody's: a copy was handed out.
    copy: bool,
    book: Mutex<Book>,
}

/// Leaves the seat when the stream ends, however it ends.
pub(crate) struct Seated(pub(crate) Arc<Seat>);

struct Book {
    connected: bool,
    applied: Revision,
    sent: Revision,
    /// Heads that were sent: revision and lease, rising in both.
    grants: VecDeque<(Revision, Timestamp)>,
}

/// An acknowledgement of what was never sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NeverSent;

/// What is asked of each seat.
#[derive(Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) revision: Revision,
    pub(crate) now: Timestamp,
    /// When the last lease ends of heads that were signed before the revision was published.
    pub(crate) leases_until: Option<Timestamp>,
}

enum Standing {
    Applied,
    Lapsed,
    Pending(Timestamp),
    Unconcerned,
}

// === impl Proof ===

impl Proof {
    /// Whether nobody who asked or watched here may still decide on anything older.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.reached && self.pending.is_empty() && self.answers_until.is_none()
    }
}

// === impl Watchers ===

impl Watchers {
    /// A new watcher that has everything up to `sent`.
    pub(crate) fn seat(&self, router_id: String, scope: ViewScope, sent: Revision) -> Seated {
        let book = Book { connected: true, applied: Revision(0), sent, grants: VecDeque::new() };
        let seat = Arc::new(Seat { router_id, scope, copy: false, book: Mutex::new(book) });
        self.seats().push(Arc::clone(&seat));
        Seated(seat)
    }

    /// A copy that was handed out and is never heard of again.
    pub(crate) fn copied(&self, caller: &str, scope: &ViewScope, head: (Revision, Timestamp)) {
        let mut seats = self.seats();
        let copies = seats.iter().filter(|seat| seat.copy).count();
        // Past that many, the newest stands for this one too: it keeps the older revision and the longer lease.
        if let Some(last) = seats.iter().rev().find(|seat| copies >= COPIES && seat.copy && seat.scope == *scope) {
            let mut book = last.book();
            let (revision, until) = book.grants.back().copied().unwrap_or(head);
            book.grants = VecDeque::from([(revision.min(head.0), until.max(head.1))]);
            return;
        }
        let book = Book { connected: false, applied: Revision(0), sent: head.0, grants: VecDeque::from([head]) };
        let (router_id, scope, book) = (caller.to_owned(), scope.clone(), Mutex::new(book));
        seats.push(Arc::new(Seat { router_id, scope, copy: true, book }));
    }

    /// How many streams are open.
    pub(crate) fn connected(&self) -> usize {
        self.seats().iter().filter(|seat| seat.book().connected).count()
    }

    /// Forgets who is gone and may decide on nothing any more.
    pub(crate) fn forget_lapsed(&self, now: Timestamp) {
        self.seats().retain(|seat| {
            let book = seat.book();
            book.connected || book.grants.back().is_some_and(|(_, until)| now < *until)
        });
    }

    /// Nobody has been sent, or has applied, anything beyond `revision`, whatever they said.
    pub(crate) fn go_back_to(&self, revision: Revision) {
        for seat in self.seats().iter() {
            let mut book = seat.book();
            (book.applied, book.sent) = (book.applied.min(revision), book.sent.min(revision));
            book.grants.iter_mut().for_each(|(granted, _)| *granted = (*granted).min(revision));
        }
    }

    /// How far `revision` has come among those whose scope `concerns` it.
    pub(crate) fn proof(&self, asked: Asked, concerns: impl Fn(&ViewScope) -> bool) -> Proof {
        let mut proof = Proof::default();
        for seat in self.seats().iter().filter(|seat| concerns(&seat.scope)) {
            let book = seat.book();
            match book.standing(asked) {
                Standing::Applied => proof.applied += 1,
                Standing::Lapsed => proof.lapsed += 1,
                Standing::Pending(granted_until) => proof.pending.push(Pending {
                    router_id: seat.router_id.clone(),
                    scope: seat.scope.clone(),
                    connected: book.connected,
                    granted_until,
                }),
                Standing::Unconcerned => {}
            }
        }
        proof
    }

    /// What holds for all watchers at the view's own revision; `answers_until` is left to whoever knows it.
    pub(crate) fn floor(&self, asked: Asked) -> Floor {
        let view = asked.revision;
        let (watched_until, answers_until) = (Timestamp::MIN, Timestamp::MIN);
        let mut floor = Floor { view, applied: view, watched_until, answers_until, watching: 0, pending: 0 };
        for seat in self.seats().iter() {
            let book = seat.book();
            floor.watching += usize::from(book.connected);
            let older = book.older(asked);
            floor.pending += usize::from(older.is_some());
            if let Some((revision, until)) = older {
                floor.applied = floor.applied.min(revision);
                floor.watched_until = floor.watched_until.max(until);
            }
        }
        floor
    }

    fn seats(&self) -> MutexGuard<'_, Vec<Arc<Seat>>> {
        self.seats.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Seat ===

impl Seat {
    /// What the watcher calls itself.
    pub(crate) fn router_id(&self) -> &str {
        &self.router_id
    }

    /// Books that everything up to `revision` is on its way.
    pub(crate) fn sent(&self, revision: Revision) {
        let mut book = self.book();
        book.sent = book.sent.max(revision);
    }

    /// Books a head before it leaves: from then on the watcher may decide on `revision` until `until`.
    pub(crate) fn granted(&self, revision: Revision, until: Timestamp) {
        let mut book = self.book();
        book.sent = book.sent.max(revision);
        if let Some(last) = book.grants.back_mut().filter(|(last, _)| *last == revision) {
            last.1 = last.1.max(until);
            return;
        }
        if book.grants.len() >= GRANTS {
            // The older revision keeps standing for both: it is the one that a proof may wait for.
            let (_, merged) = book.grants.remove(1).unwrap_or((revision, until));
            if let Some(first) = book.grants.front_mut() {
                first.1 = first.1.max(merged);
            }
        }
        book.grants.push_back((revision, until));
    }

    /// The watcher decides on nothing older than `revision` any more. The same may be said twice, and late.
    pub(crate) fn applied(&self, revision: Revision) -> Result<(), NeverSent> {
        let mut book = self.book();
        if revision > book.sent {
            return Err(NeverSent);
        }
        book.applied = book.applied.max(revision);
        book.raise_grants();
        Ok(())
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Seated {
    fn drop(&mut self) {
        self.0.book().connected = false;
    }
}

// === impl Book ===

impl Book {
    /// Leases of older heads go on, but for what is applied now.
    fn raise_grants(&mut self) {
        let mut raised: Option<Timestamp> = None;
        while let Some((_, until)) = self.grants.pop_front_if(|(granted, _)| *granted <= self.applied) {
            raised = raised.max(Some(until));
        }
        if let Some(until) = raised {
            self.grants.push_front((self.applied, until));
        }
    }

    fn standing(&self, asked: Asked) -> Standing {
        if self.applied >= asked.revision {
            return Standing::Applied;
        }
        match self.older(asked) {
            Some((_, until)) => Standing::Pending(until),
            None if self.grants.iter().any(|(granted, _)| *granted < asked.revision) => Standing::Lapsed,
            None => Standing::Unconcerned,
        }
    }

    /// The oldest revision before the asked one that it may still decide on, and until when.
    fn older(&self, asked: Asked) -> Option<(Revision, Timestamp)> {
        let booked = self.grants.iter().map(|(granted, until)| ((*granted).max(self.applied), *until));
        // What it was not sent yet may be behind a head that is on its way: a snapshot's, or one of a resumed history.
        let behind = (self.connected && self.sent < asked.revision).then_some(self.sent).zip(asked.leases_until);
        let older = booked.chain(behind).filter(|(granted, until)| *granted < asked.revision && asked.now < *until);
        older.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: i64 = 15;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).expect("a time")
    }

    fn asked(revision: u64, now: i64) -> Asked {
        Asked { revision: Revision(revision), now: at(now), leases_until: Some(at(LEASE)) }
    }

    fn stands(watchers: &Watchers, revision: u64, now: i64) -> (usize, usize, usize) {
        let proof = watchers.proof(asked(revision, now), |_| true);
        (proof.applied, proof.lapsed, proof.pending.len())
    }

    #[test]
    fn a_watcher_counts_until_it_applied_or_its_lease_is_over() {
        let watchers = Watchers::default();
        let seated = watchers.seat("r".into(), ViewScope::All, Revision(0));
        seated.0.granted(Revision(4), at(LEASE));
        seated.0.sent(Revision(5));
        assert_eq!(stands(&watchers, 5, 0), (0, 0, 1));
        assert_eq!(watchers.floor(asked(5, 0)).applied, Revision(4));
        assert_eq!(stands(&watchers, 5, LEASE), (0, 1, 0), "its lease is over");
        seated.0.applied(Revision(5)).expect("was sent");
        assert_eq!(stands(&watchers, 5, 0), (1, 0, 0));
        let floor = watchers.floor(asked(5, 0));
        assert_eq!((floor.applied, floor.pending, floor.watching), (Revision(5), 0, 1));
    }

    #[test]
    fn a_watcher_that_was_told_nothing_yet_may_be_told_something_older() {
        let watchers = Watchers::default();
        let seated = watchers.seat("r".into(), ViewScope::All, Revision(0));
        assert_eq!(stands(&watchers, 5, 0), (0, 0, 1), "a snapshot of before may be on its way");
        let floor = watchers.floor(asked(5, 0));
        assert_eq!((floor.applied, floor.watched_until, floor.pending), (Revision(0), at(LEASE), 1));
        assert_eq!(stands(&watchers, 5, LEASE).2, 0, "no head of before lives longer");
        seated.0.granted(Revision(5), at(2 * LEASE));
        assert_eq!(stands(&watchers, 5, 0), (0, 0, 0), "it never had anything older");
        assert_eq!(watchers.floor(asked(5, 0)).applied, Revision(5));
    }

    #[test]
    fn who_is_gone_counts_by_its_lease_alone() {
        let watchers = Watchers::default();
        let seated = watchers.seat("r".into(), ViewScope::All, Revision(0));
        seated.0.granted(Revision(4), at(10));
        drop(seated);
        assert_eq!(stands(&watchers, 5, 0), (0, 0, 1));
        assert_eq!(watchers.floor(asked(5, 0)).watched_until, at(10));
        watchers.forget_lapsed(at(9));
        assert_eq!(stands(&watchers, 5, 9), (0, 0, 1));
        watchers.forget_lapsed(at(10));
        assert_eq!(watchers.floor(asked(5, 10)).pending, 0);
    }

    #[test]
    fn copies_without_number_take_nothing_back_from_a_watcher() {
        let watchers = Watchers::default();
        let copy = |revision, until| watchers.copied("greedy", &ViewScope::All, (Revision(revision), at(until)));
        (0..COPIES).for_each(|_| copy(5, 12));
        let seated = watchers.seat("r".into(), ViewScope::All, Revision(0));
        seated.0.granted(Revision(3), at(10));
        seated.0.granted(Revision(5), at(11));
        copy(6, 14);
        assert_eq!(stands(&watchers, 4, 0).2, 1, "the watcher may still decide on 3");
        seated.0.applied(Revision(6)).expect_err("never sent to it");
        seated.0.applied(Revision(5)).expect("was sent");
        drop(seated);
        assert_eq!(stands(&watchers, 6, 12).2, 1, "the last copy stands for the one past the end");
        assert_eq!(stands(&watchers, 6, 14).2, 0);
    }
}
