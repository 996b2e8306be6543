//! A bell inside one process: whoever commits rings it, whoever waits for something new looks again.
//!
//! Only a hint. Whoever waits also looks now and then by itself, because other replicas do not ring here.

use std::{sync::Arc, time::Duration};

use tokio::sync::watch;

/// The bell; clones ring the same one.
#[derive(Clone, Debug)]
pub struct Wake(Arc<watch::Sender<u64>>);

/// One who waits for the bell; a ring between two waits is not lost.
#[derive(Debug)]
pub struct Waiter(watch::Receiver<u64>);

// === impl Wake ===

impl Wake {
    /// Rings.
    pub fn ring(&self) {
        self.0.send_modify(|rings| *rings = rings.wrapping_add(1));
    }

    /// Somebody new who waits; hears rings from now on.
    #[must_use]
    pub fn waiter(&self) -> Waiter {
        Waiter(self.0.subscribe())
    }
}

impl Default for Wake {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

// === impl Waiter ===

impl Waiter {
    /// Returns at the next ring, or after `at_most`.
    pub async fn wait(&mut self, at_most: Duration) {
        // Neither an elapsed time nor a bell that is gone is an error: both mean "look again".
        let _ = tokio::time::timeout(at_most, self.0.changed()).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ring_between_two_waits_is_not_lost() {
        let wake = Wake::default();
        let mut waiter = wake.waiter();
        wake.ring();
        let heard = tokio::time::timeout(Duration::from_secs(5), waiter.wait(Duration::from_secs(60))).await;
        assert!(heard.is_ok());
    }
}
