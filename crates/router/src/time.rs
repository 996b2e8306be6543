//! What the control plane's clock says, as far as that can be known from here.
//!
//! A lease ends at an instant of the control plane's clock. An echo that left at `sent`, came back at `received` and says
//! `at` proves: when it came back, the control plane's clock had reached `at`, and was at most `at + (received - sent)`.
//! That range is carried on by this machine's boot clock, which may run a little fast or slow, so it widens with time.
//! Whoever must know that a lease is not over asks for the late end of it.

use jiff::{SignedDuration, Timestamp};

/// By how much two clocks may run apart: 500 parts in a million is the most that NTP lets a kernel slew.
const DRIFT_DIVISOR: i64 = 2_000;

/// The control plane's time at one instant of the boot clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    boot: i64,
    earliest: i64,
    latest: i64,
}

/// The control plane's time now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// It is not before this.
    pub earliest: Timestamp,
    /// It is not after this.
    pub latest: Timestamp,
}

/// One answered echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echoed {
    /// Boot clock when it was sent, nanoseconds.
    pub sent: i64,
    /// Boot clock when the answer came, nanoseconds.
    pub received: i64,
    /// What the control plane's clock said in between.
    pub at: Timestamp,
}

// === impl Bounds ===

impl Bounds {
    /// What one echo proves.
    #[must_use]
    pub fn of(echo: &Echoed) -> Self {
        let at = nanos(echo.at);
        let trip = widened(echo.received.saturating_sub(echo.sent).max(0));
        Self { boot: echo.received, earliest: at, latest: at.saturating_add(trip) }
    }

    /// Before any echo: the machine's own time of day, which may be off by `slack` either way.
    #[must_use]
    pub fn of_wall(wall: Timestamp, boot: i64, slack: SignedDuration) -> Self {
        let slack = i64::try_from(slack.as_nanos()).unwrap_or(i64::MAX);
        let wall = nanos(wall);
        Self { boot, earliest: wall.saturating_sub(slack), latest: wall.saturating_add(slack) }
    }

    /// What this and one more echo prove together.
    ///
    /// Where they contradict each other, the control plane's clock was set, or another replica answered: then both count,
    /// so that no lease of either clock seems younger than it is. Later echoes narrow it again.
    #[must_use]
    pub fn and(&self, echo: &Echoed) -> Self {
        let new = Self::of(echo);
        let old = self.carried(echo.received);
        let (earliest, latest) = (old.earliest.max(new.earliest), old.latest.min(new.latest));
        if earliest <= latest {
            return Self { boot: echo.received, earliest, latest };
        }
        Self { boot: echo.received, earliest: old.earliest.min(new.earliest), latest: old.latest.max(new.latest) }
    }

    /// What a statement of the control plane proves that it made at `at` and that is here at `boot`: its clock has reached
    /// that. Where an echo said otherwise, the echo was wrong.
    #[must_use]
    pub fn not_before(&self, at: Timestamp, boot: i64) -> Self {
        let (carried, at) = (self.carried(boot), nanos(at));
        if at <= carried.earliest {
            return *self;
        }
        Self { boot: boot.max(self.boot), earliest: at, latest: carried.latest.max(at) }
    }

    /// The range at `boot`; for an instant before the last echo the range of the echo.
    #[must_use]
    pub fn at(&self, boot: i64) -> Range {
        let carried = self.carried(boot);
        Range { earliest: timestamp(carried.earliest), latest: timestamp(carried.latest) }
    }

    /// The late end of the range at `boot`.
    #[must_use]
    pub fn latest(&self, boot: i64) -> Timestamp {
        let passed = boot.saturating_sub(self.boot).max(0);
        timestamp(self.latest.saturating_add(widened(passed)))
    }

    /// How wide the range is at `boot`.
    #[must_use]
    pub fn uncertainty(&self, boot: i64) -> SignedDuration {
        let carried = self.carried(boot);
        SignedDuration::from_nanos(carried.latest.saturating_sub(carried.earliest))
    }

    /// How far `wall`, read at `boot`, is outside the range; zero inside.
    #[must_use]
    pub fn skew(&self, wall: Timestamp, boot: i64) -> SignedDuration {
        let (carried, wall) = (self.carried(boot), nanos(wall));
        let before = carried.earliest.saturating_sub(wall).max(0);
        let after = wall.saturating_sub(carried.latest).max(0);
        SignedDuration::from_nanos(before.max(after))
    }

    fn carried(&self, boot: i64) -> Self {
        let passed = boot.saturating_sub(self.boot).max(0);
        Self {
            boot,
            earliest: self.earliest.saturating_add(passed - passed / DRIFT_DIVISOR),
            latest: self.latest.saturating_add(widened(passed)),
        }
    }
}

