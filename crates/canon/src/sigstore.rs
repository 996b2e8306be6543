//! Sigstore bundles, version 0.3, around one envelope signed by a plain key: for `cosign` and `@sigstore/verify`.
//!
//! A bundle of ours holds no certificate and no entry of a transparency log. Its `hint` names the key, as `keyid` does,
//! and proves as little: whoever verifies brings the key. The format knows one signature only, so an envelope with
//! several becomes several bundles, and a threshold is a matter of the plain envelope.

use serde::{Deserialize, Serialize};

use crate::{
    dsse::{ENVELOPE_LIMIT, Envelope, KeyId},
    json::{self, JsonError, Limits},
};

/// The media type that bundles carry.
pub const MEDIA_TYPE: &str = "application/vnd.dev.sigstore.bundle.v0.3+json";

/// An envelope with exactly one signature, by a key that its reader must know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle(Envelope);

/// Why bytes are no bundle of this kind.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// Not acceptable JSON.
    #[error("not acceptable JSON")]
    Json(#[from] JsonError),
    /// JSON of another shape.
    #[error("not a Sigstore bundle: {0}")]
    Shape(String),
    /// Another version.
    #[error("bundle of type `{0}`, not `{MEDIA_TYPE}`")]
    MediaType(String),
    /// Several signatures, or none.
    #[error("{0} signatures in a bundle, exactly one is wanted")]
    Signatures(usize),
    /// The bundle names another key than its signature does.
    #[error("the bundle's hint `{0}` is not the key of its signature")]
    Hint(String),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Wire {
    media_type: String,
    verification_material: Material,
    dsse_envelope: Envelope,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Material {
    public_key: PublicKey,
    #[serde(default)]
    tlog_entries: Vec<serde_json::Value>,
}

#[derive(Serialize, Deserialize)]
struct PublicKey {
    hint: String,
}

// === impl Bundle ===

impl Bundle {
    /// One bundle for each signature of `envelope`; none for an envelope that was stripped.
    #[must_use]
    pub fn of(envelope: &Envelope) -> Vec<Self> {
        let one = |signature: &crate::dsse::Signature| {
            Self(Envelope { signatures: vec![signature.clone()], ..envelope.clone() })
        };
        envelope.signatures.iter().map(one).collect()
    }

    /// Reads a bundle. Entries of transparency logs are not looked at: the key is what is believed.
    ///
    /// # Errors
    /// When the bytes are no bundle of this version with a key's hint and one signature by that key.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleError> {
        let limits = Limits { bytes: ENVELOPE_LIMIT, ..Limits::DOCUMENT };
        let value = json::parse_strict(bytes, limits)?;
        let wire: Wire = serde_json::from_value(value).map_err(|error| BundleError::Shape(error.to_string()))?;
        if wire.media_type != MEDIA_TYPE {
            return Err(BundleError::MediaType(wire.media_type));
        }
        let [signature] = wire.dsse_envelope.signatures.as_slice() else {
            return Err(BundleError::Signatures(wire.dsse_envelope.signatures.len()));
        };
        if signature.keyid.hex() != wire.verification_material.public_key.hint {
            return Err(BundleError::Hint(wire.verification_material.public_key.hint));
        }
        Ok(Self(wire.dsse_envelope))
    }

    /// The bundle as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let wire = Wire {
            media_type: MEDIA_TYPE.to_owned(),
            verification_material: Material {
                public_key: PublicKey { hint: self.key().hex() },
                tlog_entries: Vec::new(),
            },
            dsse_envelope: self.0.clone(),
        };
        serde_json::to_string(&wire).expect("a bundle of strings is always JSON")
    }

    /// The envelope, for a keyring to verify.
    #[must_use]
    pub const fn envelope(&self) -> &Envelope {
        &self.0
    }

    /// The key that claims to have signed.
    #[must_use]
    pub fn key(&self) -> KeyId {
        self.0.signatures[0].keyid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsse::{Keyring, SigningKey};

    fn key(seed: u8) -> SigningKey {
        SigningKey::from_seed([seed; 32])
    }

    #[test]
    fn a_bundle_is_read_back_and_verifies() {
        let envelope = key(1).sign("application/vnd.in-toto+json", *b"{}");
        let [bundle] = <[Bundle; 1]>::try_from(Bundle::of(&envelope)).unwrap();
        let read = Bundle::parse(bundle.to_json().as_bytes()).unwrap();
        assert_eq!(read.envelope(), &envelope);
        assert!(Keyring::trusting([key(1).verifying_key()]).verify(read.envelope()).is_ok());
        assert!(Keyring::trusting([key(2).verifying_key()]).verify(read.envelope()).is_err());
    }

    #[test]
    fn an_envelope_by_two_keys_becomes_two_bundles() {
        let mut envelope = key(1).sign("text/plain", *b"x");
        key(2).countersign(&mut envelope);
        let keys: Vec<KeyId> = Bundle::of(&envelope).iter().map(Bundle::key).collect();
        assert_eq!(keys, [key(1).key_id(), key(2).key_id()]);
        envelope.signatures.clear();
        assert_eq!(Bundle::of(&envelope), []);
    }

    #[test]
    fn other_bundles_are_refused_with_a_reason() {
        let good = Bundle::of(&key(1).sign("text/plain", *b"x"))[0].to_json();
        let (own, other) = (key(1).key_id().hex(), key(2).key_id().hex());
        let hint = |id: &str| format!("\"hint\":\"{id}\"");
        let check = |bad: String| {
            assert_ne!(bad, good, "the change must change something");
            Bundle::parse(bad.as_bytes()).unwrap_err()
        };
        assert!(matches!(check(good.replace("v0.3", "v0.2")), BundleError::MediaType(_)));
        assert!(matches!(check(good.replace(&hint(&own), &hint(&other))), BundleError::Hint(_)));
        assert!(matches!(check(good.replace("publicKey", "certificate")), BundleError::Shape(_)));
        assert!(matches!(check(format!("{good}{good}")), BundleError::Json(_)));
        let start = good.find("\"signatures\":[").unwrap() + "\"signatures\":[".len();
        let entry = &good[start..good.rfind(']').unwrap()];
        assert!(matches!(check(good.replace(entry, "")), BundleError::Signatures(0)));
        assert!(matches!(check(good.replace(entry, &format!("{entry},{entry}"))), BundleError::Signatures(2)));
    }
}
