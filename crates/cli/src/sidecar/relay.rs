//! From the router's copy into a hub, with the control plane's own heads: nothing here signs.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use ostiary_admission::{Head, Index, PublishError, ViewScope, wire::Sent};
use ostiary_canon::Revision;
use ostiary_pdp::Hub;
use ostiary_router::{Downstream, RelayedHead};
use tokio::sync::watch;

use super::clock::RelayClock;

/// Follows a router's copy.
pub(crate) struct Relay {
    hub: Arc<Hub>,
    heads: Arc<Heads>,
    clock: Arc<RelayClock>,
    /// Revisions that are applied here and not yet by everybody who follows.
    waiting: Mutex<Waiting>,
    reached: watch::Sender<Revision>,
}

/// The newest heads of the control plane, as they came.
struct Heads {
    scope: ViewScope,
    kept: Mutex<VecDeque<RelayedHead>>,
}

#[derive(Default)]
struct Waiting {
    acknowledged: Revision,
    later: VecDeque<Revision>,
}

/// Heads that are kept: the newest is asked for, and the one before it while a step is on its way.
const HEADS: usize = 4;

/// Revisions that are waited for one by one; of more, the oldest and the newest stay.
const LATER: usize = 64;

// === impl Relay ===

impl Relay {
    /// A hub without content, and its relay, for one scope.
    pub(crate) fn new(scope: ViewScope) -> Self {
        let heads = Arc::new(Heads { scope, kept: Mutex::default() });
        let clock = Arc::<RelayClock>::default();
        let hub = Hub::new(Arc::new(Index::new()), Arc::clone(&clock) as _, Arc::clone(&heads) as _);
        let (reached, _) = watch::channel(Revision(0));
        Self { hub: Arc::new(hub), heads, clock, waiting: Mutex::default(), reached }
    }

    /// What is served from.
    pub(crate) const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// Where the control plane's time comes from.
    pub(crate) const fn clock(&self) -> &Arc<RelayClock> {
        &self.clock
    }

    /// The revision that was reached.
    pub(crate) fn reached(&self) -> watch::Receiver<Revision> {
        self.reached.subscribe()
    }

    /// Remembers a head, and lets what it covers be used for as long as it says. One that does not cover what is held, which
    /// our bug or somebody's invention would be, changes nothing: the lease then ends by itself.
    fn learn(&self, head: &RelayedHead) {
        if self.hub.index().revision() != head.revision {
            return tracing::error!(revision = %head.revision, "a head is not of what is passed on");
        }
        self.heads.learn(head);
        self.hub.index().extend_lease(head.lease_until);
        // what waited for this head goes out, and to those who have all of it the newer lease
        self.hub.tick();
        self.hub.beat();
    }

    fn went<T>(&self, to: Revision, done: Result<T, PublishError>) {
        match done {
            Ok(_) => drop(self.reached.send_replace(to)),
            Err(error) => tracing::error!(%error, revision = %to, "a step of the copy was not passed on"),
        }
    }
}

impl Downstream for Relay {
    fn replaced(&self, _: &ViewScope, index: &Arc<Index>, head: &RelayedHead) {
        let revision = head.revision;
        // a large copy takes a second; what else this thread has to do goes elsewhere meanwhile
        tokio::task::block_in_place(|| match whole(index, revision) {
            // the router says what its copy is, and knows better than we whether it may be older: what was beyond it here
            // had no head
            Ok(entries) => {
                self.hub.restart_sent(entries, revision);
                self.went(revision, Ok(()))
            }
            Err(error) => tracing::error!(%error, "an entry of the router's copy cannot be read back"),
        });
        self.waiting().go_back_to(revision);
        self.learn(head);
    }

    fn stepped(&self, _: &ViewScope, changes: &[Sent], to: Revision, head: Option<&RelayedHead>) {
        self.went(to, self.hub.publish_sent(changes.iter().cloned(), to));
        if let Some(head) = head {
            self.learn(head);
        }
    }

    fn confirmed(&self, _: &ViewScope, head: &RelayedHead) {
        // perhaps of a later revision at which nothing of this scope changed
        if self.hub.index().revision() < head.revision {
            self.went(head.revision, self.hub.publish_sent([], head.revision));
        }
        self.learn(head);
    }

    fn acknowledged(&self, _: &ViewScope, applied: Revision) -> Revision {
        let mut waiting = self.waiting();
        waiting.wait_for(applied);
        waiting.settle(|revision| self.hub.proof(revision).is_complete())
    }
}

impl Relay {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All entries of a copy as they were sent.
fn whole(index: &Index, revision: Revision) -> Result<Vec<Sent>, ostiary_admission::wire::NotUnderstood> {
    let frozen = index.freeze();
    let all = &ViewScope::All;
    let entries = (0..frozen.parts()).flat_map(|part| frozen.part(part, all));
    entries.map(|(_, bytes)| Sent::read(&bytes, revision)).collect()
}

// === impl Waiting ===

impl Waiting {
    fn wait_for(&mut self, revision: Revision) {
        let newest = self.later.back().copied().unwrap_or(self.acknowledged);
        if revision <= newest {
            return;
        }
        if self.later.len() >= LATER {
            self.later.pop_back();
        }
        self.later.push_back(revision);
    }

