//! Clocks that tests set.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use jiff::Timestamp;

use crate::ports::Time;

pub(crate) const SECOND: i64 = 1_000_000_000;

/// When the boot clock of tests says 0, the control plane's says this: 2026-01-01.
pub(crate) const START: i64 = 1_767_225_600;

/// The control plane's time when the boot clock says `boot`.
pub(crate) fn at(boot: i64) -> Timestamp {
    Timestamp::new(START, 0).unwrap().checked_add(jiff::SignedDuration::from_nanos(boot)).unwrap()
}

/// Both clocks stand until they are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct SetTime {
    boot: Arc<AtomicI64>,
}

// === impl SetTime ===

impl SetTime {
    pub(crate) fn advance(&self, nanos: i64) {
        self.boot.fetch_add(nanos, Ordering::SeqCst);
    }
}

impl Time for SetTime {
    fn boot_nanos(&self) -> i64 {
        self.boot.load(Ordering::SeqCst)
    }

    fn wall(&self) -> Timestamp {
        at(self.boot_nanos())
    }
}
