//! Time that only a test moves: the control plane and the router read the same, unless the test says otherwise.

use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use jiff::{SignedDuration, Timestamp};
use ostiary_router::Time;

pub const SECOND: i64 = 1_000_000_000;

#[derive(Clone, Debug, Default)]
pub struct TestTime {
    boot: Arc<AtomicI64>,
    wall_off: Arc<AtomicI64>,
    /// The machine's own time, for what runs in another process.
    real: bool,
}

// === impl TestTime ===

impl TestTime {
    pub fn advance(&self, seconds: i64) {
        self.boot.fetch_add(seconds * SECOND, Ordering::SeqCst);
    }

    /// This machine's time of day is off by so much from now on.
    pub fn step_wall(&self, seconds: i64) {
        self.wall_off.store(seconds * SECOND, Ordering::SeqCst);
    }

    pub fn real() -> Self {
        Self { real: true, ..Self::default() }
    }

    #[expect(clippy::disallowed_methods, reason = "another process reads the machine's clock too")]
    pub fn truth(&self) -> Timestamp {
        if self.real {
            return Timestamp::now();
        }
        Timestamp::from_second(1_767_225_600).unwrap() + SignedDuration::from_nanos(self.boot_nanos())
    }
}

impl Time for TestTime {
    fn boot_nanos(&self) -> i64 {
        self.boot.load(Ordering::SeqCst)
    }

    fn wall(&self) -> Timestamp {
        self.truth() + SignedDuration::from_nanos(self.wall_off.load(Ordering::SeqCst))
    }
}

impl ostiary_pdp::Clock for TestTime {
    fn now(&self) -> Timestamp {
        self.truth()
    }
}
