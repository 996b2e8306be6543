//! Whether a compact token is what it claims, by published keys: for introspection and for callbacks.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use jiff::Timestamp;
use ostiary_canon::{
    json::{Limits, parse_strict},
    jwk::{Algorithm, KeySet},
};
use serde_json::Value;

/// Seconds that a sender's clock may be off (RFC 7519 §4.1.4 lets a verifier grant a small leeway).
const LEEWAY: i64 = 60;

/// The claims of a token whose signature one of the keys made, and whose time it is.
///
/// # Errors
/// What is wrong with it, without any part of it.
pub(super) fn claims(token: &str, keys: &KeySet, now: Timestamp) -> Result<Value, &'static str> {
    let (signed, signature) = token.rsplit_once('.').ok_or("it is no compact token")?;
    let (header, body) = signed.split_once('.').ok_or("it is no compact token")?;
    let header = part(header).ok_or("its header is no JSON")?;
    let named = header.get("alg").and_then(Value::as_str).and_then(Algorithm::parse);
    let algorithm = named.ok_or("its algorithm is none that is taken")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "its signature is no base64url")?;
    let kid = header.get("kid").and_then(Value::as_str);
    let mut candidates = keys.keys().iter().filter(|key| kid.is_none_or(|kid| kid == key.kid())).peekable();
    if candidates.peek().is_none() {
        return Err("it names a key that is not published");
    }
    let good = |key: &ostiary_canon::jwk::PublicKey| {
        key.algorithm() == algorithm && key.verifies(signed.as_bytes(), &signature)
    };
    if !candidates.any(good) {
        return Err("no published key made its signature");
    }
    let claims = part(body).ok_or("its claims are no JSON")?;
    let time = |name: &str| claims.get(name).and_then(Value::as_i64);
    match time("exp") {
        None => return Err("it has no end (`exp`)"),
        Some(exp) if exp + LEEWAY <= now.as_second() => return Err("it is expired"),
        Some(_) => {}
    }
    if time("nbf").is_some_and(|nbf| nbf - LEEWAY > now.as_second()) {
        return Err("its time has not come");
    }
    Ok(claims)
}

/// Whether the `aud` of claims, one or many, holds an audience.
pub(super) fn is_for(claims: &Value, audience: &str) -> bool {
    match claims.get("aud") {
        Some(Value::String(one)) => one == audience,
        Some(Value::Array(many)) => many.iter().any(|one| one == audience),
        _ => false,
    }
}

fn part(text: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    parse_strict(&bytes, Limits::WIRE).ok().filter(Value::is_object)
}
