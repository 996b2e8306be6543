//! What a stream missed while it was away, as one step under a head of now.
//!
//! The steps in between are never told one by one: their heads are of revisions that are over, yet their leases may still
//! live. A router whose own lease has ended was counted out of a proof; with such a head it would decide on an older
//! revision again, if only until it reads the next step.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use ostiary_admission::{Subject, wire::Sent};
use ostiary_canon::Revision;

use super::{
    Start,
    ring::{Delta, SignedHead, Step},
};

/// See the module.
pub(super) struct Missed {
    /// Where the stream was.
    pub(super) revision: Revision,
    /// All steps since then.
    pub(super) steps: Vec<Arc<Step>>,
    /// A head of where they lead.
    pub(super) head: Option<SignedHead>,
}

// === impl Missed ===

impl Missed {
    /// Whether it may be told: it has a head, or needs none because each of its steps only lowers trust.
    pub(super) fn may_leave(&self) -> bool {
        self.head.is_some() || self.deltas().all(|delta| delta.head.is_none())
    }

    pub(super) fn into_start(self) -> Start {
        let revision = self.revision;
        let to = self.deltas().last().map(|delta| delta.to);
        let delta = to.map(|to| Delta { from: revision, to, entries: self.entries(to), head: self.head });
        Start::Resumed(revision, delta.map(Box::new))
    }

    /// The last entry about each subject.
    fn entries(&self, to: Revision) -> Vec<Bytes> {
        let mut last: HashMap<Subject, Bytes> = HashMap::new();
        for bytes in self.deltas().flat_map(|delta| &delta.entries) {
            // We sent it before, so it is about something.
            if let Ok(sent) = Sent::read(bytes, to) {
                last.insert(sent.change.subject(), bytes.clone());
            }
        }
        last.into_values().collect()
    }

    fn deltas(&self) -> impl Iterator<Item = &Delta> {
        self.steps.iter().filter_map(|step| match &**step {
            Step::Delta(delta) => Some(delta),
            // No history leads across one.
            Step::Resync => None,
        })
    }
}
