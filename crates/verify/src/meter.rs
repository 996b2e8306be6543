//! The run's budget, shared by all scenarios: calls, rate, time, and what answers take in memory. Real agents cost money,
//! and hostile ones must not cost hours.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use ostiary_record::{
    End, Event, Kind, MonoNanos, Tape,
    ports::{Carrier, CouldNotRun, Timer},
};

use crate::drive::Allowance;

mod weight;

/// Longest pause that we wait out; a candidate that wants more is not called again in this run.
const MAX_PAUSE: Duration = Duration::from_secs(30);
/// The pause when a candidate says 429 and no time.
const DEFAULT_PAUSE: Duration = Duration::from_secs(1);
/// Answers in a row that did not end in their time, none between them that did: after these the candidate is not called
/// again. As many as run beside each other can be unlucky together, twice.
const MAX_SILENT: u32 = 12;
/// Memory that every exchange may take; some ten times what one usually does.
const ORDINARY: u64 = 64 << 10;

/// Counts calls and spaces them.
pub(crate) struct Meter {
    allowance: Allowance,
    gap: u64,
    /// When the run's time is over, on the tapes' clock.
    over: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    calls: u32,
    next: u64,
    /// What the recordings take in memory, read and unread.
    weight: u64,
    /// Answers in a row that did not end in their time.
    silent: u32,
    impatient: bool,
}

// === impl Meter ===

impl Meter {
    /// A meter of what a run may cost that begins now.
    pub(crate) fn new(allowance: Allowance, now: MonoNanos) -> Self {
        let gap = 1_000_000_000_u64.checked_div(u64::from(allowance.rate_per_s)).unwrap_or(0);
        Self { allowance, gap, over: now.0.saturating_add(nanos(allowance.time)), state: Mutex::default() }
    }

    /// What the run may cost.
    pub(crate) const fn allowance(&self) -> &Allowance {
        &self.allowance
    }

    /// What is left of the run's time.
    pub(crate) fn left(&self, now: MonoNanos) -> Duration {
        Duration::from_nanos(self.over.saturating_sub(now.0))
    }

    /// What a run says whose time is over.
    pub(crate) fn time_over(&self) -> String {
        format!("the run's time of {} s (`budget.time_s`) is over", self.allowance.time.as_secs())
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

    /// Takes note of what a piece of an answer takes, and of how its exchange ended that has taken `so_far`.
    pub(crate) fn note(&self, event: &Event, carrier: Carrier, so_far: &mut u64) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = so_far.saturating_add(weight::of(&event.kind, carrier));
        // what an ordinary exchange takes is bounded by the number of calls
        state.weight = state.weight.saturating_add(now.saturating_sub((*so_far).max(ORDINARY)));
        *so_far = now;
        match &event.kind {
            Kind::Ended { how: End::Deadline, .. } => state.silent += 1,
            Kind::Ended { how: End::Complete, .. } => state.silent = 0,
            _ => {}
        }
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
            state.impatient = true;
        } else {
            state.next = state.next.max(now.0.saturating_add(nanos(asked)));
        }
    }

    fn reserve(&self, now: u64, target: &str) -> Result<u64, CouldNotRun> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.open(&state, now, target)?;
        state.calls += 1;
        let at = state.next.max(now);
        state.next = at.saturating_add(self.gap);
        Ok(at - now)
    }

    /// Whether another call may be made at all.
    fn open(&self, state: &State, now: u64, target: &str) -> Result<(), CouldNotRun> {
        let Allowance { calls, memory, answer, .. } = self.allowance;
        let target = target.to_owned();
        if state.impatient {
            let why = format!("it asked for more than {} s of patience", MAX_PAUSE.as_secs());
            return Err(CouldNotRun::RateLimited { target, why });
        }
        if state.silent >= MAX_SILENT {
            let why = format!("{MAX_SILENT} answers in a row did not end within {} s each", answer.as_secs());
            return Err(CouldNotRun::Unresponsive { target, why });
        }
        if state.weight >= memory {
            let what = format!("answers take more than {} MiB of memory (`budget.memory_mib`)", memory >> 20);
            return Err(CouldNotRun::Bound { what });
        }
        if now >= self.over {
            return Err(CouldNotRun::Bound { what: self.time_over() });
        }
        if state.calls >= calls { Err(CouldNotRun::Budget { calls }) } else { Ok(()) }
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
