//! Status line and header fields.

use ostiary_record::event::RawHeaders;

use super::{WireError, blob};

/// Most header fields of one answer; the bound on bytes holds beside it.
const MAX_FIELDS: usize = 256;

/// Status and fields as received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Minor version of HTTP/1.
    pub(super) minor: u8,
    pub(crate) headers: RawHeaders,
}

// === impl Head ===

impl Head {
    /// All values of a field, as text where they are text.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.headers.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).filter_map(|(_, value)| value.as_str())
    }

    /// Whether the body is an event stream.
    pub(crate) fn is_event_stream(&self) -> bool {
        let essence =
            |v: &str| v.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("text/event-stream");
        self.values("content-type").next().is_some_and(essence)
    }
}

/// Refuses early what can never become an answer, so that garbage is not waited on.
pub(super) fn begins_like_http(bytes: &[u8]) -> Result<(), WireError> {
    const START: &[u8] = b"HTTP/1.";
    let n = bytes.len().min(START.len());
    if bytes[..n] == START[..n] {
        return Ok(());
    }
    let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(24)]).escape_debug().to_string();
    Err(WireError::Broken(format!("not an HTTP/1.1 answer: it begins with `{shown}`")))
}

/// Where the head ends, searched from `from` on.
pub(super) fn end(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).find_map(|i| match bytes.get(i..) {
        Some([b'\n', b'\n', ..]) => Some(i + 2),
        Some([b'\n', b'\r', b'\n', ..]) => Some(i + 3),
        _ => None,
    })
}

/// Parses a complete head.
pub(super) fn parse(bytes: &[u8]) -> Result<Head, WireError> {
    let mut fields = vec![httparse::EMPTY_HEADER; MAX_FIELDS];
    let mut answer = httparse::Response::new(&mut fields);
    let parsed = answer.parse(bytes);
    match (parsed, answer.code, answer.version) {
        (Ok(httparse::Status::Complete(_)), Some(status), Some(minor)) => {
            let headers = answer.headers.iter().map(|h| (h.name.to_owned(), blob(h.value))).collect();
            Ok(Head { status, minor, headers })
        }
        (Err(httparse::Error::TooManyHeaders), ..) => Err(WireError::Limit("header_bytes")),
        (Err(error), ..) => Err(WireError::Broken(format!("malformed head of the answer: {error}"))),
        _ => Err(WireError::Broken("malformed head of the answer: incomplete".to_owned())),
    }
}
