//! Ed25519 keys, their files and their ids.

use std::{fmt, str::FromStr};

use ed25519_dalek::{
    Signer as _,
    pkcs8::{
        DecodePrivateKey as _, DecodePublicKey as _, EncodePrivateKey as _, EncodePublicKey as _, KeypairBytes,
        spki::der::pem::LineEnding,
    },
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use zeroize::Zeroizing;

use super::{Envelope, Signature, pae};
use crate::Digest;

/// The DER of an Ed25519 SubjectPublicKeyInfo up to the 32 key bytes (RFC 8410 §4).
const SPKI_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// The name of a key: SHA-256 of its SPKI DER, 64 hexadecimal characters.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyId([u8; 32]);

/// A private Ed25519 key; wiped when dropped, never printed.
pub struct SigningKey(ed25519_dalek::SigningKey);

/// A public Ed25519 key, not weak.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct VerifyingKey(ed25519_dalek::VerifyingKey);

/// Why bytes are no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Not a PKCS#8 PEM of a private Ed25519 key.
    #[error("not a PKCS#8 PEM file of a private Ed25519 key: {0}")]
    Private(String),
    /// Not an SPKI PEM of a public Ed25519 key.
    #[error("not an SPKI PEM file of a public Ed25519 key: {0}")]
    Public(String),
    /// The bytes are no point of the curve.
    #[error("not the 32 bytes of a public Ed25519 key")]
    Point,
    /// A key of small order: many messages verify under it.
    #[error("the public key is weak: of small order")]
    Weak,
    /// Not a key id.
    #[error("`{0}` is no key id: 64 lower-case hexadecimal characters")]
    Id(String),
    /// An entry of a key set that is not ours to read.
    #[error("key `{kid}` of the key set: {why}")]
    Entry {
        /// The entry's name.
        kid: String,
        /// Why it is refused.
        why: &'static str,
    },
}

// === impl KeyId ===

impl KeyId {
    /// The 64 hexadecimal characters.
    #[must_use]
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.hex())
    }
}

impl fmt::Debug for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for KeyId {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let digest: Digest = format!("sha256:{text}").parse().map_err(|_| KeyError::Id(text.to_owned()))?;
        Ok(Self(*digest.as_bytes()))
    }
}

impl Serialize for KeyId {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for KeyId {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

// === impl SigningKey ===

impl SigningKey {
    /// The key of a 32-byte seed (RFC 8032 §5.1.5). Where the seed comes from is the caller's matter.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self(ed25519_dalek::SigningKey::from_bytes(&Zeroizing::new(seed)))
    }

    /// The key of a PKCS#8 PEM file.
    ///
    /// # Errors
    /// When the text is no such file, or its public half belongs to another key.
    pub fn from_pkcs8_pem(pem: &str) -> Result<Self, KeyError> {
        let key = ed25519_dalek::SigningKey::from_pkcs8_pem(pem.trim_start())
            .map_err(|error| KeyError::Private(error.to_string()))?;
        Ok(Self(key))
    }

    /// The PKCS#8 PEM file of the key, without its public half: the form that every tool reads.
    ///
    /// # Errors
    /// When the encoder refuses; it does not for a key of this type.
    pub fn to_pkcs8_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        KeypairBytes { secret_key: self.0.to_bytes(), public_key: None }
            .to_pkcs8_pem(LineEnding::LF)
            .map_err(|error| KeyError::Private(error.to_string()))
    }

    /// The public half.
    #[must_use]
    pub fn verifying_key(&self) -> VerifyingKey {
        VerifyingKey(self.0.verifying_key())
    }

    /// The key's name.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        self.verifying_key().key_id()
    }

    /// An envelope around `payload` with one signature.
    #[must_use]
    pub fn sign(&self, payload_type: &str, payload: impl Into<Vec<u8>>) -> Envelope {
        let mut envelope = Envelope {
            payload_type: payload_type.to_owned(),
            payload: payload.into(),
            signatures: Vec::with_capacity(1),
        };
        self.countersign(&mut envelope);
        envelope
    }

    /// Adds this key's signature to an envelope that may carry others. It takes the place of an older one by the same
    /// key: that counts once anyway, and there are verifiers that refuse envelopes which name a key twice.
    pub fn countersign(&self, envelope: &mut Envelope) {
        let sig = self.0.sign(&pae(&envelope.payload_type, &envelope.payload)).to_bytes().to_vec();
        let keyid = self.key_id();
        envelope.signatures.retain(|signature| signature.keyid != keyid);
        envelope.signatures.push(Signature { keyid, sig });
    }

    /// The bare 64 signature bytes over `message`, for formats that bring their own envelope (a JWT).
    #[must_use]
    pub fn sign_bytes(&self, message: &[u8]) -> [u8; 64] {
        self.0.sign(message).to_bytes()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.key_id())
    }
}

