//! The streams that pass, by task: which are open, and which were closed by whoever read them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Streams on their way through.
#[derive(Default)]
pub(super) struct Streams {
    next: u64,
    open: BTreeMap<u64, Option<String>>,
    /// Open ones of a task of which another one was closed.
    fall: BTreeSet<u64>,
    /// Tasks whose last stream was closed before its end.
    abandoned: BTreeSet<String>,
    /// The updates of each task, each once.
    told: BTreeMap<String, Vec<Value>>,
}

/// Most tasks of which something is remembered.
const MAX_TASKS: usize = 1_000;
/// Most updates of one task that are remembered.
const MAX_UPDATES: usize = 100;

// === impl Streams ===

impl Streams {
    /// A stream begins.
    pub(super) fn begin(&mut self) -> u64 {
        self.next += 1;
        self.open.insert(self.next, None);
        self.next
    }

    /// A stream tells what task it is of.
    pub(super) fn is_of(&mut self, stream: u64, task: &str) {
        if let Some(known) = self.open.get_mut(&stream) {
            known.get_or_insert_with(|| task.to_owned());
        }
    }

    /// A stream brings an update.
    pub(super) fn tell(&mut self, task: &str, update: &Value) {
        if !self.told.contains_key(task) && self.told.len() >= MAX_TASKS {
            return;
        }
        let told = self.told.entry(task.to_owned()).or_default();
        if told.len() < MAX_UPDATES && !told.contains(update) {
            told.push(update.clone());
        }
    }

    /// What streams of a task have brought so far.
    pub(super) fn told(&self, task: &str) -> &[Value] {
        self.told.get(task).map_or(&[], Vec::as_slice)
    }

    /// A stream has come to its end.
    pub(super) fn end(&mut self, stream: u64) {
        self.open.remove(&stream);
        self.fall.remove(&stream);
    }

    /// A stream was closed by its reader before its end.
    pub(super) fn close(&mut self, stream: u64) {
        let Some(Some(task)) = self.open.remove(&stream) else { return };
        let others: Vec<u64> =
            self.open.iter().filter(|(_, of)| of.as_ref() == Some(&task)).map(|(other, _)| *other).collect();
        if others.is_empty() && self.abandoned.len() < MAX_TASKS {
            self.abandoned.insert(task);
        }
        self.fall.extend(others);
    }

    /// Whether another stream of the same task was closed while this one was open.
    pub(super) fn falls_with_another(&self, stream: u64) -> bool {
        self.fall.contains(&stream)
    }

    /// Whether the last stream of a task was closed before its end.
    pub(super) fn is_abandoned(&self, task: &str) -> bool {
        self.abandoned.contains(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_reader_abandons_a_task_and_others_fall_with_each_other() {
        let mut streams = Streams::default();
        let (a, b, c) = (streams.begin(), streams.begin(), streams.begin());
        streams.is_of(a, "t");
        streams.is_of(b, "t");
        streams.is_of(c, "other");
        streams.close(a);
        assert!(streams.falls_with_another(b) && !streams.falls_with_another(c));
        assert!(!streams.is_abandoned("t"));
        streams.close(b);
        assert!(streams.is_abandoned("t"));
        streams.end(c);
        assert!(!streams.is_abandoned("other"));
    }
}
