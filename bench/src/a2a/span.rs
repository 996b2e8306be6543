//! When something was under way, and when everything only waited on purpose.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use ostiary_record::{
    ExchangeId, Kind, Monotonic, Run,
    ports::{BoxFuture, Timer},
};

/// From when to when, in nanoseconds of one clock.
pub(super) type Span = (u64, u64);

/// A timer that remembers which waits came to their end. One that is given up is a bound and no wait.
pub(super) struct Logged {
    timer: Arc<dyn Timer>,
    clock: Arc<dyn Monotonic>,
    waits: Arc<Mutex<Vec<Span>>>,
}

// === impl Logged ===

impl Logged {
    pub(super) fn new(timer: Arc<dyn Timer>, clock: Arc<dyn Monotonic>) -> Self {
        Self { timer, clock, waits: Arc::default() }
    }

    /// The waits so far.
    pub(super) fn waits(&self) -> Vec<Span> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Timer for Logged {
    fn wait(&self, duration: Duration) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let from = self.clock.now().0;
            self.timer.wait(duration).await;
            let until = self.clock.now().0;
            self.waits.lock().unwrap_or_else(PoisonError::into_inner).push((from, until));
        })
    }
}

/// The exchanges of a run.
pub(super) fn exchanges(run: &Run) -> Vec<Span> {
    let mut out = Vec::new();
    for recording in &run.recordings {
        let mut sent = BTreeMap::<ExchangeId, u64>::new();
        for event in &recording.events {
            match &event.kind {
                Kind::Sent { x, .. } => drop(sent.insert(*x, event.at.0)),
                Kind::Ended { x, .. } => out.extend(sent.remove(x).map(|from| (from, event.at.0))),
                _ => {}
            }
        }
    }
    out
}

/// Nanoseconds in which something waited and no exchange was under way.
pub(super) fn idle(exchanges: &[Span], waits: &[Span]) -> u64 {
    let busy = union(exchanges.to_vec());
    union(waits.to_vec())
        .iter()
        .map(|wait| wait.1 - wait.0 - busy.iter().map(|b| overlap(*wait, *b)).sum::<u64>())
        .sum()
}

fn overlap(a: Span, b: Span) -> u64 {
    a.1.min(b.1).saturating_sub(a.0.max(b.0))
}

/// The same time in spans that do not touch.
fn union(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_unstable();
    let mut out: Vec<Span> = Vec::new();
    for span in spans {
        match out.last_mut() {
            Some(last) if span.0 <= last.1 => last.1 = last.1.max(span.1),
            _ => out.push(span),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_time_in_which_nothing_else_happens_is_idle() {
        assert_eq!(idle(&[], &[(10, 20), (15, 30)]), 20);
        assert_eq!(idle(&[(0, 12), (28, 40)], &[(10, 30)]), 16);
        assert_eq!(idle(&[(0, 100)], &[(10, 30)]), 0);
        assert_eq!(idle(&[(11, 12), (13, 14)], &[]), 0);
    }
}
