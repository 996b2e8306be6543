//! A stream's place in a scope's history.

use std::sync::{Arc, atomic::Ordering};

use ostiary_admission::{Tree, ViewScope};
use ostiary_canon::Revision;
use tokio::sync::watch;

use super::{
    Hub, SCOPES, Snapshot, State,
    channel::{Channel, LARGEST, Live, Moment, Pulse},
    missed::Missed,
    ring::{Delta, Pruned, SignedHead, Step},
};

/// A place in a scope's history: what came before it is told, what comes after it is read from the ring.
pub(crate) struct Subscription {
    live: Arc<Live>,
    pulse: watch::Receiver<Pulse>,
    /// Number of the step that is told next.
    next: u64,
    /// Number of the last heartbeat that was told.
    beat: u64,
}

/// How a stream begins.
pub(crate) enum Start {
    /// With what was missed since the revision that was asked for, if anything was.
    Resumed(Revision, Option<Box<Delta>>),
    /// With everything; `resync` when a history was asked for that is not there.
    Snapshot { snapshot: Box<Snapshot>, resync: bool },
}

/// What comes next.
pub(crate) enum News {
    /// A step.
    Step(Arc<Step>),
    /// A heartbeat.
    Beat(SignedHead),
    /// The reader was so slow that the next step is gone.
    TooSlow,
}

/// Why there is no stream now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unavailable {
    /// More scopes in use than we keep.
    #[error("{SCOPES} scopes are in use; no more can be watched here")]
    Scopes,
    /// The view cannot be signed now.
    #[error("there is no signed head of the view now; try again")]
    NoHead,
    /// Building the tree stopped halfway.
    #[error("the view's tree could not be built; try again")]
    NoTree,
}

// === impl Hub ===

impl Hub {
    /// A place in the history of `scope`: after the revision and root of `resume`, where that is in our history, else
    /// after a snapshot.
    pub(crate) async fn subscribe(
        self: &Arc<Self>,
        scope: &ViewScope,
        resume: Option<(Revision, &[u8])>,
    ) -> Result<(Subscription, Start), Unavailable> {
        loop {
            if let Some(subscribed) = self.subscribe_now(scope, resume)? {
                return Ok(subscribed);
            }
            self.open(scope).await?;
        }
    }

    /// Everything in `scope`, once, for `caller`.
    pub(crate) async fn snapshot(self: &Arc<Self>, scope: &ViewScope, caller: &str) -> Result<Snapshot, Unavailable> {
        loop {
            if let Some(snapshot) = self.copy_now(scope, caller)? {
                return Ok(snapshot);
            }
            self.open(scope).await?;
        }
    }

    fn subscribe_now(
        &self,
        scope: &ViewScope,
        resume: Option<(Revision, &[u8])>,
    ) -> Result<Option<(Subscription, Start)>, Unavailable> {
        let mut state = self.state();
        let moment = self.moment();
        let Some(channel) = state.channels.get_mut(scope) else { return Ok(None) };
        channel.release(&*self.heads, moment);
        let live = Arc::clone(channel.live());
        let (pulse, next) = (live.listen(), live.ring().next());
        let missed = resume.and_then(|(revision, root)| self.missed(channel, (revision, root), moment));
        let subscription = Subscription { live, pulse, next, beat: 0 };
        if let Some(missed) = missed {
            drop(state);
            return Ok(Some((subscription, missed?.into_start())));
        }
        let Some(snapshot) = self.snapshot_now(&mut state, scope)? else { return Ok(None) };
        drop(state);
        if resume.is_some() {
            self.counts.resyncs.fetch_add(1, Ordering::Relaxed);
        }
        let start = Start::Snapshot { snapshot: Box::new(snapshot), resync: resume.is_some() };
        Ok(Some((subscription, start)))
    }

    /// What was missed after a revision and root of our history; `None` where only a snapshot leads from there to now.
    fn missed(
        &self,
        channel: &mut Channel,
        (revision, root): (Revision, &[u8]),
        moment: Moment,
    ) -> Option<Result<Missed, Unavailable>> {
        let live = Arc::clone(channel.live());
        let after = live.ring().after(revision, root)?;
        let (steps, bytes) = live.ring().since(after).ok()?;
        if bytes > LARGEST {
            return None;
        }
        let head = if steps.is_empty() { None } else { channel.sign(&*self.heads, moment) };
        let missed = Missed { revision, steps, head };
        Some(if missed.may_leave() { Ok(missed) } else { Err(Unavailable::NoHead) })
    }

    /// Booked under the lock that a proof takes: none can be made between head and booking.
    fn copy_now(&self, scope: &ViewScope, caller: &str) -> Result<Option<Snapshot>, Unavailable> {
        let mut state = self.state();
        let snapshot = self.snapshot_now(&mut state, scope)?;
        if let Some(Snapshot { head, .. }) = &snapshot {
            self.watchers.copied(caller, scope, (head.revision, head.lease_until));
        }
        Ok(snapshot)
    }

