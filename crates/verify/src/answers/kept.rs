//! Answers that were read once for all checks of a judgement: dozens of checks read the same recordings.

use std::sync::{Arc, OnceLock};

use ostiary_protocol::a2a::{Binding, Reply, codec};
use ostiary_record::{Kind, Recording, Run};

/// The answers of each recording of a run, by its place, once somebody has asked for them.
pub(crate) struct Kept(Vec<OnceLock<Answers>>);

/// The answers in the order of their requests.
pub(crate) type Answers = Arc<[Option<Arc<Reply>>]>;

/// Recordings with more bytes of answers are read anew each time: a stored run may be larger than what may be held.
const MOST_BYTES: usize = 4 << 20;

// === impl Kept ===

impl Kept {
    /// Nothing read yet.
    pub(crate) fn of(run: &Run) -> Self {
        Self(run.recordings.iter().map(|_| OnceLock::new()).collect())
    }

    /// The answers of the recording at a place; `None` stands for an exchange whose binding has no codec.
    pub(crate) fn answers(&self, index: u32, recording: &Recording, binding: &Binding) -> Answers {
        let place = usize::try_from(index).ok().and_then(|n| self.0.get(n)).filter(|_| bytes(recording) <= MOST_BYTES);
        match place {
            Some(kept) => Arc::clone(kept.get_or_init(|| read(recording, binding))),
            None => read(recording, binding),
        }
    }
}

fn read(recording: &Recording, binding: &Binding) -> Answers {
    recording.exchanges().iter().map(|exchange| codec::read(binding, exchange).ok().map(Arc::new)).collect()
}

fn bytes(recording: &Recording) -> usize {
    let frame = |kind: &Kind| if let Kind::Frame { bytes, .. } = kind { bytes.as_bytes().len() } else { 0 };
    recording.events.iter().map(|event| frame(&event.kind)).sum()
}
