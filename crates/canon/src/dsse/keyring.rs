//! Which keys are believed, and the one way to a verified payload.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Envelope, KeyId, VerifyingKey, pae};

/// The keys that are believed, and those that no longer are.
#[derive(Clone, Debug, Default)]
pub struct Keyring {
    trusted: BTreeMap<KeyId, VerifyingKey>,
    revoked: BTreeMap<KeyId, (VerifyingKey, Timestamp)>,
}

/// A payload that enough trusted keys signed. Only a [`Keyring`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    payload: Vec<u8>,
    payload_type: String,
    keys: Vec<KeyId>,
}

/// Why an envelope is not believed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DsseError {
    /// There is no signature: none was made, or somebody took it away.
    #[error("the envelope carries no signature")]
    Stripped,
    /// A signature in a known key's name that this key did not make over this payload.
    #[error("the signature of key {0} does not belong to this payload")]
    Tampered(KeyId),
    /// A good signature, by a key that is no longer believed.
    #[error("key {key} was revoked at {since}")]
    Revoked {
        /// The key.
        key: KeyId,
        /// When it was revoked.
        since: Timestamp,
    },
    /// All signatures are by keys that nobody told us about.
    #[error("signed only by unknown keys: {}", joined(.0))]
    UnknownKey(Vec<KeyId>),
    /// Good signatures, but too few different keys.
    #[error("{found} trusted keys signed, {needed} are needed")]
    TooFewKeys {
        /// How many different trusted keys signed.
        found: usize,
        /// How many are needed.
        needed: usize,
    },
}

// === impl Keyring ===

impl Keyring {
    /// Believes `keys`.
    pub fn trusting(keys: impl IntoIterator<Item = VerifyingKey>) -> Self {
        let mut ring = Self::default();
        keys.into_iter().for_each(|key| ring.trust(key));
        ring
    }

    /// Believes `key`, unless it was revoked: a revocation is never taken back.
    pub fn trust(&mut self, key: VerifyingKey) {
        if !self.revoked.contains_key(&key.key_id()) {
            self.trusted.insert(key.key_id(), key);
        }
    }

    /// No longer believes `key` for what is recorded at or after `since`; the earliest revocation counts.
    pub fn revoke(&mut self, key: VerifyingKey, since: Timestamp) {
        let id = key.key_id();
        self.trusted.remove(&id);
        let entry = self.revoked.entry(id).or_insert((key, since));
        entry.1 = entry.1.min(since);
    }

    /// The keys that are believed, in the order of their ids.
    pub fn trusted(&self) -> impl Iterator<Item = &VerifyingKey> {
        self.trusted.values()
    }

    /// Whether `key` was revoked.
    #[must_use]
    pub fn is_revoked(&self, key: &KeyId) -> bool {
        self.revoked.contains_key(key)
    }

    /// Verifies new evidence: at least one trusted key signed it. A revoked key counts for nothing.
    ///
    /// # Errors
    /// Says which of stripped, tampered, revoked or unknown it is.
    pub fn verify(&self, envelope: &Envelope) -> Result<Verified, DsseError> {
        self.verify_threshold(envelope, 1)
    }

    /// As [`Keyring::verify`], but `needed` different trusted keys must have signed (at least one).
    ///
    /// # Errors
    /// As [`Keyring::verify`]; also when too few keys signed.
    pub fn verify_threshold(&self, envelope: &Envelope, needed: usize) -> Result<Verified, DsseError> {
        self.judge(envelope, needed, None)
    }

    /// Verifies evidence that our audit log recorded at `recorded`: a key revoked only later still counts.
    ///
    /// # Errors
    /// As [`Keyring::verify`].
    pub fn verify_recorded(&self, envelope: &Envelope, recorded: Timestamp) -> Result<Verified, DsseError> {
        self.judge(envelope, 1, Some(recorded))
    }

    fn judge(&self, envelope: &Envelope, needed: usize, recorded: Option<Timestamp>) -> Result<Verified, DsseError> {
        if envelope.signatures.is_empty() {
            return Err(DsseError::Stripped);
        }
        let signed = pae(&envelope.payload_type, &envelope.payload);
        let mut good = BTreeSet::new();
        let (mut tampered, mut revoked, mut unknown) = (None, None, BTreeSet::new());
        for signature in &envelope.signatures {
            let id = signature.keyid;
            let (key, since) = match (self.trusted.get(&id), self.revoked.get(&id)) {
                (Some(key), _) => (key, None),
                (None, Some((key, since))) => (key, Some(*since)),
                (None, None) => {
                    unknown.insert(id);
                    continue;
                }
            };
            let counts = since.is_none_or(|since| recorded.is_some_and(|recorded| recorded < since));
            match (key.verifies(&signed, &signature.sig), counts, since) {
                (false, ..) => tampered = tampered.or(Some(id)),
                (true, false, Some(since)) => revoked = revoked.or(Some(DsseError::Revoked { key: id, since })),
                // A set: one key that signs twice is one key.
                (true, ..) => _ = good.insert(id),
            }
        }
        let needed = needed.max(1);
        if good.len() >= needed {
            return Ok(Verified {
                payload: envelope.payload.clone(),
                payload_type: envelope.payload_type.clone(),
                keys: good.into_iter().collect(),
            });
        }
        Err(match (tampered, revoked, good.len()) {
            (Some(id), ..) => DsseError::Tampered(id),
            (None, Some(revoked), _) => revoked,
            (None, None, 0) => DsseError::UnknownKey(unknown.into_iter().collect()),
            (None, None, found) => DsseError::TooFewKeys { found, needed },
        })
    }
}

// === impl Verified ===

