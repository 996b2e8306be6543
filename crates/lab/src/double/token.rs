//! A minimal token signer: JSON Web Tokens signed with Ed25519, and the key set to check them with.
//!
//! Form of a token (compact JWS, RFC 7515; `EdDSA`, RFC 8037):
//!
//! ```text
//! header  {"alg":"EdDSA","typ":"JWT","kid":"<RFC 7638 thumbprint of the key>"}
//! claims  {"iss":"<issuer>", "sub":"<subject>", "aud":"<audience>", "iat":<seconds>, "exp":<seconds>,
//!          "tenant":"<tenant>", "scopes":["plan.write"], "scope":"plan.write"}
//! ```
//!
//! `tenant` is absent where a subject has none. `scopes` and `scope` say the same, for both habits. The key set is a
//! JWKS document (RFC 7517) with one key of type `OKP`.

use ostiary_canon::jwk::Algorithm;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::key::JwtKey;

/// Signs tokens with one key. The same seed gives the same key, and the same claims the same token.
pub struct TokenSigner {
    key: JwtKey,
}

/// What a token claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// Who issued it.
    pub iss: String,
    /// Whom it names.
    pub sub: String,
    /// For whom it is meant.
    pub aud: String,
    /// When it was issued, in seconds since 1970.
    pub iat: i64,
    /// When it ends, in seconds since 1970.
    pub exp: i64,
    /// The tenant of the subject.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// What it permits.
    pub scopes: Vec<String>,
}

// === impl TokenSigner ===

impl TokenSigner {
    /// A signer whose key follows from the seed.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { key: JwtKey::from_seed(Algorithm::EdDsa, seed) }
    }

    /// A signer whose key follows from a seed and a purpose: another purpose, another key.
    #[must_use]
    pub fn derived(seed: &[u8], purpose: &str) -> Self {
        Self { key: JwtKey::derived(Algorithm::EdDsa, seed, purpose) }
    }

    /// The key's name in tokens and in the key set.
    #[must_use]
    pub fn kid(&self) -> &str {
        self.key.kid()
    }

    /// The key set that checks this signer's tokens.
    #[must_use]
    pub fn jwks(&self) -> Value {
        json!({"keys": [self.key.jwk()]})
    }

    /// A signed token.
    #[must_use]
    pub fn sign(&self, claims: &Claims) -> String {
        let mut body = json!(claims);
        body["scope"] = json!(claims.scopes.join(" "));
        self.key.token(&body)
    }
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    use ed25519_dalek::{Signature, VerifyingKey};

    use super::*;

    fn claims() -> Claims {
        let text = str::to_owned;
        let (iss, sub, aud) = (text("https://issuer.test"), text("allowed-user-a"), text("planning-agent"));
        Claims {
            iss,
            sub,
            aud,
            iat: 0,
            exp: 60,
            tenant: Some(text("tenant-a")),
            scopes: vec![text("plan.read"), text("plan.write")],
        }
    }

    #[test]
    fn a_token_is_checked_by_the_published_key() {
        let signer = TokenSigner::from_seed([7; 32]);
        let token = signer.sign(&claims());
        let jwks = signer.jwks();
        let x = URL_SAFE_NO_PAD.decode(jwks["keys"][0]["x"].as_str().unwrap()).unwrap();
        let key = VerifyingKey::from_bytes(&x.try_into().unwrap()).unwrap();
        let (signed, signature) = token.rsplit_once('.').unwrap();
        let signature = Signature::from_slice(&URL_SAFE_NO_PAD.decode(signature).unwrap()).unwrap();
        key.verify_strict(signed.as_bytes(), &signature).unwrap();
        let (header, body) = signed.split_once('.').unwrap();
        let read = |part: &str| serde_json::from_slice::<Value>(&URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(read(header), json!({"alg": "EdDSA", "typ": "JWT", "kid": jwks["keys"][0]["kid"]}));
        assert_eq!(read(body)["scope"], "plan.read plan.write");
        assert_eq!(read(body)["tenant"], "tenant-a");
    }

    #[test]
    fn keys_follow_from_their_seed_and_purpose() {
        let token = |signer: TokenSigner| signer.sign(&claims());
        assert_eq!(token(TokenSigner::derived(b"seed", "issuer")), token(TokenSigner::derived(b"seed", "issuer")));
        assert_ne!(TokenSigner::derived(b"seed", "issuer").kid(), TokenSigner::derived(b"seed", "foreign").kid());
    }
}
