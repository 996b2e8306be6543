//! Windows on a tape: what every observer has in common.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use ostiary_record::{Event, Kind, Label, Seq, Source, Tape, event::ObserverId, ports::CouldNotRun};
use serde_json::Value;

/// What an observer kept at the beginning of windows that are still open. One observer may watch for several tapes.
pub(crate) struct Marks<T> {
    observer: &'static str,
    kept: Mutex<Kept<T>>,
}

struct Kept<T> {
    last: u64,
    windows: BTreeMap<u64, (Seq, T)>,
}

/// Windows that are open at the same time; beyond them the oldest is forgotten, and looking back to it is an error.
const OPEN: usize = 64;

// === impl Marks ===

impl<T: Clone> Marks<T> {
    pub(crate) const fn new(observer: &'static str) -> Self {
        Self { observer, kept: Mutex::new(Kept { last: 0, windows: BTreeMap::new() }) }
    }

    /// Opens a window and keeps what will be compared with.
    pub(crate) fn open(&self, tape: &Tape, before: T) -> u64 {
        let from = self.write_mark(tape, "begin");
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.last += 1;
        let mark = kept.last;
        kept.windows.insert(mark, (from, before));
        if kept.windows.len() > OPEN {
            kept.windows.pop_first();
        }
        mark
    }

    /// What was kept; the window stays open, so that it can be looked at again.
    pub(crate) fn before(&self, mark: u64) -> Result<(Seq, T), CouldNotRun> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let forgotten = || CouldNotRun::Internal(format!("the observer {} knows no window {mark}", self.observer));
        kept.windows.get(&mark).cloned().ok_or_else(forgotten)
    }

    /// Writes what was seen since the beginning of a window.
    pub(crate) fn write(&self, tape: &Tape, from: Seq, effects: Value, complete: bool) -> Event {
        let to = self.write_mark(tape, "since");
        tape.push(self.source(), Kind::Observed { window: (from, to), effects, complete })
    }

    fn write_mark(&self, tape: &Tape, value: &str) -> Seq {
        let label = Label(format!("observer:{}", self.observer));
        tape.push(self.source(), Kind::Mark { label, value: Some(value.to_owned()) }).seq
    }

    fn source(&self) -> Source {
        Source::Observer(ObserverId(self.observer.to_owned()))
    }
}
