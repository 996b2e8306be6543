//! The one place that reads randomness from the operating system: ids, lease tokens, the seed of a signing key.

use std::sync::{Mutex, PoisonError};

use ostiary_canon::Digest;

/// Gives random bytes. The system's in production, a counted stream in tests.
pub trait Entropy: Send + Sync {
    /// Fills `bytes`.
    fn fill(&self, bytes: &mut [u8]);
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

/// The same bytes for the same seed, call by call: tests can name what will come.
#[derive(Debug)]
pub struct SeededEntropy {
    state: Mutex<(Digest, u64)>,
}

// === impl SystemEntropy ===

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the one entropy port")]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system has a random generator, or no key of ours is safe");
    }
}

// === impl SeededEntropy ===

impl SeededEntropy {
    /// A stream that depends on `seed` only. Never for keys that leave a test.
    #[must_use]
    pub fn new(seed: &str) -> Self {
        Self { state: Mutex::new((Digest::of(seed.as_bytes()), 0)) }
    }
}

impl Entropy for SeededEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for chunk in bytes.chunks_mut(32) {
            state.1 += 1;
            let block = Digest::of(format!("{}:{}", state.0, state.1).as_bytes());
            chunk.copy_from_slice(&block.as_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn draw(entropy: &dyn Entropy) -> [u8; 40] {
        let mut bytes = [0; 40];
        entropy.fill(&mut bytes);
        bytes
    }

    #[test]
    fn seeded_stream_repeats_by_seed_and_not_within() {
        let (a, b) = (SeededEntropy::new("x"), SeededEntropy::new("x"));
        let first = draw(&a);
        assert_eq!(first, draw(&b));
        assert_ne!(first, draw(&a));
        assert_ne!(first, draw(&SeededEntropy::new("y")));
    }

    #[test]
    fn system_does_not_repeat() {
        assert_ne!(draw(&SystemEntropy), draw(&SystemEntropy));
    }
}
