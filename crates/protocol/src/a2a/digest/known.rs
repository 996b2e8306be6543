//! Digests of cards that were read before, found again by their bytes.

use std::collections::HashMap;

use ostiary_canon::{
    Digest,
    json::{CanonError, JsonError, Limits, parse_strict},
};

use super::{card_digest, raw_digest};

/// Why bytes have no card digest.
#[derive(Debug, thiserror::Error)]
pub enum CardDigestError {
    /// They are no acceptable JSON.
    #[error("the card is no acceptable JSON")]
    Json(#[from] JsonError),
    /// The card has no canonical form.
    #[error("the card has no canonical form")]
    Canon(#[from] CanonError),
}

/// Card digests by the SHA-256 of the bytes they came from: a card that is seen again costs one hash, no parsing.
///
/// Safe because equal hashes mean equal bytes, and equal bytes the same card. Bounded: two generations of at most
/// `generation` cards each; what is not asked for while a generation fills is forgotten with the older one.
#[derive(Clone, Debug)]
pub struct KnownDigests {
    generation: usize,
    young: HashMap<Digest, Digest>,
    old: HashMap<Digest, Digest>,
}

// === impl KnownDigests ===

impl KnownDigests {
    /// Remembers at least the last `generation` cards, and at most twice as many.
    #[must_use]
    pub fn of_at_least(generation: usize) -> Self {
        Self { generation: generation.max(1), young: HashMap::new(), old: HashMap::new() }
    }

    /// The digest that admission compares, of a card as it was served.
    ///
    /// # Errors
    /// When the bytes are no JSON object that can be canonical; errors are not remembered.
    pub fn card_digest(&mut self, bytes: &[u8]) -> Result<Digest, CardDigestError> {
        let raw = raw_digest(bytes);
        if let Some(known) = self.young.get(&raw) {
            return Ok(*known);
        }
        let digest = match self.old.get(&raw) {
            Some(known) => *known,
            None => card_digest(&parse_strict(bytes, Limits::DOCUMENT)?)?,
        };
        if self.young.len() >= self.generation {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(raw, digest);
        Ok(digest)
    }

    /// How many cards are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.young.len() + self.old.keys().filter(|raw| !self.young.contains_key(*raw)).count()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.young.is_empty() && self.old.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn card(n: usize) -> Vec<u8> {
        json!({"name": format!("agent {n}"), "signatures": []}).to_string().into_bytes()
    }

    #[test]
    fn what_is_remembered_is_what_would_be_computed() {
        let mut known = KnownDigests::of_at_least(4);
        for _ in 0..3 {
            for n in 0..4 {
                let expected = card_digest(&serde_json::from_slice(&card(n)).unwrap()).unwrap();
                assert_eq!(known.card_digest(&card(n)).unwrap(), expected);
            }
        }
        assert_eq!(known.len(), 4);
    }

    #[test]
    fn one_changed_byte_is_another_card() {
        let mut known = KnownDigests::of_at_least(4);
        let first = known.card_digest(b"{\"name\":\"a\"}").unwrap();
        assert_ne!(known.card_digest(b"{\"name\":\"b\"}").unwrap(), first);
        // other bytes of the same card are computed anew, to the same digest
        assert_eq!(known.card_digest(b"{ \"name\": \"a\" }").unwrap(), first);
    }

    #[test]
    fn it_stays_bounded_and_keeps_the_recent_ones() {
        let mut known = KnownDigests::of_at_least(10);
        for n in 0..1_000 {
            known.card_digest(&card(n)).unwrap();
            known.card_digest(&card(0)).unwrap();
            assert!(known.len() <= 20, "{}", known.len());
        }
        assert!(known.young.contains_key(&raw_digest(&card(999))));
    }

    #[test]
    fn errors_are_not_remembered() {
        let mut known = KnownDigests::of_at_least(10);
        assert!(matches!(known.card_digest(b"{"), Err(CardDigestError::Json(_))));
        assert!(known.is_empty());
    }
}
