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

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ed25519_dalek::{Signer, SigningKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Signs tokens with one key. The same seed gives the same key, and the same claims the same token.
pub struct TokenSigner {
    key: SigningKey,
    kid: String,
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
        let key = SigningKey::from_bytes(&seed);
        let kid = thumbprint(&public(&key));
        Self { key, kid }
    }

    /// A signer whose key follows from a seed and a purpose: another purpose, another key.
    #[must_use]
    pub fn derived(seed: &[u8], purpose: &str) -> Self {
        let digest = Sha256::new().chain_update(purpose.as_bytes()).chain_update([0]).chain_update(seed).finalize();
        Self::from_seed(digest.into())
    }

    /// The key's name in tokens and in the key set.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The key set that checks this signer's tokens.
    #[must_use]
    pub fn jwks(&self) -> Value {
        let x = public(&self.key);
        json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": self.kid, "alg": "EdDSA", "use": "sig"}]})
    }

    /// A signed token.
    #[must_use]
    pub fn sign(&self, claims: &Claims) -> String {
        let mut body = json!(claims);
        body["scope"] = json!(claims.scopes.join(" "));
        let header = json!({"alg": "EdDSA", "typ": "JWT", "kid": self.kid});
        let signed = format!("{}.{}", encode(&header), encode(&body));
        let signature = URL_SAFE_NO_PAD.encode(self.key.sign(signed.as_bytes()).to_bytes());
        format!("{signed}.{signature}")
    }
}

fn encode(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

fn public(key: &SigningKey) -> String {
    URL_SAFE_NO_PAD.encode(key.verifying_key().as_bytes())
}

/// RFC 7638: SHA-256 over the required members in the order of their names.
fn thumbprint(x: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#)))
}

#[cfg(test)]
mod tests {
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

    /// The example of RFC 8037, appendix A.3.
    #[test]
    fn the_thumbprint_is_that_of_the_standard() {
        assert_eq!(
            thumbprint("11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"),
            "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"
        );
    }
}
