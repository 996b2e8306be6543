//! Bearer tokens: a JWT signed with Ed25519, from one issuer, for this agent, not expired.
//!
//! Claims: `iss`, `aud` (text or list), `exp` (seconds), optional `nbf`, `sub`, `tenant`, `scopes` (list; the OAuth
//! spelling `scope`, blank-separated, is read too). Only `alg: EdDSA` is taken, whatever the token says.

use std::collections::BTreeMap;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signature, VerifyingKey};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use crate::lies::{Lie, Lies};

/// Whose tokens are taken, and for whom they must be meant.
#[derive(Clone, Debug)]
pub struct Trust {
    issuer: String,
    audience: String,
    keys: BTreeMap<String, VerifyingKey>,
}

/// A set of keys that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TrustError {
    /// The document is no key set.
    #[error("read the key set: it has no `keys` list")]
    NoKeys,
    /// A key is none of ours.
    #[error("read key {0} of the key set: want kty `OKP`, crv `Ed25519`, a `kid` and 32 bytes of `x`")]
    BadKey(usize),
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Caller {
    /// The tenant whose tasks it may see. `None` sees all, which only a lie gives.
    pub(crate) tenant: Option<String>,
    scopes: Vec<String>,
}

/// Why a caller is turned away; told to nobody but the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refused {
    #[error("no bearer token")]
    Missing,
    #[error("the token is no JWT signed with EdDSA")]
    Malformed,
    #[error("no trusted key has signed the token")]
    Signature,
    #[error("the token is of another issuer or for another audience")]
    Meant,
    #[error("the token is expired or not valid yet")]
    Time,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    kid: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    aud: Audience,
    exp: i64,
    nbf: Option<i64>,
    tenant: String,
    #[serde(default)]
    scopes: Vec<String>,
    scope: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

// === impl Trust ===

impl Trust {
    /// Takes tokens of `issuer` for `audience`, signed by a key of a JWKS document.
    ///
    /// # Errors
    /// When the document is no set of Ed25519 keys.
    pub fn from_jwks(issuer: &str, audience: &str, jwks: &Value) -> Result<Self, TrustError> {
        let list = jwks["keys"].as_array().ok_or(TrustError::NoKeys)?;
        let keys = list.iter().enumerate().map(|(n, key)| jwk(key).ok_or(TrustError::BadKey(n)));
        Ok(Self { issuer: issuer.to_owned(), audience: audience.to_owned(), keys: keys.collect::<Result<_, _>>()? })
    }

    /// Decides who calls. `authorization` is the header field's value.
    pub(crate) fn judge(&self, authorization: Option<&str>, lies: &Lies, now: Timestamp) -> Result<Caller, Refused> {
        let Some(token) = authorization.and_then(bearer) else {
            let anonymous = Caller { tenant: None, scopes: vec![SCOPE_READ.to_owned(), SCOPE_WRITE.to_owned()] };
            return if lies.tells(Lie::AllowAnonymous) { Ok(anonymous) } else { Err(Refused::Missing) };
        };
        let (signed, signature) = token.rsplit_once('.').ok_or(Refused::Malformed)?;
        let (header, claims) = signed.split_once('.').ok_or(Refused::Malformed)?;
        let header: Header = part(header)?;
        if header.alg != "EdDSA" {
            return Err(Refused::Malformed);
        }
        let claims: Claims = part(claims)?;
        if !lies.tells(Lie::AcceptForgedToken) {
            self.check_signature(&header, signed, signature)?;
            self.check_meant(&claims)?;
        }
        if !lies.tells(Lie::AcceptExpiredToken) && !in_time(&claims, now) {
            return Err(Refused::Time);
        }
        Ok(claims.caller())
    }

    fn check_signature(&self, header: &Header, signed: &str, signature: &str) -> Result<(), Refused> {
        let bytes = URL_SAFE_NO_PAD.decode(signature).map_err(|_| Refused::Malformed)?;
        let signature = Signature::from_slice(&bytes).map_err(|_| Refused::Malformed)?;
        let key = header.kid.as_ref().and_then(|kid| self.keys.get(kid)).ok_or(Refused::Signature)?;
        key.verify_strict(signed.as_bytes(), &signature).map_err(|_| Refused::Signature)
    }

    fn check_meant(&self, claims: &Claims) -> Result<(), Refused> {
        let for_us = match &claims.aud {
            Audience::One(one) => *one == self.audience,
            Audience::Many(many) => many.contains(&self.audience),
        };
        if claims.iss == self.issuer && for_us { Ok(()) } else { Err(Refused::Meant) }
    }
}

// === impl Caller ===

const SCOPE_READ: &str = "plan.read";
const SCOPE_WRITE: &str = "plan.write";

impl Caller {
    /// Whether it may make or cancel work.
    pub(crate) fn may_write(&self) -> bool {
        self.scopes.iter().any(|scope| scope == SCOPE_WRITE)
    }

    /// Whether it may look at work; who may write may look.
    pub(crate) fn may_read(&self) -> bool {
        self.may_write() || self.scopes.iter().any(|scope| scope == SCOPE_READ)
    }

    /// Whether it may act for `tenant`.
    pub(crate) fn is_of(&self, tenant: &str) -> bool {
        self.tenant.as_deref().is_none_or(|own| own == tenant)
    }
}

// === impl Claims ===

impl Claims {
    fn caller(self) -> Caller {
        let mut scopes = self.scopes;
        scopes.extend(self.scope.iter().flat_map(|scope| scope.split_whitespace()).map(str::to_owned));
        Caller { tenant: Some(self.tenant), scopes }
    }
}

fn in_time(claims: &Claims, now: Timestamp) -> bool {
    let now = now.as_second();
    now < claims.exp && claims.nbf.is_none_or(|nbf| nbf <= now)
}

fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn part<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, Refused> {
    let bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| Refused::Malformed)?;
    serde_json::from_slice(&bytes).map_err(|_| Refused::Malformed)
}

fn jwk(key: &Value) -> Option<(String, VerifyingKey)> {
    if key["kty"] != "OKP" || key["crv"] != "Ed25519" {
        return None;
    }
    let bytes: [u8; 32] = URL_SAFE_NO_PAD.decode(key["x"].as_str()?).ok()?.try_into().ok()?;
    Some((key["kid"].as_str()?.to_owned(), VerifyingKey::from_bytes(&bytes).ok()?))
}
