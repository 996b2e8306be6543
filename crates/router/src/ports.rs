//! Time and chance, as arguments: the one place of this crate that reads the machine's.

use std::{fmt, sync::Arc};

use jiff::Timestamp;

/// The machine's clocks.
pub trait Time: Send + Sync {
    /// Nanoseconds since the machine started, counting the time it slept. Never goes back.
    fn boot_nanos(&self) -> i64;

    /// What the machine takes for the time of day. Used for nothing but to notice that it is wrong, and to judge a
    /// snapshot from disk before the control plane's time is known.
    fn wall(&self) -> Timestamp;
}

/// Where random bytes come from.
pub trait Entropy: Send + Sync {
    /// Eight random bytes.
    fn draw(&self) -> u64;
}

/// What a router takes from its machine.
#[derive(Clone)]
pub struct Ports {
    /// Its clocks.
    pub time: Arc<dyn Time>,
    /// Its chance.
    pub entropy: Arc<dyn Entropy>,
}

/// The operating system's clocks and randomness.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

// === impl Ports ===

impl Ports {
    /// The operating system's.
    #[must_use]
    pub fn system() -> Self {
        Self { time: Arc::new(System), entropy: Arc::new(System) }
    }
}

impl Default for Ports {
    fn default() -> Self {
        Self::system()
    }
}

impl fmt::Debug for Ports {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ports")
    }
}

// === impl System ===

impl Time for System {
    #[cfg(target_os = "linux")]
    fn boot_nanos(&self) -> i64 {
        // Not CLOCK_MONOTONIC: that stands still while the machine sleeps, and a lease does not.
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
    }

    #[cfg(not(target_os = "linux"))]
    fn boot_nanos(&self) -> i64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        now.tv_sec.saturating_mul(1_000_000_000).saturating_add(now.tv_nsec)
    }

    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that reads the time of day")]
    fn wall(&self) -> Timestamp {
        Timestamp::now()
    }
}

impl Entropy for System {
    #[expect(clippy::disallowed_methods, reason = "the one place of this crate that draws random bytes")]
    fn draw(&self) -> u64 {
        let mut bytes = [0; 8];
        // Without entropy a back-off is only less spread, and an idempotency key still carries the router and a count.
        if getrandom::fill(&mut bytes).is_err() {
            return self.boot_nanos().unsigned_abs();
        }
        u64::from_le_bytes(bytes)
    }
}