// === impl VerifyingKey ===

impl VerifyingKey {
    /// The key of 32 raw bytes.
    ///
    /// # Errors
    /// When they are no point of the curve, or one of small order.
    pub fn from_bytes(bytes: &[u8; 32]) -> Result<Self, KeyError> {
        let key = ed25519_dalek::VerifyingKey::from_bytes(bytes).map_err(|_| KeyError::Point)?;
        if key.is_weak() { Err(KeyError::Weak) } else { Ok(Self(key)) }
    }

    /// The key of an SPKI PEM file.
    ///
    /// # Errors
    /// When the text is no such file, or the key is weak.
    pub fn from_spki_pem(pem: &str) -> Result<Self, KeyError> {
        let key = ed25519_dalek::VerifyingKey::from_public_key_pem(pem.trim_start())
            .map_err(|error| KeyError::Public(error.to_string()))?;
        Self::from_bytes(key.as_bytes())
    }

    /// The SPKI PEM file of the key.
    ///
    /// # Errors
    /// When the encoder refuses; it does not for a key of this type.
    pub fn to_spki_pem(&self) -> Result<String, KeyError> {
        self.0.to_public_key_pem(LineEnding::LF).map_err(|error| KeyError::Public(error.to_string()))
    }

    /// The DER of the key's SubjectPublicKeyInfo.
    #[must_use]
    pub fn spki_der(&self) -> [u8; 44] {
        let mut der = [0; 44];
        der[..SPKI_PREFIX.len()].copy_from_slice(&SPKI_PREFIX);
        der[SPKI_PREFIX.len()..].copy_from_slice(self.0.as_bytes());
        der
    }

    /// The key's 32 raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        self.0.as_bytes()
    }

    /// The key's name.
    #[must_use]
    pub fn key_id(&self) -> KeyId {
        KeyId(*Digest::of(&self.spki_der()).as_bytes())
    }

    /// Whether `sig` is this key's signature over `message`, by the strict rules: no small order, no second spelling.
    #[must_use]
    pub fn verifies(&self, message: &[u8], sig: &[u8]) -> bool {
        ed25519_dalek::Signature::from_slice(sig).is_ok_and(|sig| self.0.verify_strict(message, &sig).is_ok())
    }
}

impl fmt::Debug for VerifyingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VerifyingKey({})", self.key_id())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8410 §10.3, first example, and the public key that belongs to it (§10.1).
    const PRIVATE: &str = "-----BEGIN PRIVATE KEY-----\n\
        MC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        -----END PRIVATE KEY-----\n";
    const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----\n\
        MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PUBLIC KEY-----\n";

    #[test]
    fn the_files_of_rfc_8410_are_read_and_written_unchanged() {
        let private = SigningKey::from_pkcs8_pem(PRIVATE).unwrap();
        let public = VerifyingKey::from_spki_pem(PUBLIC).unwrap();
        assert_eq!(private.verifying_key(), public);
        assert_eq!(&*private.to_pkcs8_pem().unwrap(), PRIVATE);
        assert_eq!(public.to_spki_pem().unwrap(), PUBLIC);
    }

    #[test]
    fn key_id_is_the_digest_of_the_encoders_own_der() {
        let key = SigningKey::from_seed([7; 32]).verifying_key();
        let der = key.0.to_public_key_der().unwrap();
        assert_eq!(der.as_bytes(), key.spki_der());
        assert_eq!(key.key_id().hex(), Digest::of(der.as_bytes()).hex());
        assert_eq!(key.key_id().hex().parse(), Ok(key.key_id()));
    }

    #[test]
    fn a_weak_key_is_refused() {
        // The neutral point: every signature (R, 0) with R = neutral verifies under it without `strict`.
        let mut neutral = [0; 32];
        neutral[0] = 1;
        assert_eq!(VerifyingKey::from_bytes(&neutral), Err(KeyError::Weak));
    }

    #[test]
    fn other_files_are_refused_with_a_reason() {
        assert!(matches!(SigningKey::from_pkcs8_pem(PUBLIC), Err(KeyError::Private(_))));
        assert!(matches!(SigningKey::from_pkcs8_pem("no key"), Err(KeyError::Private(_))));
        assert!(matches!(VerifyingKey::from_spki_pem(PRIVATE), Err(KeyError::Public(_))));
        assert!("AB".repeat(32).parse::<KeyId>().is_err(), "upper case");
        assert!("ab".repeat(31).parse::<KeyId>().is_err(), "short");
    }

    #[test]
    fn a_private_key_is_never_printed() {
        let key = SigningKey::from_seed([0xA5; 32]);
        assert_eq!(format!("{key:?}"), format!("SigningKey({})", key.key_id()));
    }
}
