//! What only the one publisher at a time touches.

use std::sync::Arc;

use bytes::Bytes;
use hashbrown::{HashMap, HashSet};
use ostiary_canon::Profile;

use super::Change;
use crate::{
    record::{AdmissionRecord, Scope},
    subject::Subject,
    wire::Sent,
};

#[derive(Default)]
pub(super) struct Writer {
    /// Profiles are few and repeat in every record: each is kept once.
    profiles: HashSet<Arc<Profile>>,
    /// Entries that were not understood, as they were sent: what stands in for them has other bytes. Empty, as a rule.
    strange: HashMap<Subject, Bytes>,
    /// How many versions are known.
    pub(super) len: usize,
}

/// A change, and the bytes of its entry where the change only stands in for them.
pub(super) fn with_strange_bytes(sent: Sent) -> (Change, Option<Bytes>) {
    (sent.change, sent.strange.map(|strange| strange.bytes))
}

// === impl Writer ===

impl Writer {
    /// The record with each profile replaced by the one copy of it.
    pub(super) fn interned(&mut self, mut record: AdmissionRecord) -> AdmissionRecord {
        let grants = record.evidence.iter_mut().flat_map(|evidence| &mut evidence.profiles);
        let held = record.holds.iter_mut().filter_map(|hold| match &mut hold.scope {
            Scope::Profile(profile) => Some(profile),
            _ => None,
        });
        for profile in grants.map(|grant| &mut grant.profile).chain(held) {
            *profile = Arc::clone(self.profiles.get_or_insert_with(&**profile, |one| Arc::new(one.clone())));
        }
        record
    }

    pub(super) fn remember(&mut self, change: &Change, strange: Option<Bytes>) {
        match strange {
            Some(bytes) => _ = self.strange.insert(change.subject(), bytes),
            None if !self.strange.is_empty() => _ = self.strange.remove(&change.subject()),
            None => {}
        }
    }

    pub(super) fn forget_strange(&mut self) {
        self.strange.clear();
    }

    pub(super) fn strange(&self, subject: &Subject) -> Option<Bytes> {
        if self.strange.is_empty() { None } else { self.strange.get(subject).cloned() }
    }

    pub(super) fn all_strange(&self) -> HashMap<Subject, Bytes> {
        self.strange.clone()
    }
}
