//! SHA-256 digests spelled `sha256:<64 lower-case hex>`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest of some bytes; prints and parses as `sha256:<hex>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// Why a text is no [`Digest`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The text does not start with `sha256:`.
    #[error("`{0}` does not start with `sha256:`")]
    Algorithm(String),
    /// What follows is not 64 lower-case hexadecimal characters.
    #[error("`{0}` is not followed by 64 lower-case hexadecimal characters")]
    Hex(String),
}

/// A digest as a publisher wrote it: a real one, or a placeholder that loads and is refused by the pinning check (P-01).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DeclaredDigest {
    /// A well-formed digest.
    Digest(Digest),
    /// Anything else: `latest`, empty, `sha256:fixture-…`.
    Placeholder(String),
}

// === impl Digest ===

impl Digest {
    /// The digest of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// A digest from its 32 raw bytes.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The 32 raw bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The 64 hexadecimal characters alone, as in-toto digest sets want them.
    #[must_use]
    pub fn hex(&self) -> String {
        hex::encode(self.0)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{}", self.hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        let hex_part = text.strip_prefix("sha256:").ok_or_else(|| DigestError::Algorithm(text.to_owned()))?;
        let bad = || DigestError::Hex(text.to_owned());
        if hex_part.bytes().any(|b| b.is_ascii_uppercase()) {
            return Err(bad());
        }
        let mut out = [0_u8; 32];
        hex::decode_to_slice(hex_part, &mut out).map_err(|_| bad())?;
        Ok(Self(out))
    }
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(d)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

// === impl DeclaredDigest ===

impl DeclaredDigest {
    /// The digest, where one was really declared.
    #[must_use]
    pub const fn digest(&self) -> Option<Digest> {
        match self {
            Self::Digest(d) => Some(*d),
            Self::Placeholder(_) => None,
        }
    }
}

impl From<&str> for DeclaredDigest {
    fn from(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Placeholder(text.to_owned()), Self::Digest)
    }
}

impl fmt::Display for DeclaredDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Digest(d) => d.fmt(f),
            Self::Placeholder(text) => f.write_str(text),
        }
    }
}

impl Serialize for DeclaredDigest {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DeclaredDigest {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(Self::from(&*std::borrow::Cow::<'de, str>::deserialize(d)?))
    }
}
