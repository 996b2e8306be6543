//! Time for ledgers where no run lends its clock.

use std::sync::Arc;

use ostiary_record::{MonoNanos, Monotonic};
use tokio::time::Instant;

/// Monotonic time since it was made; stands still where the runtime's time does.
#[derive(Clone, Copy, Debug)]
pub struct SinceStart {
    origin: Instant,
}

// === impl SinceStart ===

impl SinceStart {
    /// A clock that starts now.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads a clock")]
    pub fn now() -> Self {
        Self { origin: Instant::now() }
    }

    /// The given clock, or one that starts now.
    pub(crate) fn or(clock: Option<Arc<dyn Monotonic>>) -> Arc<dyn Monotonic> {
        clock.unwrap_or_else(|| Arc::new(Self::now()))
    }
}

impl Monotonic for SinceStart {
    fn now(&self) -> MonoNanos {
        MonoNanos(u64::try_from(self.origin.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}
