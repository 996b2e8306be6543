//! Bytes as they were, readable where they are text.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde::{Deserialize, Deserializer, Serialize, Serializer, ser::SerializeMap};

/// Bytes that serialise as `{"text": …}` when they are UTF-8 and as `{"base64": …}` when they are not.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Blob(pub Bytes);

impl Blob {
    /// The bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The text, where the bytes are UTF-8.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }
}

impl<T: Into<Bytes>> From<T> for Blob {
    fn from(bytes: T) -> Self {
        Self(bytes.into())
    }
}

impl fmt::Debug for Blob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.as_str() {
            Some(text) => fmt::Debug::fmt(text, f),
            None => write!(f, "[{} bytes]", self.0.len()),
        }
    }
}

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        let mut map = s.serialize_map(Some(1))?;
        match self.as_str() {
            Some(text) => map.serialize_entry("text", text)?,
            None => map.serialize_entry("base64", &STANDARD.encode(&self.0))?,
        }
        map.end()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Wire {
    Text(String),
    Base64(String),
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        match Wire::deserialize(d)? {
            Wire::Text(text) => Ok(Self(Bytes::from(text))),
            Wire::Base64(text) => STANDARD.decode(text).map(|b| Self(Bytes::from(b))).map_err(serde::de::Error::custom),
        }
    }
}
