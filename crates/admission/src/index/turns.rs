//! Tells whether something was published while somebody looked.

use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Counts beginnings and ends of publishes: odd while one is under way. There is one at a time.
#[derive(Default)]
pub(super) struct Turns(AtomicU64);

/// A publish under way.
pub(super) struct Turn<'t>(&'t Turns);

// === impl Turns ===

impl Turns {
    /// Something is being published until the guard goes.
    pub(super) fn begin(&self) -> Turn<'_> {
        self.0.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        Turn(self)
    }

    /// What `look` finds, if nothing was being published from its beginning to its end.
    pub(super) fn undisturbed<T>(&self, look: impl FnOnce() -> T) -> Option<T> {
        let before = self.0.load(Ordering::SeqCst);
        if before % 2 == 1 {
            return None;
        }
        let found = look();
        fence(Ordering::SeqCst);
        (self.0.load(Ordering::SeqCst) == before).then_some(found)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_looks_while_something_is_published_is_told() {
        let turns = Turns::default();
        assert_eq!(turns.undisturbed(|| 1), Some(1));
        let turn = turns.begin();
        assert_eq!(turns.undisturbed(|| 1), None, "in the middle of it");
        drop(turn);
        assert_eq!(turns.undisturbed(|| 1), Some(1));
        assert_eq!(turns.undisturbed(|| drop(turns.begin())), None, "it came and went");
    }
}
