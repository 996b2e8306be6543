//! What faults make of the bytes of one answer. Pure: it says what to wait, pass and break; others do it.

use std::time::Duration;

use bytes::Bytes;
use ostiary_record::{Fault, Point, fault::Draw};

/// The bytes of one answer on their way.
pub(crate) struct Shaper {
    jitter: Option<(Fault, u64)>,
    rate: Option<(Fault, u64)>,
    end: Option<(Fault, u64)>,
    draw: Draw,
    held: Bytes,
    passed: u64,
    jittered: bool,
    paced: bool,
    broken: bool,
}

/// What is to be done next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Wait, because of a fault.
    Wait(Duration, Fault),
    /// Pass these bytes on.
    Pass(Bytes),
    /// End the exchange this way; nothing follows.
    Break(Fault),
}

/// Slices a second that a limited rate is kept in: fine enough to look like a slow line.
const SLICES: u64 = 20;

// === impl Shaper ===

impl Shaper {
    pub(super) fn new(faults: &[Fault], draw: Draw) -> Self {
        let jitter = faults.iter().find_map(|f| match f {
            Fault::Jitter { up_to_millis } => Some((*f, *up_to_millis)),
            _ => None,
        });
        let rates = faults.iter().filter_map(|f| match f {
            Fault::Bandwidth { bytes_per_second } => Some((*f, (*bytes_per_second).max(1))),
            _ => None,
        });
        let ends = faults.iter().filter_map(|f| match f.ends_at() {
            Some(Point::AfterBytes(n)) => Some((*f, n)),
            _ => None,
        });
        let (rate, end) = (rates.min_by_key(|(_, rate)| *rate), ends.min_by_key(|(_, n)| *n));
        let (held, passed) = (Bytes::new(), 0);
        Self { jitter, rate, end, draw, held, passed, jittered: false, paced: false, broken: false }
    }

    /// Bytes that passed.
    pub(crate) const fn passed(&self) -> u64 {
        self.passed
    }

    /// Takes the next piece of the answer; the one before must be used up.
    pub(crate) fn feed(&mut self, piece: Bytes) {
        self.held = piece;
        self.jittered = false;
        self.paced = false;
    }

    /// What to do next; `None` = another piece is wanted.
    pub(crate) fn next(&mut self) -> Option<Act> {
        if self.broken {
            return None;
        }
        if let Some((fault, after)) = self.end
            && self.passed >= after
        {
            self.broken = true;
            return Some(Act::Break(fault));
        }
        if self.held.is_empty() {
            return None;
        }
        if let Some((fault, up_to)) = self.jitter
            && !std::mem::replace(&mut self.jittered, true)
        {
            let millis = self.draw.below(up_to.saturating_add(1));
            return Some(Act::Wait(Duration::from_millis(millis), fault));
        }
        let slice = self.slice();
        if let Some((fault, rate)) = self.rate
            && !std::mem::replace(&mut self.paced, true)
        {
            let nanos = u128::from(slice) * 1_000_000_000 / u128::from(rate);
            return Some(Act::Wait(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)), fault));
        }
        self.paced = false;
        self.passed += slice;
        let slice = usize::try_from(slice).unwrap_or(usize::MAX).min(self.held.len());
        Some(Act::Pass(self.held.split_to(slice)))
    }

    /// How many of the held bytes go at once.
    fn slice(&self) -> u64 {
        let held = self.held.len() as u64;
        let by_rate = self.rate.map_or(held, |(_, rate)| (rate / SLICES).max(1));
        let by_end = self.end.map_or(held, |(_, after)| after - self.passed);
        held.min(by_rate).min(by_end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn acts(faults: &[Fault], pieces: &[&'static str]) -> Vec<Act> {
        let mut shaper = Shaper::new(faults, Draw::new(3, 1));
        let mut acts: Vec<_> = std::iter::from_fn(|| shaper.next()).collect();
        for piece in pieces {
            shaper.feed(Bytes::from_static(piece.as_bytes()));
            acts.extend(std::iter::from_fn(|| shaper.next()));
        }
        acts
    }

    fn pass(text: &'static str) -> Act {
        Act::Pass(Bytes::from_static(text.as_bytes()))
    }

    #[test]
    fn without_faults_pieces_pass_as_they_come() {
        assert_eq!(acts(&[], &["ab", "c"]), [pass("ab"), pass("c")]);
    }

    #[test]
    fn an_answer_breaks_at_its_byte_whatever_its_pieces() {
        let fault = Fault::Partial { at: Point::AfterBytes(3) };
        assert_eq!(acts(&[fault], &["abcdef"]), [pass("abc"), Act::Break(fault)]);
        assert_eq!(acts(&[fault], &["ab", "cd", "e"]), [pass("ab"), pass("c"), Act::Break(fault)]);
        assert_eq!(acts(&[fault], &["ab"]), [pass("ab")]);
        let at_once = Fault::Stall { at: Point::AfterBytes(0) };
        assert_eq!(acts(&[at_once], &["ab"]), [Act::Break(at_once)]);
    }

    #[test]
    fn of_two_ends_the_earlier_holds() {
        let (early, late) = (Fault::Reset { at: Point::AfterBytes(1) }, Fault::Partial { at: Point::AfterBytes(2) });
        assert_eq!(acts(&[late, early], &["abc"]), [pass("a"), Act::Break(early)]);
    }

    #[test]
    fn a_rate_is_kept_in_slices() {
        let fault = Fault::Bandwidth { bytes_per_second: 40 };
        let wait = Act::Wait(Duration::from_millis(50), fault);
        assert_eq!(acts(&[fault], &["abcd"]), [wait.clone(), pass("ab"), wait, pass("cd")]);
        let total = |len: usize| -> Duration {
            let mut shaper = Shaper::new(&[fault], Draw::new(0, 1));
            shaper.feed(Bytes::from(vec![0; len]));
            let waits = std::iter::from_fn(|| shaper.next());
            waits.map(|act| if let Act::Wait(time, _) = act { time } else { Duration::ZERO }).sum()
        };
        assert_eq!(total(400), Duration::from_secs(10));
    }

    #[test]
    fn jitter_follows_from_the_seed_and_keeps_its_bound() {
        let fault = Fault::Jitter { up_to_millis: 9 };
        let waits = |seed: u64| -> Vec<Duration> {
            let mut shaper = Shaper::new(&[fault], Draw::new(seed, 1));
            (0..50)
                .map(|_| {
                    shaper.feed(Bytes::from_static(b"x"));
                    let Some(Act::Wait(time, _)) = shaper.next() else { panic!("no wait") };
                    assert_eq!(shaper.next(), Some(pass("x")));
                    time
                })
                .collect()
        };
        assert_eq!(waits(1), waits(1));
        assert_ne!(waits(1), waits(2));
        assert!(waits(1).iter().all(|time| *time <= Duration::from_millis(9)));
        assert!(waits(1).iter().any(|time| *time > Duration::from_millis(6)));
    }
}