    fn snapshot_now(&self, state: &mut State, scope: &ViewScope) -> Result<Option<Snapshot>, Unavailable> {
        let moment = self.moment();
        let Some(channel) = state.channels.get_mut(scope) else { return Ok(None) };
        let head = channel.sign(&*self.heads, moment).ok_or(Unavailable::NoHead)?;
        let entries = channel.len() as u64;
        let frozen = state.frozen.get_or_insert_with(|| Arc::new(self.index.freeze()));
        self.counts.snapshots.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Snapshot::new(Arc::clone(frozen), scope.clone(), entries, head)))
    }

    /// Begins to keep a tree of `scope`. It is built beside the publisher, and what was published meanwhile is added.
    async fn open(self: &Arc<Self>, scope: &ViewScope) -> Result<(), Unavailable> {
        let _alone = self.building.lock().await;
        loop {
            let frozen = {
                let mut state = self.state();
                if state.channels.contains_key(scope) {
                    return Ok(());
                }
                if state.channels.len() >= self.most_scopes {
                    // Their histories are kept as a favour; names that somebody made up must not keep others out.
                    state.channels.retain(|_, channel| channel.is_watched());
                }
                if state.channels.len() >= self.most_scopes {
                    return Err(Unavailable::Scopes);
                }
                state.journal = Some(Vec::new());
                Arc::clone(state.frozen.get_or_insert_with(|| Arc::new(self.index.freeze())))
            };
            let wanted = scope.clone();
            let tree = tokio::task::spawn_blocking(move || frozen.tree(&wanted)).await;
            let tree = tree.map_err(|_| Unavailable::NoTree)?;
            if self.adopt(scope, tree) {
                return Ok(());
            }
        }
    }

    /// Takes a tree over; says whether it could be brought up to now.
    fn adopt(&self, scope: &ViewScope, mut tree: Tree) -> bool {
        let mut state = self.state();
        let Some(journal) = state.journal.take() else { return false };
        let own = journal.into_iter().filter(|entry| scope.holds(entry.subject.namespace()));
        for entry in own {
            if tree.set(entry.subject.shard(), entry.old, entry.new).is_err() {
                return false;
            }
        }
        let Moment { revision, .. } = self.moment();
        state.channels.insert(scope.clone(), Channel::new(scope.clone(), tree, revision));
        true
    }
}

// === impl Subscription ===

impl Subscription {
    /// What is there and not told yet.
    pub(crate) fn ready(&mut self) -> Option<News> {
        let beat = self.pulse.borrow_and_update().beat.clone();
        if let Some(beat) = beat.filter(|beat| beat.number > self.beat && beat.before == self.next) {
            self.beat = beat.number;
            return Some(News::Beat(beat.head.clone()));
        }
        match self.live.ring().get(self.next) {
            Ok(Some(step)) => {
                self.next += 1;
                Some(News::Step(step))
            }
            Ok(None) => None,
            Err(Pruned) => Some(News::TooSlow),
        }
    }

    /// Whether the reader is so slow that its next step is gone already.
    pub(crate) fn is_too_slow(&self) -> bool {
        self.live.ring().get(self.next).is_err()
    }

    /// Returns when there may be more.
    pub(crate) async fn changed(&mut self) {
        // The sender lives as long as the ring that we hold: there is no other end than a change.
        let _ = self.pulse.changed().await;
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use ostiary_admission::{Head, Index};

    use super::*;
    use crate::ports::{Clock, HeadSource};

    struct Any;

    impl Clock for Any {
        fn now(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
    }

    impl HeadSource for Any {
        fn signed(&self, _: &Head) -> Option<bytes::Bytes> {
            Some(bytes::Bytes::from_static(b"{}"))
        }
    }

    #[tokio::test]
    async fn names_that_somebody_made_up_do_not_keep_others_out() {
        let mut hub = Hub::new(Arc::new(Index::new()), Arc::new(Any), Arc::new(Any));
        hub.most_scopes = 3;
        let hub = Arc::new(hub);
        let scope = |name: &str| name.parse::<ViewScope>().expect("a scope");
        let watched = hub.subscribe(&scope("watched"), None).await.expect("room");
        for name in ["made-up-1", "made-up-2"] {
            hub.snapshot(&scope(name), "somebody").await.expect("room");
        }
        assert_eq!(hub.counters().scopes, 3);
        let others = [hub.subscribe(&scope("*"), None).await, hub.subscribe(&scope("acme"), None).await];
        assert!(others.iter().all(Result::is_ok), "nobody watches what was made up");
        assert_eq!(hub.subscribe(&scope("late"), None).await.err(), Some(Unavailable::Scopes));
        drop((watched, others));
        assert!(hub.subscribe(&scope("late"), None).await.is_ok());
    }
}
