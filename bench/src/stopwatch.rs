//! The one place that reads clocks: measuring time is what this program is for.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

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

/// CPU time of this thread since it was started: what other work on the machine takes does not count.
#[derive(Clone, Copy, Debug)]
pub struct CpuWatch(i64);

// === impl CpuWatch ===

impl CpuWatch {
    /// Starts one; it is read on the same thread.
    pub fn start() -> Self {
        Self(cpu_nanos())
    }

    /// Nanoseconds that this thread worked since.
    #[expect(clippy::cast_precision_loss, reason = "a benchmark takes seconds")]
    pub fn nanos(self) -> f64 {
        (cpu_nanos() - self.0) as f64
    }
}

fn cpu_nanos() -> i64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}
