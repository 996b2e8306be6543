//! The last steps of a scope's history: what open streams read from, and what a stream may be resumed in.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::{Digest, Revision};

/// Steps that are kept.
const STEPS: usize = 4096;

/// Bytes of entries that are kept.
const BYTES: usize = 32 << 20;

/// A head as it is sent.
#[derive(Clone, Debug)]
pub(crate) struct SignedHead {
    /// The envelope.
    pub(crate) bytes: Bytes,
    /// Its revision.
    pub(crate) revision: Revision,
    /// Its lease, or a later time.
    pub(crate) lease_until: Timestamp,
}

/// One step.
#[derive(Debug)]
pub(crate) enum Step {
    /// Some entries changed, or none.
    Delta(Delta),
    /// More changed than a message holds, or everything: only a snapshot leads across.
    Resync,
}

/// See [`Step::Delta`].
#[derive(Debug)]
pub(crate) struct Delta {
    pub(crate) from: Revision,
    pub(crate) to: Revision,
    pub(crate) entries: Vec<Bytes>,
    pub(crate) head: Option<SignedHead>,
}

/// The last steps, oldest first; numbered without a gap from the ring's making on.
pub(crate) struct Ring {
    steps: VecDeque<Kept>,
    /// Number of the first step that is kept.
    first: u64,
    bytes: usize,
    /// Where the first step starts.
    start: (Revision, Digest),
}

struct Kept {
    step: Arc<Step>,
    /// Where it leads.
    end: (Revision, Digest),
    bytes: usize,
}

/// The step asked for is no longer kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pruned;

// === impl Ring ===

impl Ring {
    pub(crate) const fn starting_at(start: (Revision, Digest)) -> Self {
        Self { steps: VecDeque::new(), first: 0, bytes: 0, start }
    }

    /// Adds a step that leads to `end`.
    pub(crate) fn push(&mut self, step: Step, end: (Revision, Digest)) {
        let bytes = match &step {
            Step::Delta(delta) => delta.entries.iter().map(Bytes::len).sum(),
            Step::Resync => 0,
        };
        self.steps.push_back(Kept { step: Arc::new(step), end, bytes });
        self.bytes += bytes;
        // The newest always stays: open streams have not seen it yet.
        while self.steps.len() > 1 && (self.steps.len() > STEPS || self.bytes > BYTES) {
            if let Some(oldest) = self.steps.pop_front() {
                self.start = oldest.end;
                self.first += 1;
                self.bytes -= oldest.bytes;
            }
        }
    }

    /// Number of the next step.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.steps.len() as u64
    }

    /// The step with that number; `Ok(None)` when it has not happened yet.
    pub(crate) fn get(&self, number: u64) -> Result<Option<Arc<Step>>, Pruned> {
        let at = number.checked_sub(self.first).ok_or(Pruned)?;
        Ok(self.steps.get(at as usize).map(|kept| Arc::clone(&kept.step)))
    }

    /// The steps from that number on, and how many bytes of entries they have.
    pub(crate) fn since(&self, number: u64) -> Result<(Vec<Arc<Step>>, usize), Pruned> {
        let at = number.checked_sub(self.first).ok_or(Pruned)?;
        let kept = self.steps.iter().skip(at as usize);
        Ok((kept.clone().map(|kept| Arc::clone(&kept.step)).collect(), kept.map(|kept| kept.bytes).sum()))
    }

    /// Number of the step that starts at `revision` with `root`; `None` when that is not in this history, or when only a
    /// snapshot leads from there to now.
    pub(crate) fn after(&self, revision: Revision, root: &[u8]) -> Option<u64> {
        let is = |end: &(Revision, Digest)| end.0 == revision && end.1.as_bytes()[..] == *root;
        // From the newest backward: a revision may stand for two contents only across a Resync.
        for (at, kept) in self.steps.iter().enumerate().rev() {
            if is(&kept.end) {
                return Some(self.first + at as u64 + 1);
            }
            if matches!(*kept.step, Step::Resync) {
                return None;
            }
        }
        is(&self.start).then_some(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(n: u64) -> Digest {
        Digest::of(&n.to_be_bytes())
    }

    fn delta(from: u64, size: usize) -> Step {
        let entries = vec![Bytes::from(vec![0; size])];
        Step::Delta(Delta { from: Revision(from), to: Revision(from + 1), entries, head: None })
    }

    fn ring(steps: u64, size: usize) -> Ring {
        let mut ring = Ring::starting_at((Revision(0), digest(0)));
        (0..steps).for_each(|n| ring.push(delta(n, size), (Revision(n + 1), digest(n + 1))));
        ring
    }

    #[test]
    fn steps_are_kept_up_to_a_count_and_up_to_a_size() {
        let many = ring(STEPS as u64 + 10, 1);
        assert_eq!(many.get(9).err(), Some(Pruned));
        assert!(many.get(10).is_ok_and(|step| step.is_some()));
        assert_eq!(many.next(), STEPS as u64 + 10);
        assert!(many.get(many.next()).is_ok_and(|step| step.is_none()));
        let large = ring(5, BYTES / 2);
        assert_eq!(large.get(2).err(), Some(Pruned));
        assert!(large.get(3).is_ok_and(|step| step.is_some()));
        let too_large = ring(3, BYTES + 1);
        assert!(too_large.get(2).is_ok_and(|step| step.is_some()), "the newest stays whatever its size");
    }

    #[test]
    fn history_goes_on_where_revision_and_root_are_ours() {
        let mut ring = ring(3, 1);
        let after = |ring: &Ring, revision: u64, root: u64| ring.after(Revision(revision), digest(root).as_bytes());
        assert_eq!(after(&ring, 0, 0), Some(0));
        assert_eq!(after(&ring, 3, 3), Some(3));
        assert_eq!(after(&ring, 2, 9), None, "another history");
        assert_eq!(after(&ring, 4, 4), None, "the future");
        assert_eq!(ring.after(Revision(3), b""), None, "no root");
        ring.push(Step::Resync, (Revision(4), digest(4)));
        assert_eq!(after(&ring, 3, 3), None, "only a snapshot leads across");
        assert_eq!(after(&ring, 4, 4), Some(4));
    }
}
