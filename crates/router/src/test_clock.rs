//! Clocks that tests set.

use jiff::Timestamp;

pub(crate) const SECOND: i64 = 1_000_000_000;

/// When the boot clock of tests says 0, the control plane's says this: 2026-01-01.
pub(crate) const START: i64 = 1_767_225_600;

/// The control plane's time when the boot clock says `boot`.
pub(crate) fn at(boot: i64) -> Timestamp {
    Timestamp::new(START, 0).unwrap().checked_add(jiff::SignedDuration::from_nanos(boot)).unwrap()
}