    /// What was said of anything beyond `revision` was about something that nobody signed.
    fn go_back_to(&mut self, revision: Revision) {
        self.later.retain(|later| *later <= revision);
        if self.acknowledged > revision {
            self.acknowledged = Revision(0);
        }
    }

    /// Goes on to the newest revision that is complete.
    fn settle(&mut self, complete: impl Fn(Revision) -> bool) -> Revision {
        while let Some(next) = self.later.front().copied().filter(|next| complete(*next)) {
            self.acknowledged = next;
            self.later.pop_front();
        }
        self.acknowledged
    }
}

// === impl Heads ===

impl Heads {
    fn learn(&self, head: &RelayedHead) {
        let mut kept = self.kept();
        kept.push_front(head.clone());
        kept.truncate(HEADS);
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<RelayedHead>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ostiary_pdp::HeadSource for Heads {
    fn signed(&self, head: &Head) -> Option<Bytes> {
        let same = |known: &&RelayedHead| {
            known.revision == head.revision && known.root == head.root && known.lease_until <= head.lease_until
        };
        let kept = self.kept();
        kept.iter().find(same).filter(|_| head.scope == self.scope).map(|known| known.envelope.clone())
    }
}

#[cfg(test)]
mod tests {
    use ostiary_admission::{Change, Enforcement, View as _, wire::entry_bytes};

    use super::*;

    #[test]
    fn only_what_is_complete_is_acknowledged_and_never_less_than_before() {
        let mut waiting = Waiting::default();
        for revision in [5, 7, 7, 6, 9] {
            waiting.wait_for(Revision(revision));
        }
        assert_eq!(waiting.settle(|_| false), Revision(0));
        assert_eq!(waiting.settle(|revision| revision <= Revision(7)), Revision(7));
        // a watcher that has not applied 9 comes, and one that has not applied 7 cannot take it back
        assert_eq!(waiting.settle(|_| false), Revision(7));
        assert_eq!(waiting.settle(|_| true), Revision(9));
    }

    #[test]
    fn a_stream_of_revisions_does_not_starve_the_first_and_stays_bounded() {
        let mut waiting = Waiting::default();
        for revision in 1..=1000 {
            waiting.wait_for(Revision(revision));
        }
        assert_eq!(waiting.later.len(), LATER);
        assert_eq!(waiting.settle(|revision| revision == Revision(1)), Revision(1));
        assert_eq!(waiting.settle(|_| true), Revision(1000));
    }

    fn at(seconds: i64) -> jiff::Timestamp {
        jiff::Timestamp::from_second(seconds).expect("a time")
    }

    fn head(revision: u64, lease: i64) -> RelayedHead {
        let (revision, root) = (Revision(revision), ostiary_canon::Digest::of(b"root"));
        RelayedHead { envelope: Bytes::from_static(b"{}"), revision, root, lease_until: at(lease) }
    }

    fn held(mode: &str) -> Sent {
        let until = at(10_000);
        let mode = if mode == "observe" { Enforcement::Observe { until } } else { Enforcement::Enforce };
        Sent::read(&entry_bytes(&Change::Enforce("acme".into(), mode)), Revision(1)).expect("an entry")
    }

    /// A step without entries only lowers, and may name any revision: whoever sits in between can make one up.
    #[tokio::test(flavor = "multi_thread")]
    async fn a_revision_that_somebody_made_up_does_not_outlive_the_copy_that_held_it() {
        let (relay, scope) = (Relay::new(ViewScope::All), ViewScope::All);
        let copy = Arc::new(Index::new());
        copy.replace_sent([held("observe")], Revision(1)).expect("new");
        relay.replaced(&scope, &copy, &head(1, 15));
        relay.stepped(&scope, &[], Revision(1000), None);
        assert_eq!(relay.acknowledged(&scope, Revision(1000)), Revision(1000));
        // The head that should cover it never comes. Those of before say nothing of what is held now.
        relay.confirmed(&scope, &head(1, 20));
        assert_eq!(relay.hub().index().freshness().lease_until, at(15));
        relay.replaced(&scope, &copy, &head(1, 80));
        assert!(relay.acknowledged(&scope, Revision(1)) <= Revision(1), "nothing later was ever acknowledged");
        relay.stepped(&scope, &[held("enforce")], Revision(2), Some(&head(2, 85)));
        let index = relay.hub().index();
        assert_eq!((index.revision(), index.enforcement("acme")), (Revision(2), Enforcement::Enforce));
        assert_eq!(index.freshness().lease_until, at(85));
    }
}
