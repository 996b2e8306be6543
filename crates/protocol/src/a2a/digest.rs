//! The digests of a card: one of what it says, one of the bytes.

use ostiary_canon::{
    Digest,
    json::{CanonError, digest},
};
use serde_json::Value;

pub use known::{CardDigestError, KnownDigests};

mod known;

/// The digest that admission compares: RFC 8785 of the card as served, without the top-level `signatures`.
///
/// Nothing else is dropped and nothing is defaulted, so that two cards which say different things never share it. The
/// payload of a card's own signature is another projection (§8.4.1).
///
/// # Errors
/// When the value has no canonical form.
pub fn card_digest(card: &Value) -> Result<Digest, CanonError> {
    match card.as_object() {
        Some(members) if members.contains_key("signatures") => {
            let rest = members.iter().filter(|(name, _)| *name != "signatures");
            digest(&Value::Object(rest.map(|(n, v)| (n.clone(), v.clone())).collect()))
        }
        _ => digest(card),
    }
}

/// The digest of the bytes as they came.
#[must_use]
pub fn raw_digest(bytes: &[u8]) -> Digest {
    Digest::of(bytes)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn signatures_and_order_do_not_count_and_everything_else_does() {
        let card = json!({"name": "a", "version": "1", "signatures": [{"signature": "x"}]});
        let same = json!({"version": "1", "name": "a"});
        assert_eq!(card_digest(&card).unwrap(), card_digest(&same).unwrap());
        for other in [
            json!({"name": "b", "version": "1"}),
            json!({"name": "a", "version": "1", "iconUrl": ""}),
            json!({"name": "a", "version": "1", "provider": {"signatures": []}}),
        ] {
            assert_ne!(card_digest(&card).unwrap(), card_digest(&other).unwrap(), "{other}");
        }
    }

    #[test]
    fn the_raw_digest_is_of_the_bytes() {
        assert_ne!(raw_digest(b"{\"a\":1}"), raw_digest(b"{\"a\": 1}"));
    }
}
