//! The real clocks. Everything else takes time as an argument or through a port.

use std::time::Instant;

use jiff::Timestamp;
use ostiary_record::{MonoNanos, Monotonic};

/// The civil time of this machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// Monotonic time since it was made.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    origin: Instant,
}

// === impl SystemClock ===

impl SystemClock {
    /// Now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the civil clock")]
    pub fn now(self) -> Timestamp {
        Timestamp::now()
    }
}

// === impl MonotonicClock ===

impl MonotonicClock {
    /// A clock that starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the monotonic clock")]
    pub fn start() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Monotonic for MonotonicClock {
    fn now(&self) -> MonoNanos {
        MonoNanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
