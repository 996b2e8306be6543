//! The one place that reads a clock: measuring time is what this program is for.

use std::time::{Duration, Instant};

/// Time since it was started.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

// === impl Stopwatch ===

impl Stopwatch {
    /// Starts one.
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures the machine's own time")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// How long it runs.
    pub fn elapsed(self) -> Duration {
        self.0.elapsed()
    }
}
