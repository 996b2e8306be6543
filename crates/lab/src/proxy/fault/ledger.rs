//! What was done to which exchange; bounded.

use std::collections::VecDeque;

use ostiary_record::Disturbed;

/// Most entries that are kept.
const KEPT: usize = 10_000;

/// Entries in their order.
#[derive(Default)]
pub(super) struct Ledger {
    entries: VecDeque<Disturbed>,
    next: u64,
}

// === impl Ledger ===

impl Ledger {
    /// The place of the next entry.
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    /// Entries that are no longer kept.
    pub(super) fn forgotten(&self) -> u64 {
        self.next - self.entries.len() as u64
    }

    pub(super) fn entries(&self) -> Vec<Disturbed> {
        self.entries.iter().cloned().collect()
    }

    /// Adds an entry and tells its place.
    pub(super) fn push(&mut self, entry: Disturbed) -> u64 {
        if self.entries.len() >= KEPT {
            self.entries.pop_front();
        }
        let n = self.next;
        self.next += 1;
        self.entries.push_back(Disturbed { n, ..entry });
        n
    }

    /// Adds to an entry, where it is still kept.
    pub(super) fn grow(&mut self, n: u64, passed_bytes: u64, waited_millis: u64) {
        let place = n.checked_sub(self.forgotten()).and_then(|place| usize::try_from(place).ok());
        if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) {
            entry.passed_bytes = passed_bytes;
            entry.waited_millis += waited_millis;
        }
    }
}
