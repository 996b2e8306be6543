//! A request as bytes: nothing is added that the caller did not ask for but `Host` and `Content-Length`.

use bytes::{BufMut, Bytes, BytesMut};
use url::Url;

/// A request whose bytes are settled.
#[derive(Clone, Debug)]
pub(crate) struct Encoded {
    pub(crate) method: String,
    /// All fields in the order in which they are sent.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) bytes: Bytes,
}

/// What a request line and its fields are made of.
pub(crate) struct Parts<'a> {
    pub(crate) method: &'a str,
    pub(crate) url: &'a Url,
    pub(crate) target: &'a str,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: &'a [u8],
}

/// Settles the bytes; a part that would break out of its place in the message is refused with the reason.
pub(crate) fn encode(parts: Parts<'_>) -> Result<Encoded, String> {
    let Parts { method, url, target, headers, body } = parts;
    if method.is_empty() || !method.bytes().all(is_token) {
        return Err(format!("method `{}` is not a token", method.escape_debug()));
    }
    if !target.starts_with(['/', '*']) || !target.bytes().all(|b| b.is_ascii_graphic()) {
        return Err(format!("request target `{}` has characters that must be escaped", target.escape_debug()));
    }
    for (name, value) in &headers {
        let sound = !name.is_empty() && name.bytes().all(is_token) && !value.bytes().any(|b| matches!(b, 0 | 10 | 13));
        if !sound {
            return Err(format!("header field `{}` breaks the message", name.escape_debug()));
        }
    }
    let headers = complete(method, url, headers, body);
    let mut bytes = BytesMut::with_capacity(256 + body.len());
    bytes.put(format!("{method} {target} HTTP/1.1\r\n").as_bytes());
    for (name, value) in &headers {
        bytes.put(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.put(&b"\r\n"[..]);
    bytes.put(body);
    Ok(Encoded { method: method.to_owned(), headers, bytes: bytes.freeze() })
}

/// The request target of a URL with something appended to its path.
pub(crate) fn target(url: &Url, path: &str) -> String {
    let query = url.query().map(|q| format!("?{q}")).unwrap_or_default();
    if path.is_empty() {
        return format!("{}{query}", url.path());
    }
    let base = if path.starts_with('/') { url.path().trim_end_matches('/') } else { url.path() };
    match (path.split_once('?'), url.query()) {
        (_, None) => format!("{base}{path}"),
        (None, Some(query)) => format!("{base}{path}?{query}"),
        (Some((path, more)), Some(query)) => format!("{base}{path}?{query}&{more}"),
    }
}

fn complete(method: &str, url: &Url, given: Vec<(String, String)>, body: &[u8]) -> Vec<(String, String)> {
    let has = |name: &str| given.iter().any(|(n, _)| n.eq_ignore_ascii_case(name));
    let mut headers = Vec::with_capacity(given.len() + 2);
    if !has("host") {
        let host = url.host_str().unwrap_or_default();
        let host = url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        headers.push(("Host".to_owned(), host));
    }
    let framed = has("content-length") || has("transfer-encoding");
    let may_carry = !body.is_empty() || matches!(method, "POST" | "PUT" | "PATCH");
    headers.extend(given);
    if may_carry && !framed {
        headers.push(("Content-Length".to_owned(), body.len().to_string()));
    }
    headers
}

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts<'a>(url: &'a Url, headers: &[(&str, &str)], body: &'a [u8]) -> Parts<'a> {
        let headers = headers.iter().map(|&(n, v)| (n.to_owned(), v.to_owned())).collect();
        Parts { method: "POST", url, target: "/a2a", headers, body }
    }

    #[test]
    fn bytes_are_as_given_in_the_order_given() {
        let url = Url::parse("https://agent.example:8443/a2a").unwrap();
        let out = encode(parts(&url, &[("A2A-Version", "1.0"), ("content-TYPE", "application/json")], b"{}")).unwrap();
        let expect = "POST /a2a HTTP/1.1\r\nHost: agent.example:8443\r\nA2A-Version: 1.0\r\ncontent-TYPE: application/json\r\nContent-Length: 2\r\n\r\n{}";
        assert_eq!(std::str::from_utf8(&out.bytes).unwrap(), expect);
    }

    #[test]
    fn a_length_that_the_caller_gives_is_left_alone() {
        let url = Url::parse("https://agent.example/a2a").unwrap();
        let out = encode(parts(&url, &[("Content-Length", "9"), ("Host", "other")], b"{}")).unwrap();
        assert_eq!(out.headers.len(), 2);
    }

    #[test]
    fn nothing_breaks_out_of_its_place() {
        let url = Url::parse("https://agent.example/a2a").unwrap();
        assert!(encode(parts(&url, &[("X", "a\r\nY: b")], b"")).is_err());
        assert!(encode(parts(&url, &[("X y", "a")], b"")).is_err());
        assert!(encode(Parts { target: "/a b", ..parts(&url, &[], b"") }).is_err());
        assert!(encode(Parts { target: "//", method: "GE T", ..parts(&url, &[], b"") }).is_err());
    }

    #[test]
    fn targets_join_path_and_query() {
        let check = |url: &str, path: &str, expect: &str| {
            assert_eq!(target(&Url::parse(url).unwrap(), path), expect, "{url} + {path}");
        };
        check("https://h", "", "/");
        check("https://h/", "/tasks/1", "/tasks/1");
        check("https://h/a2a", "/tasks/1?x=1", "/a2a/tasks/1?x=1");
        check("https://h/a2a/", "/message:send", "/a2a/message:send");
        check("https://h/a2a?k=v", "", "/a2a?k=v");
        check("https://h/a2a?k=v", "/t", "/a2a/t?k=v");
        check("https://h/a2a?k=v", "/t?x=1", "/a2a/t?k=v&x=1");
        check("https://h/a2a", "?x=1", "/a2a?x=1");
    }
}
