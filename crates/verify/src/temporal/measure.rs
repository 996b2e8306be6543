//! Spans of time between two moments of a tape, held against a promise.

use ostiary_record::{EventRef, Finding, MonoNanos, ReasonCode, Seq};

use crate::{answers, facts::Facts};

/// When something came about: not before `from`, and by `by`. The event shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) from: MonoNanos,
    pub(super) by: MonoNanos,
    pub(super) seq: Seq,
}

/// How long something took.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// At least so many nanoseconds.
    pub(super) least: u64,
    /// At most so many; `None` = it was not over when the last look was taken.
    pub(super) most: Option<u64>,
    /// The events that show it.
    pub(super) at: Vec<EventRef>,
}

/// A promise that is held against spans.
pub(super) struct Promise {
    /// The key of `temporal.yaml`.
    pub(super) key: &'static str,
    /// How long it may take.
    pub(super) millis: u64,
    /// What is measured, in words.
    pub(super) what: &'static str,
}

/// What a busy machine of ours may add to a time, in milliseconds, beside a twentieth of the promise.
const MARGIN_MILLIS: u64 = 50;

// === impl Moment ===

impl Moment {
    /// A moment that is known.
    pub(super) const fn exact(at: MonoNanos, seq: Seq) -> Self {
        Self { from: at, by: at, seq }
    }

    /// The span from an earlier moment to this one.
    pub(super) fn since(&self, earlier: &Self, at: Vec<EventRef>) -> Span {
        let least = self.from.0.saturating_sub(earlier.by.0);
        Span { least, most: Some(self.by.0.saturating_sub(earlier.from.0)), at }
    }
}

// === impl Span ===

impl Span {
    /// A span from a moment to what had not come when the last look was taken.
    pub(super) fn open(from: &Moment, until: MonoNanos, at: Vec<EventRef>) -> Self {
        Self { least: until.0.saturating_sub(from.by.0), most: None, at }
    }

    fn text(&self) -> String {
        match self.most {
            None => format!("more than {} ms", millis(self.least)),
            Some(most) if millis(most) == millis(self.least) => format!("{} ms", millis(most)),
            Some(most) => format!("{} to {} ms", millis(self.least), millis(most)),
        }
    }
}

// === impl Promise ===

impl Promise {
    const fn margin_millis(&self) -> u64 {
        MARGIN_MILLIS + self.millis / 20
    }

    /// Every span that is too long is a finding; a PASS needs all of them to be short enough.
    pub(super) fn judge(&self, facts: &Facts<'_>, spans: &[Span]) -> Vec<Finding> {
        let limit = (self.millis + self.margin_millis()).saturating_mul(1_000_000);
        let broken: Vec<Finding> =
            spans.iter().filter(|s| s.least > limit).map(|span| self.broken(facts, span)).collect();
        if !broken.is_empty() {
            return broken;
        }
        if let Some(unsure) = spans.iter().find(|s| s.most.is_none_or(|most| most > limit)) {
            let remedy = format!("{} took {}, where {} ms are promised", self.what, unsure.text(), self.millis);
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, self.what, remedy)];
        }
        let seen: Vec<EventRef> = spans.iter().flat_map(|s| s.at.iter().cloned()).collect();
        if seen.is_empty() {
            let remedy = "nothing was recorded that could be measured";
            return vec![facts.inconclusive(ReasonCode::ObservationIncomplete, self.what, remedy)];
        }
        vec![facts.pass(answers::some_of(seen))]
    }

    fn broken(&self, facts: &Facts<'_>, span: &Span) -> Finding {
        let Self { key, millis, what } = self;
        let margin = self.margin_millis();
        let expected = format!("{what} within {millis} ms (`{key}`; {margin} ms are left for our own measuring)");
        facts.fail(ReasonCode::DeadlineMissed, span.at.clone(), expected, span.text())
    }
}

pub(super) const fn millis(nanos: u64) -> u64 {
    nanos / 1_000_000
}