/// A stretch of this machine's clock at the most that it may be on another's; rounded up.
const fn widened(passed: i64) -> i64 {
    passed.saturating_add(passed / DRIFT_DIVISOR + 1)
}

/// Nanoseconds since 1970; instants beyond the years 1677 to 2262 become the nearest of them.
fn nanos(at: Timestamp) -> i64 {
    let whole = at.as_nanosecond();
    i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
}

fn timestamp(nanos: i64) -> Timestamp {
    // In 64 bits: a decision makes two of these, and a division of 128 bits costs more than the look-up.
    let (seconds, nanos) = (nanos.div_euclid(1_000_000_000), nanos.rem_euclid(1_000_000_000));
    Timestamp::new(seconds, i32::try_from(nanos).unwrap_or_default()).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn at(nanos: i64) -> Timestamp {
        timestamp(nanos)
    }

    #[test]
    fn an_echo_proves_its_round_trip() {
        let bounds = Bounds::of(&Echoed { sent: 0, received: SECOND, at: at(100 * SECOND) });
        let range = bounds.at(SECOND);
        assert_eq!(range.earliest, at(100 * SECOND));
        assert!(range.latest >= at(101 * SECOND) && range.latest < at(101 * SECOND + 1_000_000));
    }

    #[test]
    fn a_short_trip_narrows_what_a_long_one_left_open() {
        let long = Bounds::of(&Echoed { sent: 0, received: 2 * SECOND, at: at(100 * SECOND) });
        let both = long.and(&Echoed { sent: 3 * SECOND, received: 3 * SECOND + 1_000_000, at: at(102 * SECOND) });
        assert!(both.uncertainty(3 * SECOND + 1_000_000) <= SignedDuration::from_millis(2));
    }

    #[test]
    fn clocks_that_contradict_each_other_both_count() {
        let first = Bounds::of(&Echoed { sent: 0, received: 0, at: at(100 * SECOND) });
        let set_back = first.and(&Echoed { sent: SECOND, received: SECOND, at: at(90 * SECOND) });
        let range = set_back.at(SECOND);
        assert!(range.latest >= at(101 * SECOND), "a lease of the first clock is not prolonged");
        assert!(range.earliest <= at(90 * SECOND));
        let again = set_back.and(&Echoed { sent: 2 * SECOND, received: 2 * SECOND, at: at(91 * SECOND) });
        assert!(again.uncertainty(2 * SECOND) <= SignedDuration::from_millis(2), "the next echo narrows it again");
    }

    #[test]
    fn the_wall_is_measured_against_the_nearer_end() {
        let bounds = Bounds::of(&Echoed { sent: 0, received: 0, at: at(100 * SECOND) });
        assert_eq!(bounds.skew(at(100 * SECOND), 0), SignedDuration::ZERO);
        assert_eq!(bounds.skew(at(97 * SECOND), 0), SignedDuration::from_secs(3));
        assert!(bounds.skew(at(103 * SECOND), 0) > SignedDuration::from_millis(2_999));
    }

    /// One echo: how long before it leaves, and how long each way takes.
    fn echoes() -> impl Strategy<Value = Vec<(i64, i64, i64)>> {
        prop::collection::vec((0..20 * SECOND, 0..5 * SECOND, 0..5 * SECOND), 1..12)
    }

    proptest! {
        /// Whatever the delays, and however the clocks run within their tolerance, the true time lies in the range: a lease
        /// is never taken to live when it is over.
        #[test]
        fn the_true_time_is_never_after_the_late_end(
            delays in echoes(), ppm in -499_i64..=499, start in 0..1_000 * SECOND, later in 0..100 * SECOND,
        ) {
            // The control plane's clock is `start` when ours is 0, and runs `ppm` faster than ours.
            let truth = |boot: i64| start + boot + i64::try_from(i128::from(boot) * i128::from(ppm) / 1_000_000).unwrap();
            let (mut boot, mut bounds) = (0, None::<Bounds>);
            for (pause, there, back) in delays {
                let sent = boot + pause;
                let echo = Echoed { sent, received: sent + there + back, at: at(truth(sent + there)) };
                bounds = Some(bounds.map_or_else(|| Bounds::of(&echo), |known| known.and(&echo)));
                boot = echo.received;
                let range = bounds.unwrap().at(boot);
                prop_assert!(range.earliest <= at(truth(boot)) && at(truth(boot)) <= range.latest);
            }
            let range = bounds.unwrap().at(boot + later);
            prop_assert!(range.earliest <= at(truth(boot + later)) && at(truth(boot + later)) <= range.latest);
        }
    }
}