impl Verified {
    /// The payload as it was signed.
    #[must_use]
    pub fn payload(&self) -> &[u8] {
        &self.payload
    }

    /// The payload's type, which was signed with it.
    #[must_use]
    pub fn payload_type(&self) -> &str {
        &self.payload_type
    }

    /// The different trusted keys that signed, in the order of their ids.
    #[must_use]
    pub fn keys(&self) -> &[KeyId] {
        &self.keys
    }
}

fn joined(ids: &[KeyId]) -> String {
    ids.iter().map(KeyId::hex).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsse::{Signature, SigningKey};

    const TYPE: &str = "application/vnd.in-toto+json";

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed([seed; 32])
    }

    fn ring() -> Keyring {
        Keyring::trusting([key(1).verifying_key(), key(2).verifying_key()])
    }

    fn at(text: &str) -> Timestamp {
        text.parse().unwrap()
    }

    #[test]
    fn what_a_trusted_key_signed_is_verified() {
        let verified = ring().verify(&key(1).sign(TYPE, *b"{}")).unwrap();
        assert_eq!((verified.payload(), verified.payload_type()), (&b"{}"[..], TYPE));
        assert_eq!(verified.keys(), [key(1).key_id()]);
    }

    #[test]
    fn stripped_tampered_unknown_and_revoked_are_told_apart() {
        let honest = key(1).sign(TYPE, *b"{}");
        let stripped = Envelope { signatures: vec![], ..honest.clone() };
        assert_eq!(ring().verify(&stripped), Err(DsseError::Stripped));

        let tampered = DsseError::Tampered(key(1).key_id());
        let other_payload = Envelope { payload: b"{ }".to_vec(), ..honest.clone() };
        assert_eq!(ring().verify(&other_payload), Err(tampered.clone()));
        let other_type = Envelope { payload_type: "text/plain".to_owned(), ..honest.clone() };
        assert_eq!(ring().verify(&other_type), Err(tampered.clone()));
        let mut short = honest.clone();
        short.signatures[0].sig.pop();
        assert_eq!(ring().verify(&short), Err(tampered.clone()));
        // a known key's name over a stranger's signature
        let mut borrowed = key(9).sign(TYPE, *b"{}");
        borrowed.signatures[0].keyid = key(1).key_id();
        assert_eq!(ring().verify(&borrowed), Err(tampered));

        let stranger = key(9).sign(TYPE, *b"{}");
        assert_eq!(ring().verify(&stranger), Err(DsseError::UnknownKey(vec![key(9).key_id()])));

        let since = at("2026-01-01T00:00:00Z");
        let mut after = ring();
        after.revoke(key(1).verifying_key(), since);
        assert_eq!(after.verify(&honest), Err(DsseError::Revoked { key: key(1).key_id(), since }));
        // a revoked key's bad signature is tampering, not a revocation
        assert_eq!(after.verify(&other_payload), Err(DsseError::Tampered(key(1).key_id())));
    }

    #[test]
    fn one_key_that_signs_twice_counts_once() {
        let mut envelope = key(1).sign(TYPE, *b"{}");
        envelope.signatures.push(envelope.signatures[0].clone());
        assert_eq!(ring().verify_threshold(&envelope, 2), Err(DsseError::TooFewKeys { found: 1, needed: 2 }));
        key(2).countersign(&mut envelope);
        assert_eq!(ring().verify_threshold(&envelope, 2).unwrap().keys().len(), 2);
    }

    #[test]
    fn a_threshold_of_zero_still_wants_a_signature() {
        let stranger = key(9).sign(TYPE, *b"{}");
        assert!(ring().verify_threshold(&stranger, 0).is_err());
    }

    #[test]
    fn signatures_of_strangers_neither_help_nor_harm() {
        let mut envelope = key(9).sign(TYPE, *b"{}");
        key(1).countersign(&mut envelope);
        assert_eq!(ring().verify(&envelope).unwrap().keys(), [key(1).key_id()]);
        let garbage = Signature { keyid: key(2).key_id(), sig: vec![0; 64] };
        envelope.signatures.push(garbage);
        assert_eq!(ring().verify(&envelope).unwrap().keys(), [key(1).key_id()]);
        assert_eq!(ring().verify_threshold(&envelope, 2), Err(DsseError::Tampered(key(2).key_id())));
    }

    #[test]
    fn old_evidence_is_judged_by_the_time_it_was_recorded() {
        let envelope = key(1).sign(TYPE, *b"{}");
        let mut ring = ring();
        ring.revoke(key(1).verifying_key(), at("2026-06-01T00:00:00Z"));
        ring.revoke(key(1).verifying_key(), at("2026-07-01T00:00:00Z"));
        ring.trust(key(1).verifying_key());
        assert!(ring.verify(&envelope).is_err(), "a revocation is never taken back");
        assert!(ring.verify_recorded(&envelope, at("2026-05-31T23:59:59Z")).is_ok());
        assert!(ring.verify_recorded(&envelope, at("2026-06-01T00:00:00Z")).is_err(), "the earliest revocation counts");
    }

    #[test]
    fn a_second_spelling_of_a_good_signature_is_refused() {
        // s + L is the same scalar: lenient verifiers accept it, and one statement gets two envelopes.
        const L: [u8; 32] = [
            0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0, 0,
            0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
        ];
        let mut envelope = key(1).sign(TYPE, *b"{}");
        let mut carry = 0_u16;
        for (byte, l) in envelope.signatures[0].sig[32..].iter_mut().zip(L) {
            let sum = u16::from(*byte) + u16::from(l) + carry;
            *byte = sum.to_le_bytes()[0];
            carry = sum >> 8;
        }
        assert_eq!(ring().verify(&envelope), Err(DsseError::Tampered(key(1).key_id())));
    }
}
