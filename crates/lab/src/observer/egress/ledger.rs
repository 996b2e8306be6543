//! Where a candidate went; bounded.

use std::collections::VecDeque;

use ostiary_record::MonoNanos;
use serde::Serialize;

/// One call that left, or wanted to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Departure {
    /// Place in the ledger, from 0.
    pub n: u64,
    /// When it was asked for, on the run's clock.
    pub at: MonoNanos,
    /// When it was over; `None` = it goes on.
    pub until: Option<MonoNanos>,
    /// The host as the candidate named it.
    pub host: String,
    /// The port.
    pub port: u16,
    /// How.
    pub via: Via,
    /// Whether the host is on the list.
    pub allowed: bool,
    /// The address it was connected to; `None` = it was not.
    pub address: Option<String>,
    /// Bytes that went there.
    pub sent_bytes: u64,
    /// Bytes that came back.
    pub received_bytes: u64,
}

/// How a call left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Via {
    /// A tunnel by CONNECT: what is said in it is not known.
    Tunnel,
    /// A plain request: its method and path.
    Http {
        /// `POST`.
        method: String,
        /// Without the query, where secrets may be.
        path: String,
    },
}

/// Departures in their order.
#[derive(Default)]
pub(super) struct Ledger {
    entries: VecDeque<Departure>,
    next: u64,
}

/// Most entries that are kept.
const KEPT: usize = 10_000;

// === impl Ledger ===

impl Ledger {
    pub(super) const fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn forgotten(&self) -> u64 {
        self.next - self.entries.len() as u64
    }

    pub(super) fn entries(&self) -> Vec<Departure> {
        self.entries.iter().cloned().collect()
    }

    /// Adds an entry and tells its place.
    pub(super) fn push(&mut self, entry: Departure) -> u64 {
        if self.entries.len() >= KEPT {
            self.entries.pop_front();
        }
        let n = self.next;
        self.next += 1;
        self.entries.push_back(Departure { n, ..entry });
        n
    }

    /// Changes an entry, where it is still kept.
    pub(super) fn change(&mut self, n: u64, change: impl FnOnce(&mut Departure)) {
        let place = n.checked_sub(self.forgotten()).and_then(|place| usize::try_from(place).ok());
        if let Some(entry) = place.and_then(|place| self.entries.get_mut(place)) {
            change(entry);
        }
    }
}
