//! SHA-256 digests spelled `sha256:<64 lower-case hex>`.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest of some bytes; prints and parses as `sha256:<hex>`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Digest([u8; 32]);

/// What a digest's text starts with.
const PREFIX: &str = "sha256:";

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
        // On the stack: routers get a digest in every answer.
        let mut text = [0_u8; PREFIX.len() + 64];
        let (prefix, digits) = text.split_at_mut(PREFIX.len());
        prefix.copy_from_slice(PREFIX.as_bytes());
        hex::encode_to_slice(self.0, digits).map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
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
        let digits = text.strip_prefix(PREFIX).ok_or_else(|| DigestError::Algorithm(text.to_owned()))?;
        lower_hex(digits.as_bytes()).map(Self).ok_or_else(|| DigestError::Hex(text.to_owned()))
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

/// 32 bytes of 64 lower-case hexadecimal characters. Routers send up to three with every question, so it is one pass
/// without branches on the characters.
fn lower_hex(digits: &[u8]) -> Option<[u8; 32]> {
    let digits: &[u8; 64] = digits.try_into().ok()?;
    let mut out = [0_u8; 32];
    let mut wrong = 0;
    for (byte, pair) in out.iter_mut().zip(digits.as_chunks::<2>().0) {
        let (high, low) = (NIBBLES[usize::from(pair[0])], NIBBLES[usize::from(pair[1])]);
        wrong |= high | low;
        *byte = high << 4 | low & 0xF;
    }
    (wrong & 0xF0 == 0).then_some(out)
}

/// The value of each character, `0xFF` for those that are no lower-case hexadecimal digit.
const NIBBLES: [u8; 256] = {
    let mut table = [0xFF; 256];
    let mut digit = 0;
    while digit < 16 {
        table[b"0123456789abcdef"[digit as usize] as usize] = digit;
        digit += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_lower_case_digits_are_read() {
        for byte in 0..=u8::MAX {
            for at in [0, 1, 62, 63] {
                let mut digits = [b'7'; 64];
                digits[at] = byte;
                let expected = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
                let read = lower_hex(&digits);
                assert_eq!(read.is_some(), expected, "{byte:#x} at {at}");
                if let Some(bytes) = read {
                    assert_eq!(hex::encode(bytes).as_bytes(), digits);
                }
            }
        }
    }
}
