//! Whom the last publishes concerned, and until when answers that were given before them may be used.

use std::collections::{BTreeSet, VecDeque};

use jiff::Timestamp;
use ostiary_admission::ViewScope;
use ostiary_canon::Revision;

/// Publishes that are remembered one by one.
const MOST: usize = 4096;

#[derive(Default)]
pub(super) struct History {
    past: VecDeque<Past>,
    /// When the last answer ends that was given before something that is forgotten.
    forgotten: Option<Timestamp>,
    /// The longest lease that a head had before something that is forgotten.
    forgotten_leases: Option<Timestamp>,
}

struct Past {
    from: Revision,
    to: Revision,
    /// `None` is all.
    namespaces: Option<BTreeSet<Box<str>>>,
    answers_until: Timestamp,
    /// No head of an older revision has a longer lease.
    leases_until: Timestamp,
}

// === impl History ===

impl History {
    pub(super) fn add(
        &mut self,
        (from, to): (Revision, Revision),
        namespaces: Option<BTreeSet<Box<str>>>,
        (answers_until, leases_until): (Timestamp, Timestamp),
    ) {
        self.past.push_back(Past { from, to, namespaces, answers_until, leases_until });
        if self.past.len() > MOST
            && let Some(oldest) = self.past.pop_front()
        {
            self.forgotten = self.forgotten.max(Some(oldest.answers_until));
            self.forgotten_leases = self.forgotten_leases.max(Some(oldest.leases_until));
        }
    }

    /// When the last answer ends that was given before `revision` and about what it changed.
    pub(super) fn answers_until(&self, revision: Revision) -> Option<Timestamp> {
        self.at(revision).map_or(self.forgotten, |past| Some(past.answers_until))
    }

    /// When the last lease ends of heads that were signed before `revision` was published.
    pub(super) fn leases_until(&self, revision: Revision) -> Option<Timestamp> {
        self.at(revision).map_or(self.forgotten_leases, |past| Some(past.leases_until))
    }

    /// When the last answer ends that was given before any publish so far, and about what that changed.
    pub(super) fn all_answers_until(&self) -> Timestamp {
        let remembered = self.past.iter().map(|past| past.answers_until);
        remembered.chain(self.forgotten).max().unwrap_or(Timestamp::MIN)
    }

    /// Whether `revision` changed something in `scope`; what is forgotten may have.
    pub(super) fn concerns(&self, revision: Revision, scope: &ViewScope) -> bool {
        let namespaces = self.at(revision).and_then(|past| past.namespaces.as_ref());
        namespaces.is_none_or(|namespaces| namespaces.iter().any(|namespace| scope.holds(namespace)))
    }

    fn at(&self, revision: Revision) -> Option<&Past> {
        self.past.iter().rev().find(|past| past.from < revision && revision <= past.to)
    }
}
