//! The run's call budget and rate, shared by all scenarios: real agents cost money.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ostiary_record::{
    MonoNanos, Tape,
    ports::{CouldNotRun, Timer},
};

/// Longest pause that we wait out; a candidate that wants more is not called again in this run.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The pause when a candidate says 429 and no time.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);

/// Counts calls and spaces them.
pub(crate) struct Meter {
    limit: u32,
    gap: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: u32,
    next: u64,
    shut: bool,
}

// === impl Meter ===

impl Meter {
    /// A meter of `limit` calls, at most `rate_per_s` of them a second (0 = no limit of rate).
    pub(crate) fn new(limit: u32, rate_per_s: u32) -> Self {
        let gap = 1_000_000_000_u64.checked_div(u64::from(rate_per_s)).unwrap_or(0);
        Self { limit, gap, state: Mutex::default() }
    }

    /// Counts one call and waits until it may be made.
    pub(crate) async fn admit(&self, tape: &Tape, timer: &dyn Timer, target: &str) -> Result<(), CouldNotRun> {
        let now = tape.now().0;
        let wait = self.reserve(now, target)?;
        if wait > 0 {
            timer.wait(Duration::from_nanos(wait)).await;
        }
        Ok(())
    }

    /// Keeps everybody from calling for as long as the candidate asks.
    pub(crate) fn pause(&self, now: MonoNanos, retry_after: Option<&str>) {
        let asked = match retry_after {
            None => DEFAULT_PAUSE,
            // a date is not read: the candidate's clock is not ours, and its wish is long in any case
            Some(text) => text.trim().parse().map_or(Duration::MAX, Duration::from_secs),
        };
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if asked > MAX_PAUSE {
            state.shut = true;
        } else {
            let nanos = u64::try_from(asked.as_nanos()).unwrap_or(u64::MAX);
            state.next = state.next.max(now.0.saturating_add(nanos));
        }
    }

    fn reserve(&self, now: u64, target: &str) -> Result<u64, CouldNotRun> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.shut {
            let why = format!("it asked for more than {} s of patience", MAX_PAUSE.as_secs());
            return Err(CouldNotRun::RateLimited { target: target.to_owned(), why });
        }
        if state.calls >= self.limit {
            return Err(CouldNotRun::Budget { calls: self.limit });
        }
        state.calls += 1;
        let at = state.next.max(now);
        state.next = at.saturating_add(self.gap);
        Ok(at - now)
    }
}
