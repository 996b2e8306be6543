//! A clock that tests set, ids that tests can foresee, and failpoints that tests arm.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicI64, AtomicU64, Ordering},
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    failpoint::{Crashed, Failpoint, Failpoints},
    ports::{Clock, Ids},
    sample,
};

/// A clock that stands still until it is moved.
#[derive(Debug, Default)]
pub struct SetClock {
    ahead: AtomicI64,
}

/// Counts.
#[derive(Debug, Default)]
pub struct CountedIds {
    given: AtomicU64,
}

/// Stops at one point, once.
#[derive(Debug, Default)]
pub struct ArmedFailpoints {
    armed: Mutex<Option<Failpoint>>,
}

// === impl SetClock ===

impl SetClock {
    /// Moves on.
    pub fn pass(&self, time: SignedDuration) {
        self.ahead.fetch_add(time.as_secs(), Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        sample::start() + SignedDuration::from_secs(self.ahead.load(Ordering::SeqCst))
    }
}

// === impl CountedIds ===

impl CountedIds {
    /// Counts on from `given`, as if so many were given out already.
    #[must_use]
    pub const fn from(given: u64) -> Self {
        Self { given: AtomicU64::new(given) }
    }

    fn count(&self) -> u64 {
        self.given.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl Ids for CountedIds {
    fn next(&self, kind: &'static str) -> String {
        format!("{kind}-{:06}", self.count())
    }

    fn secret(&self) -> String {
        format!("secret-{:06}", self.count())
    }
}

// === impl ArmedFailpoints ===

impl ArmedFailpoints {
    /// Stops the next time that `point` is passed.
    pub fn arm(&self, point: Failpoint) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(point);
    }

    /// Whether the armed point was passed.
    pub fn fired(&self) -> bool {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner).is_none()
    }
}

impl Failpoints for ArmedFailpoints {
    fn hit(&self, point: Failpoint) -> Result<(), Crashed> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        match *armed {
            Some(wanted) if wanted == point => {
                *armed = None;
                Err(Crashed(point))
            }
            _ => Ok(()),
        }
    }
}
