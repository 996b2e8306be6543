//! What the bytes of a part are, beside what it says that they are: base64, size, and the first bytes of known formats.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use serde_json::Value;

use crate::media_type::{self, MediaType};

/// The content of a part as bytes, where the part itself holds them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// Bytes: of `raw`, of the text, or of the JSON in `data`.
    Bytes(Vec<u8>),
    /// Bytes that stand elsewhere.
    Reference(String),
    /// `raw` that is no base64.
    Broken,
    /// Nothing.
    None,
}

/// Formats that are known by their first bytes; an audio or image type that is not here can be anything.
const FORMATS: &[(&str, &[&[u8]])] = &[
    ("image/png", &[b"\x89PNG\r\n\x1a\n"]),
    ("image/jpeg", &[b"\xff\xd8\xff"]),
    ("image/gif", &[b"GIF87a", b"GIF89a"]),
    ("application/pdf", &[b"%PDF-"]),
    ("application/zip", &[b"PK\x03\x04", b"PK\x05\x06"]),
    ("application/gzip", &[b"\x1f\x8b"]),
    ("audio/ogg", &[b"OggS"]),
    ("audio/flac", &[b"fLaC"]),
    ("audio/mpeg", &[b"ID3", b"\xff\xfb", b"\xff\xf3", b"\xff\xf2"]),
];

/// Formats within RIFF, by the four bytes behind its size.
const RIFF: &[(&str, &[u8])] = &[("audio/wav", b"WAVE"), ("image/webp", b"WEBP")];

/// Other names of a format.
const ALIASES: &[(&str, &str)] = &[
    ("image/jpg", "image/jpeg"),
    ("audio/x-wav", "audio/wav"),
    ("audio/wave", "audio/wav"),
    ("audio/vnd.wave", "audio/wav"),
    ("audio/mp3", "audio/mpeg"),
    ("application/x-pdf", "application/pdf"),
];

/// What a part holds.
#[must_use]
pub fn content(part: &Value) -> Content {
    let set = |name: &str| part.get(name).filter(|v| !v.is_null());
    if let Some(raw) = set("raw") {
        return raw.as_str().and_then(decoded).map_or(Content::Broken, Content::Bytes);
    }
    if let Some(url) = set("url") {
        return url.as_str().map_or(Content::Broken, |url| Content::Reference(url.to_owned()));
    }
    if let Some(text) = set("text").and_then(Value::as_str) {
        return Content::Bytes(text.as_bytes().to_vec());
    }
    // `data: null` is a content, too
    part.get("data").map_or(Content::None, |data| Content::Bytes(data.to_string().into_bytes()))
}

/// The bytes of base64 in either alphabet, with padding or without (as ProtoJSON readers take it).
#[must_use]
pub fn decoded(text: &str) -> Option<Vec<u8>> {
    let lenient = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, lenient).decode(text).ok()
}

/// The format that bytes begin as.
#[must_use]
pub fn sniffed(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(b"RIFF") {
        let kind = bytes.get(8..12)?;
        return RIFF.iter().find(|(_, mark)| *mark == kind).map(|(name, _)| *name);
    }
    FORMATS.iter().find(|(_, marks)| marks.iter().any(|m| bytes.starts_with(m))).map(|(name, _)| *name)
}

/// Why the bytes of a part are not what the part says, by the formats that are known; `None` = nothing speaks against it.
#[must_use]
pub fn contradiction(part: &Value) -> Option<String> {
    let said = media_type::of_part(part).map(|m| canonical(&m));
    match content(part) {
        Content::Broken => Some("`raw` is no base64, or `url` no text".to_owned()),
        Content::Reference(url) if url.trim().is_empty() => Some("`url` is empty".to_owned()),
        Content::Bytes(bytes) if part.get("raw").is_some() => {
            let (said, seen) = (said?, sniffed(&bytes));
            let checkable = FORMATS.iter().map(|(n, _)| n).chain(RIFF.iter().map(|(n, _)| n)).any(|n| *n == said);
            match seen {
                Some(seen) if seen != said && (checkable || is_media(&said)) && !contains(&said, seen) => {
                    Some(format!("{seen} that is called {said}"))
                }
                None if checkable => Some(format!("no {said}: its first bytes are others")),
                _ => None,
            }
        }
        Content::Bytes(_) | Content::Reference(_) | Content::None => None,
    }
}

/// Whether files of a type are made in another format: office documents are archives.
fn contains(said: &str, seen: &str) -> bool {
    seen == "application/zip" && said.starts_with("application/")
}

fn is_media(said: &str) -> bool {
    ["image/", "audio/", "video/"].iter().any(|kind| said.starts_with(kind))
}

fn canonical(media: &MediaType) -> String {
    let name = media.to_string();
    ALIASES.iter().find(|(other, _)| *other == name).map_or(name, |(_, known)| (*known).to_owned())
}

#[cfg(test)]
mod tests {
    use base64::engine::general_purpose::STANDARD as BASE64;
    use serde_json::json;

    use super::*;

    fn part(bytes: &[u8], media: &str) -> Value {
        json!({"raw": BASE64.encode(bytes), "mediaType": media})
    }

    #[test]
    fn bytes_that_are_what_they_say_pass() {
        for (bytes, media) in [
            (&b"\x89PNG\r\n\x1a\n....."[..], "image/png"),
            (b"\xff\xd8\xff\xe0", "image/jpg"),
            (b"%PDF-1.7\n", "application/pdf"),
            (b"RIFF\x24\x00\x00\x00WAVEfmt ", "audio/x-wav"),
            (b"PK\x03\x04", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
            (b"anything", "application/octet-stream"),
            (b"<svg/>", "image/svg+xml"),
            (b"words", "text/plain"),
        ] {
            assert_eq!(contradiction(&part(bytes, media)), None, "{media}");
        }
        assert_eq!(contradiction(&json!({"text": "x", "mediaType": "image/png"})), None, "a text is judged elsewhere");
    }

    #[test]
    fn bytes_that_are_something_else_are_told() {
        assert!(contradiction(&part(b"%PDF-1.7", "image/png")).is_some());
        assert!(contradiction(&part(b"not an image", "image/png")).is_some());
        assert!(contradiction(&part(b"\x89PNG\r\n\x1a\n", "audio/x-unknown")).is_some());
        assert!(contradiction(&json!({"raw": "not base64!", "mediaType": "text/plain"})).is_some());
        assert!(contradiction(&json!({"url": " ", "mediaType": "text/plain"})).is_some());
    }

    #[test]
    fn contents_are_told_apart() {
        assert_eq!(content(&json!({"raw": "_-8"})), Content::Bytes(vec![0xff, 0xef]));
        assert_eq!(content(&json!({"data": null})), Content::Bytes(b"null".to_vec()));
        assert_eq!(content(&json!({"url": "https://a/b"})), Content::Reference("https://a/b".to_owned()));
        assert_eq!(content(&json!({"mediaType": "text/plain"})), Content::None);
    }
}
