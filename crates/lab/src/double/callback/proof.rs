//! Whether a delivery shows what its registration asks for. Pure.

use http::{HeaderMap, header};
use jiff::Timestamp;
use ostiary_canon::jwk::KeySet;
use ostiary_record::{Proof, Shown};
use serde_json::Value;

use crate::double::verify;

/// All proofs together: what is wrong comes before what is missing.
pub(super) fn shown(proofs: &[Proof], headers: &HeaderMap, now: Timestamp) -> Shown {
    let each: Vec<_> = proofs.iter().map(|proof| one(proof, headers, now)).collect();
    let wrong = each.iter().find(|shown| matches!(shown, Shown::Wrong(_)));
    let missing = each.iter().find(|shown| **shown == Shown::Missing);
    wrong.or(missing).or(each.first()).cloned().unwrap_or(Shown::NotAsked)
}

fn one(proof: &Proof, headers: &HeaderMap, now: Timestamp) -> Shown {
    match proof {
        Proof::Authorization { scheme, credentials } => match authorization(headers) {
            None => Shown::Missing,
            Some((s, _)) if !s.eq_ignore_ascii_case(scheme) => wrong("the scheme of `Authorization` is another one"),
            Some((_, c)) if c != credentials => wrong("the credentials of `Authorization` are others"),
            Some(_) => Shown::Right,
        },
        Proof::Token { fields, value } => match fields.iter().find_map(|name| headers.get(name)) {
            None => Shown::Missing,
            Some(found) if found.as_bytes() != value.as_bytes() => wrong("the token is another one"),
            Some(_) => Shown::Right,
        },
        Proof::Jwt { jwks, audience, issuer } => match authorization(headers) {
            None => Shown::Missing,
            Some((s, _)) if !s.eq_ignore_ascii_case("bearer") => wrong("the scheme of `Authorization` is not `Bearer`"),
            Some((_, token)) => {
                jwt(token, jwks, audience, issuer.as_deref(), now).map_or_else(wrong, |()| Shown::Right)
            }
        },
    }
}

fn jwt(token: &str, jwks: &Value, audience: &str, issuer: Option<&str>, now: Timestamp) -> Result<(), &'static str> {
    let keys = KeySet::parse(jwks.to_string().as_bytes()).map_err(|_| "the registered keys are no key set")?;
    let claims = verify::claims(token, &keys, now)?;
    if !verify::is_for(&claims, audience) {
        return Err("it is meant for another audience");
    }
    if issuer.is_some_and(|issuer| claims["iss"] != issuer) {
        return Err("it is of another issuer");
    }
    Ok(())
}

fn authorization(headers: &HeaderMap) -> Option<(&str, &str)> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    Some((scheme, rest.trim()))
}

fn wrong(why: &str) -> Shown {
    Shown::Wrong(why.to_owned())
}
