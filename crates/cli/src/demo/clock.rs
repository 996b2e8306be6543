//! The demo's clock: the machine's, which can be set ahead.

use std::sync::atomic::{AtomicI64, Ordering};

use jiff::{SignedDuration, Timestamp};
use ostiary_domain::Clock;

use crate::system;

/// Real time and an offset. It never goes back.
#[derive(Debug, Default)]
pub(super) struct DemoClock {
    ahead_seconds: AtomicI64,
}

// === impl DemoClock ===

impl DemoClock {
    /// Sets the clock ahead.
    pub(super) fn advance(&self, by: SignedDuration) {
        self.ahead_seconds.fetch_add(by.as_secs().max(0), Ordering::SeqCst);
    }
}

impl Clock for DemoClock {
    fn now(&self) -> Timestamp {
        let ahead = SignedDuration::from_secs(self.ahead_seconds.load(Ordering::SeqCst));
        let now = system::now();
        now.checked_add(ahead).unwrap_or(now)
    }
}
