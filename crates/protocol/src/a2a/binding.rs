//! Protocol bindings and versions as interfaces name them.

use std::fmt;

/// A protocol binding; the card's text is an open set (A2A §5.8).
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binding {
    /// JSON-RPC 2.0 over HTTP, streams as server-sent events (§9).
    JsonRpc,
    /// gRPC (§10).
    Grpc,
    /// HTTP with JSON bodies (§11).
    HttpJson,
    /// Any other name or URI.
    Custom(String),
}

/// A protocol version as it is negotiated: `Major.Minor` (§3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version {
    /// Before the dot.
    pub major: u16,
    /// After the dot.
    pub minor: u16,
}

// === impl Binding ===

impl Binding {
    /// The binding that a card's `protocolBinding` names; exact spelling, as the specification gives it.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text {
            "JSONRPC" => Self::JsonRpc,
            "GRPC" => Self::Grpc,
            "HTTP+JSON" => Self::HttpJson,
            other => Self::Custom(other.to_owned()),
        }
    }

    /// As cards spell it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::JsonRpc => "JSONRPC",
            Self::Grpc => "GRPC",
            Self::HttpJson => "HTTP+JSON",
            Self::Custom(name) => name,
        }
    }

    /// The first part of a profile's name: `a2a-jsonrpc`. A custom binding has none, so no evidence names it.
    #[must_use]
    pub const fn slug(&self) -> Option<&'static str> {
        match self {
            Self::JsonRpc => Some("a2a-jsonrpc"),
            Self::Grpc => Some("a2a-grpc"),
            Self::HttpJson => Some("a2a-http-json"),
            Self::Custom(_) => None,
        }
    }
}

impl fmt::Display for Binding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Version ===

impl Version {
    /// A2A 1.0.
    pub const V1_0: Self = Self { major: 1, minor: 0 };

    /// Parses exactly `Major.Minor`; patch numbers do not belong into cards and requests (§3.6).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.split_once('.')?;
        Some(Self { major: number(major)?, minor: number(minor)? })
    }

    /// Parses `Major.Minor` with an ignored patch part: what a lenient reader makes of `0.3.0`.
    #[must_use]
    pub fn parse_lenient(text: &str) -> Option<Self> {
        let mut parts = text.split('.');
        let version = Self { major: number(parts.next()?)?, minor: number(parts.next()?)? };
        let patch_ok = parts.next().is_none_or(|patch| number(patch).is_some());
        (patch_ok && parts.next().is_none()).then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

fn number(text: &str) -> Option<u16> {
    let plain = text == "0" || !text.starts_with('0');
    (plain && !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_major_minor_is_a_version() {
        assert_eq!(Version::parse("1.0"), Some(Version::V1_0));
        for text in ["1", "1.0.1", "v1.0", "1.", ".0", "01.0", "1.0 ", "1.x"] {
            assert_eq!(Version::parse(text), None, "{text:?}");
        }
        assert_eq!(Version::parse_lenient("0.3.0"), Some(Version { major: 0, minor: 3 }));
        assert_eq!(Version::parse_lenient("0.3.0.1"), None);
    }

    #[test]
    fn binding_names_are_exact() {
        assert_eq!(Binding::parse("JSONRPC"), Binding::JsonRpc);
        assert_eq!(Binding::parse("jsonrpc"), Binding::Custom("jsonrpc".to_owned()));
        assert_eq!(Binding::parse("HTTP+JSON").slug(), Some("a2a-http-json"));
    }
}
