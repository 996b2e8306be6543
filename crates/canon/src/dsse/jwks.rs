//! Public keys as a JSON Web Key Set (RFC 7517, RFC 8037), for `/.well-known`.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};

use super::{KeyError, VerifyingKey};

/// A set of public keys.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwks {
    /// The keys.
    pub keys: Vec<Jwk>,
}

/// One public Ed25519 key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Jwk {
    /// `OKP`.
    pub kty: String,
    /// `Ed25519`.
    pub crv: String,
    /// The 32 key bytes, base64url without padding.
    pub x: String,
    /// The key's id, as in envelopes.
    pub kid: String,
    /// `sig`.
    #[serde(rename = "use", default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// `EdDSA`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alg: Option<String>,
}

// === impl Jwks ===

impl Jwks {
    /// The set of `keys`.
    pub fn of<'a>(keys: impl IntoIterator<Item = &'a VerifyingKey>) -> Self {
        Self { keys: keys.into_iter().map(Jwk::of).collect() }
    }

    /// The keys of the set; each must be an Ed25519 signing key under its own id.
    ///
    /// # Errors
    /// At the first entry that is not.
    pub fn verifying_keys(&self) -> Result<Vec<VerifyingKey>, KeyError> {
        self.keys.iter().map(Jwk::verifying_key).collect()
    }
}

// === impl Jwk ===

impl Jwk {
    /// The entry of `key`.
    #[must_use]
    pub fn of(key: &VerifyingKey) -> Self {
        Self {
            kty: "OKP".to_owned(),
            crv: "Ed25519".to_owned(),
            x: URL_SAFE_NO_PAD.encode(key.as_bytes()),
            kid: key.key_id().hex(),
            purpose: Some("sig".to_owned()),
            alg: Some("EdDSA".to_owned()),
        }
    }

    /// The key of the entry.
    ///
    /// # Errors
    /// When it is no Ed25519 signing key, weak, or named by another key's id.
    pub fn verifying_key(&self) -> Result<VerifyingKey, KeyError> {
        let refused = |why| KeyError::Entry { kid: self.kid.clone(), why };
        if self.kty != "OKP" || self.crv != "Ed25519" {
            return Err(refused("not an Ed25519 key"));
        }
        if self.purpose.as_deref().is_some_and(|purpose| purpose != "sig") {
            return Err(refused("not for signatures"));
        }
        let bytes = URL_SAFE_NO_PAD.decode(&self.x).map_err(|_| refused("`x` is not base64url without padding"))?;
        let bytes: [u8; 32] = bytes.try_into().map_err(|_| refused("`x` has not 32 bytes"))?;
        let key = VerifyingKey::from_bytes(&bytes)?;
        if key.key_id().hex() == self.kid { Ok(key) } else { Err(refused("`kid` is the id of another key")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsse::SigningKey;

    #[test]
    fn a_key_set_is_read_back() {
        let keys = [SigningKey::from_seed([1; 32]).verifying_key(), SigningKey::from_seed([2; 32]).verifying_key()];
        let text = serde_json::to_string(&Jwks::of(&keys)).unwrap();
        let read: Jwks = serde_json::from_str(&text).unwrap();
        assert_eq!(read.verifying_keys().unwrap(), keys);
    }

    #[test]
    fn entries_that_are_not_what_they_say_are_refused() {
        let honest = Jwk::of(&SigningKey::from_seed([1; 32]).verifying_key());
        let other = Jwk::of(&SigningKey::from_seed([2; 32]).verifying_key());
        let liars = [
            Jwk { kid: other.kid, ..honest.clone() },
            Jwk { crv: "X25519".to_owned(), ..honest.clone() },
            Jwk { kty: "EC".to_owned(), ..honest.clone() },
            Jwk { purpose: Some("enc".to_owned()), ..honest.clone() },
            Jwk { x: format!("{}=", honest.x), ..honest.clone() },
            Jwk { x: "AAAA".to_owned(), ..honest.clone() },
        ];
        assert!(honest.verifying_key().is_ok());
        for liar in liars {
            assert!(matches!(liar.verifying_key(), Err(KeyError::Entry { .. })), "{liar:?}");
        }
    }
}
