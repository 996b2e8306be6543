//! Media types as contracts and cards compare them: by essence, in any case, parameters aside.

use std::fmt;

use serde_json::Value;

/// A media type or media range: `application/json`, `text/*`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MediaType {
    kind: String,
    subtype: String,
}

/// Why a text is no media type by the letter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MediaTypeProblem {
    /// No `type/subtype`.
    NoType,
    /// A character or a length that no registered name has.
    Name,
    /// A parameter that is no `name=value`.
    Parameter,
    /// A range such as `text/*`: what to accept, not what something is.
    Range,
}

// === impl MediaType ===

impl MediaType {
    /// Parses a header value or a card's mode; `None` when it is no media type (RFC 9110 §8.3.1).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let essence = text.split(';').next().unwrap_or_default().trim();
        let (kind, subtype) = essence.split_once('/')?;
        let token = |t: &str| !t.is_empty() && t.bytes().all(is_token_byte);
        (token(kind) && token(subtype))
            .then(|| Self { kind: kind.to_ascii_lowercase(), subtype: subtype.to_ascii_lowercase() })
    }

    /// Why a text is no media type by the letter (RFC 6838 §4.2, parameters as in RFC 9110 §5.6.6); `None` when it is one.
    #[must_use]
    pub fn problem(text: &str) -> Option<MediaTypeProblem> {
        if text.trim() != text {
            return Some(MediaTypeProblem::Name);
        }
        let mut pieces = split_parameters(text).into_iter();
        let Some((kind, subtype)) = pieces.next().and_then(|essence| essence.split_once('/')) else {
            return Some(MediaTypeProblem::NoType);
        };
        if (kind == "*" || is_restricted_name(kind)) && subtype == "*" {
            return Some(MediaTypeProblem::Range);
        }
        if !is_restricted_name(kind) || !is_restricted_name(subtype) {
            return Some(MediaTypeProblem::Name);
        }
        (!pieces.all(is_parameter)).then_some(MediaTypeProblem::Parameter)
    }

    /// Whether this type, read as a range, includes `other`. A `+json` type is no `application/json`.
    #[must_use]
    pub fn includes(&self, other: &Self) -> bool {
        let kind = self.kind == "*" || self.kind == other.kind;
        kind && (self.subtype == "*" || self.subtype == other.subtype)
    }

    /// Whether bytes of this type are JSON: `application/json`, `text/json` or a `+json` type.
    #[must_use]
    pub fn is_json(&self) -> bool {
        self.subtype == "json" || self.subtype.ends_with("+json")
    }

    /// Whether bytes of this type are a server-sent event stream.
    #[must_use]
    pub fn is_event_stream(&self) -> bool {
        self.kind == "text" && self.subtype == "event-stream"
    }
}

impl fmt::Display for MediaType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.subtype)
    }
}

/// The media types that an A2A part may be said to have: its own `mediaType`, else what its content member implies.
///
/// The specification gives no default for a part without `mediaType`. `text` is read as plain text, `data` as JSON;
/// a `raw` or `url` part without `mediaType` could be anything, so `None`.
#[must_use]
pub fn of_part(part: &Value) -> Option<MediaType> {
    let declared = part.get("mediaType").and_then(Value::as_str).filter(|t| !t.is_empty());
    if let Some(text) = declared {
        return MediaType::parse(text);
    }
    if part.get("text").is_some() {
        return MediaType::parse("text/plain");
    }
    if part.get("data").is_some() {
        return MediaType::parse("application/json");
    }
    None
}

/// RFC 6838 §4.2: at most 127 characters, the first of them a letter or digit.
fn is_restricted_name(text: &str) -> bool {
    let further = |b: u8| b.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&b);
    text.len() <= 127
        && text.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric())
        && text.bytes().all(further)
}

/// The essence and the parameters of a media type; a semicolon in quotes parts nothing.
fn split_parameters(text: &str) -> Vec<&str> {
    let (mut quoted, mut escaped) = (false, false);
    let at_semicolon = move |c: char| {
        let ends = c == ';' && !quoted;
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && quoted && !escaped;
        ends
    };
    text.split(at_semicolon).map(str::trim).collect()
}

fn is_parameter(text: &str) -> bool {
    let token = |t: &str| !t.is_empty() && t.bytes().all(is_token_byte);
    let quoted = |t: &str| t.len() >= 2 && t.starts_with('"') && t.ends_with('"');
    text.split_once('=').is_some_and(|(name, value)| token(name) && (token(value) || quoted(value)))
}

const fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'#' | b'$' | b'%' | b'&' | b'\'' | b'*' | b'+' | b'-' | b'.' | b'^' | b'_' | b'`' | b'|' | b'~'
        )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parameters_and_case_do_not_matter() {
        let json = MediaType::parse("application/json").unwrap();
        assert!(json.includes(&MediaType::parse("Application/JSON; charset=utf-8").unwrap()));
        assert!(!json.includes(&MediaType::parse("application/a2a+json").unwrap()));
        assert!(MediaType::parse("text/*").unwrap().includes(&MediaType::parse("text/plain").unwrap()));
    }

    #[test]
    fn words_are_no_media_types() {
        for text in ["text", "", "/", "text/", "a b/c", "text/pl ain"] {
            assert_eq!(MediaType::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn the_letter_of_the_standard_is_stricter() {
        for text in ["text/plain", "application/vnd.a+json; charset=utf-8", "a/b;q=\"x;y\\\";z\"; c=d", "image/svg+xml"]
        {
            assert_eq!(MediaType::problem(text), None, "{text}");
        }
        for (text, problem) in [
            ("text", MediaTypeProblem::NoType),
            ("", MediaTypeProblem::NoType),
            ("text/", MediaTypeProblem::Name),
            ("/json", MediaTypeProblem::Name),
            ("application/a json", MediaTypeProblem::Name),
            ("application/*json", MediaTypeProblem::Name),
            (".text/plain", MediaTypeProblem::Name),
            (" text/plain", MediaTypeProblem::Name),
            ("text/plain\n", MediaTypeProblem::Name),
            ("text/plain;", MediaTypeProblem::Parameter),
            ("text/plain; utf-8", MediaTypeProblem::Parameter),
            ("text/plain; charset=", MediaTypeProblem::Parameter),
            ("text/*", MediaTypeProblem::Range),
            ("*/*", MediaTypeProblem::Range),
        ] {
            assert_eq!(MediaType::problem(text), Some(problem), "{text}");
        }
        assert_eq!(MediaType::problem(&format!("a/{}", "b".repeat(128))), Some(MediaTypeProblem::Name));
    }

    #[test]
    fn a_part_without_media_type_is_what_its_member_implies() {
        let kind = |v: Value| of_part(&v).map(|m| m.to_string());
        assert_eq!(kind(json!({"text": ""})).as_deref(), Some("text/plain"));
        assert_eq!(kind(json!({"data": null})).as_deref(), Some("application/json"));
        assert_eq!(kind(json!({"text": "{}", "mediaType": "application/json"})).as_deref(), Some("application/json"));
        assert_eq!(kind(json!({"raw": "AA=="})), None);
    }
}
