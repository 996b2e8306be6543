//! One entry of `signatures`: a flattened JWS (RFC 7515 §7.2.2) whose payload is the card around it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ostiary_canon::{
    json::{Limits, parse_strict},
    jwk::Algorithm,
};
use serde_json::{Map, Value};

/// Longest `protected`; a header has a handful of short members.
const PROTECTED_BYTES: usize = 8 << 10;
/// Longest `signature`: RSA of 8192 bits.
const SIGNATURE_BYTES: usize = 1366;
/// Longest name shown in a report.
const SHOWN_CHARS: usize = 120;

/// A signature that can be checked: its algorithm is accepted and it names its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Jws<'a> {
    /// As it stands in the card: its text is signed, not its meaning.
    pub(super) protected: &'a str,
    pub(super) algorithm: Algorithm,
    pub(super) kid: String,
    pub(super) signature: Vec<u8>,
}

/// What an entry says about itself, for the report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) alg: Option<String>,
    pub(super) kid: Option<String>,
    pub(super) jku: Option<String>,
}

/// Why an entry cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Malformed(String),
    Algorithm(String),
    KeyIdMissing,
}

/// Reads an entry; what it claims is told even when it is refused.
pub(super) fn read(entry: &Value) -> (Claims, Result<Jws<'_>, Refusal>) {
    let header = match header(entry) {
        Ok(header) => header,
        Err(why) => return (Claims::default(), Err(Refusal::Malformed(why))),
    };
    (Claims::of(&header), judged(entry, &header))
}

// === impl Claims ===

impl Claims {
    fn of(header: &Map<String, Value>) -> Self {
        let text = |name: &str| header.get(name).and_then(Value::as_str).map(|t| t.chars().take(SHOWN_CHARS).collect());
        Self { alg: text("alg"), kid: text("kid"), jku: text("jku") }
    }
}

fn judged<'a>(entry: &'a Value, header: &Map<String, Value>) -> Result<Jws<'a>, Refusal> {
    known_parameters(entry, header).map_err(Refusal::Malformed)?;
    let algorithm = algorithm(header)?;
    let kid = match header.get("kid") {
        None | Some(Value::Null) => return Err(Refusal::KeyIdMissing),
        Some(Value::String(kid)) if kid.is_empty() => return Err(Refusal::KeyIdMissing),
        Some(Value::String(kid)) => kid.clone(),
        Some(_) => return Err(Refusal::Malformed("`kid` is no text".to_owned())),
    };
    let signature = member(entry, "signature", SIGNATURE_BYTES).and_then(|text| decode("signature", text));
    let signature = signature.map_err(Refusal::Malformed)?;
    let protected = member(entry, "protected", PROTECTED_BYTES).map_err(Refusal::Malformed)?;
    Ok(Jws { protected, algorithm, kid, signature })
}

/// The accepted algorithm that the header names.
fn algorithm(header: &Map<String, Value>) -> Result<Algorithm, Refusal> {
    let Some(Value::String(name)) = header.get("alg") else {
        return Err(Refusal::Malformed("the protected header has no `alg`".to_owned()));
    };
    Algorithm::parse(name).ok_or_else(|| {
        let shown: String = name.chars().take(SHOWN_CHARS).collect();
        let why = match name.as_str() {
            _ if name.eq_ignore_ascii_case("none") => "is no signature at all",
            _ if name.starts_with("HS") => "needs a shared secret, so whoever can check could have signed",
            _ => "is not accepted",
        };
        Refusal::Algorithm(format!("`{shown}` {why}; EdDSA, ES256 and RS256 are accepted"))
    })
}

/// The protected header, read strictly.
fn header(entry: &Value) -> Result<Map<String, Value>, String> {
    let protected = member(entry, "protected", PROTECTED_BYTES)?;
    let bytes = decode("protected", protected)?;
    match parse_strict(&bytes, Limits::DOCUMENT.with_bytes(PROTECTED_BYTES).with_depth(8)) {
        Ok(Value::Object(header)) => Ok(header),
        Ok(_) => Err("the protected header is no JSON object".to_owned()),
        Err(error) => Err(format!("the protected header is not readable: {error}")),
    }
}

/// Refuses what would change the meaning of the signature without our knowing: `crit`, another payload encoding, and
/// parameters that stand in both headers.
fn known_parameters(entry: &Value, header: &Map<String, Value>) -> Result<(), String> {
    if header.contains_key("crit") || header.contains_key("b64") {
        return Err("the header demands an extension (`crit`, `b64`); none is known here".to_owned());
    }
    let unprotected = match entry.get("header") {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(unprotected)) => unprotected,
        Some(_) => return Err("`header` is no object".to_owned()),
    };
    match unprotected.keys().find(|name| header.contains_key(*name)) {
        Some(name) => Err(format!("`{name}` stands in both headers")),
        None if unprotected.contains_key("crit") => Err("`crit` stands in the unprotected header".to_owned()),
        None => Ok(()),
    }
}

fn member<'a>(entry: &'a Value, name: &str, most: usize) -> Result<&'a str, String> {
    match entry.get(name).and_then(Value::as_str) {
        None | Some("") => Err(format!("`{name}` is missing")),
        Some(text) if text.len() > most => Err(format!("`{name}` has {} characters, more than {most}", text.len())),
        Some(text) => Ok(text),
    }
}

fn decode(name: &str, text: &str) -> Result<Vec<u8>, String> {
    URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("`{name}` is not base64url without padding"))
}
