//! The domain's ports towards the machine: clock, ids, signature.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use jiff::Timestamp;
use ostiary_canon::dsse::SigningKey;
use ostiary_domain::{Clock, Ids, Signer, ports::SignError};

use crate::entropy::Entropy;

/// The system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

/// A clock that stands still until it is moved; for tests.
#[derive(Debug)]
pub struct ManualClock(Mutex<Timestamp>);

/// Ids and secrets from an entropy source.
pub struct EntropyIds {
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
}

/// Signs with a key in memory.
#[derive(Debug)]
pub struct KeySigner(SigningKey);

// === impl SystemClock ===

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock port's one implementation")]
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

// === impl ManualClock ===

impl ManualClock {
    /// A clock at `start`.
    #[must_use]
    pub const fn new(start: Timestamp) -> Self {
        Self(Mutex::new(start))
    }

    /// Moves on.
    pub fn advance(&self, by: jiff::SignedDuration) {
        let mut now = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *now = now.saturating_add(by).unwrap_or(*now);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl EntropyIds ===

impl EntropyIds {
    /// Ids that sort by `clock` and differ by `entropy`.
    #[must_use]
    pub fn new(clock: Arc<dyn Clock>, entropy: Arc<dyn Entropy>) -> Self {
        Self { clock, entropy }
    }
}

impl std::fmt::Debug for EntropyIds {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("EntropyIds")
    }
}

impl Ids for EntropyIds {
    fn next(&self, kind: &'static str) -> String {
        let mut random = [0; 16];
        self.entropy.fill(&mut random);
        let millis = u64::try_from(self.clock.now().as_millisecond()).unwrap_or(0);
        let id = ulid::Ulid::from_parts(millis, u128::from_be_bytes(random));
        format!("{kind}-{}", id.to_string().to_ascii_lowercase())
    }

    fn secret(&self) -> String {
        let mut random = [0; 32];
        self.entropy.fill(&mut random);
        hex::encode(random)
    }
}

// === impl KeySigner ===

impl KeySigner {
    /// Signs with `key`.
    #[must_use]
    pub const fn new(key: SigningKey) -> Self {
        Self(key)
    }
}

impl Signer for KeySigner {
    fn sign(&self, payload_type: &str, payload: &[u8]) -> Result<Bytes, SignError> {
        Ok(Bytes::from(self.0.sign(payload_type, payload).to_json()))
    }

    fn sign_bytes(&self, message: &[u8]) -> Result<[u8; 64], SignError> {
        Ok(self.0.sign_bytes(message))
    }

    fn key_id(&self) -> String {
        self.0.key_id().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entropy::SeededEntropy;

    #[test]
    fn ids_sort_by_time_and_carry_their_kind() {
        let clock = Arc::new(ManualClock::new(Timestamp::UNIX_EPOCH));
        let ids = EntropyIds::new(Arc::clone(&clock) as Arc<dyn Clock>, Arc::new(SeededEntropy::new("ids")));
        let first = ids.next("hold");
        clock.advance(jiff::SignedDuration::from_secs(1));
        let second = ids.next("hold");
        assert!(first.starts_with("hold-") && first < second, "{first} {second}");
        assert_ne!(ids.secret(), ids.secret());
    }

    #[test]
    fn what_is_signed_verifies_and_keeps_its_bytes() {
        use ostiary_canon::dsse::{Envelope, Keyring};
        let key = SigningKey::from_seed([7; 32]);
        let ring = Keyring::trusting([key.verifying_key()]);
        let envelope = KeySigner::new(key).sign("text/plain", b"bytes").expect("signs");
        let verified = ring.verify(&Envelope::parse(&envelope).expect("an envelope")).expect("verifies");
        assert_eq!(verified.payload(), b"bytes");
    }
}
