//! Keys of synthetic tokens in the three algorithms that token libraries verify, all from a seed: runs repeat.

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use ed25519_dalek::Signer as _;
use ostiary_canon::jwk::{Algorithm, KeySet};
use rsa::{
    rand_core::{TryCryptoRng, TryRng},
    signature::{RandomizedSigner as _, SignatureEncoding as _},
    traits::PublicKeyParts as _,
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// A key that signs tokens. The same seed gives the same key, and the same message the same signature.
pub struct JwtKey {
    material: Material,
    seed: [u8; 32],
    kid: String,
}

enum Material {
    Ed25519(ed25519_dalek::SigningKey),
    P256(p256::ecdsa::SigningKey),
    Rsa(Box<rsa::pkcs1v15::SigningKey<Sha256>>),
}

/// Bytes that follow from a seed: SHA-256 over seed and counter.
struct Stream {
    seed: [u8; 32],
    counter: u64,
    block: [u8; 32],
    used: usize,
}

/// The size that every library takes.
const RSA_BITS: usize = 2048;

// === impl JwtKey ===

impl JwtKey {
    /// A key whose bytes follow from the seed.
    ///
    /// An RSA key takes some hundred milliseconds to find.
    #[must_use]
    pub fn from_seed(algorithm: Algorithm, seed: [u8; 32]) -> Self {
        let material = match algorithm {
            Algorithm::EdDsa => Material::Ed25519(ed25519_dalek::SigningKey::from_bytes(&seed)),
            Algorithm::Es256 => Material::P256(p256_key(seed)),
            Algorithm::Rs256 => Material::Rsa(Box::new(rsa_key(seed))),
        };
        let mut key = Self { material, seed, kid: String::new() };
        let set = KeySet::parse(key.public().to_string().as_bytes());
        key.kid = set.ok().and_then(|set| set.keys().first().map(|k| k.thumbprint())).unwrap_or_default();
        key
    }

    /// A key for a purpose: another purpose, another key.
    #[must_use]
    pub fn derived(algorithm: Algorithm, seed: &[u8], purpose: &str) -> Self {
        Self::from_seed(algorithm, derive(seed, purpose))
    }

    /// Its algorithm.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Ed25519(_) => Algorithm::EdDsa,
            Material::P256(_) => Algorithm::Es256,
            Material::Rsa(_) => Algorithm::Rs256,
        }
    }

    /// Its name: the thumbprint of RFC 7638.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Its public half as an entry of a key set (RFC 7517).
    #[must_use]
    pub fn jwk(&self) -> Value {
        let mut jwk = self.public();
        jwk["kid"] = json!(self.kid);
        jwk["alg"] = json!(self.algorithm().as_str());
        jwk["use"] = json!("sig");
        jwk
    }

    /// The signature over `message`, as JWS wants it (RFC 7518 §3, RFC 8037 §3.1).
    #[must_use]
    pub fn signature(&self, message: &[u8]) -> Vec<u8> {
        match &self.material {
            Material::Ed25519(key) => key.sign(message).to_bytes().to_vec(),
            Material::P256(key) => {
                let signature: p256::ecdsa::Signature = key.sign(message);
                signature.to_bytes().to_vec()
            }
            Material::Rsa(key) => {
                // The drawn bytes blind the arithmetic; the signature does not depend on them.
                let mut blinding = Stream::new(derive(&self.seed, "blinding"));
                key.sign_with_rng(&mut blinding, message).to_vec()
            }
        }
    }

    /// A compact token (RFC 7515 §7.1) under this key's name and algorithm.
    #[must_use]
    pub fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": self.algorithm().as_str(), "typ": "JWT", "kid": self.kid});
        self.token_under(&header, claims)
    }

    /// A compact token with any header.
    #[must_use]
    pub fn token_under(&self, header: &Value, claims: &Value) -> String {
        let signed = unsigned(header, claims);
        let signature = URL_SAFE_NO_PAD.encode(self.signature(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Its public half as PEM (SubjectPublicKeyInfo, RFC 7468 §13).
    #[must_use]
    pub fn public_pem(&self) -> String {
        let text = STANDARD.encode(self.spki());
        let lines: Vec<_> = text.as_bytes().chunks(64).map(String::from_utf8_lossy).collect();
        format!("-----BEGIN PUBLIC KEY-----\n{}\n-----END PUBLIC KEY-----\n", lines.join("\n"))
    }

    fn spki(&self) -> Vec<u8> {
        match &self.material {
            Material::Ed25519(key) => [&ED25519_SPKI[..], key.verifying_key().as_bytes()].concat(),
            Material::P256(key) => [&P256_SPKI[..], key.verifying_key().to_sec1_point(false).as_bytes()].concat(),
            Material::Rsa(key) => {
                let key: &rsa::PrivateKey = key.as_ref().as_ref();
                let (n, e) = (key.n_bytes(), key.e_bytes());
                let numbers = der(0x30, &[der(0x02, &positive(&n)), der(0x02, &positive(&e))].concat());
                let bits = der(0x03, &[&[0][..], &numbers].concat());
                der(0x30, &[&RSA_ALGORITHM[..], &bits].concat())
            }
        }
    }

    fn public(&self) -> Value {
        let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match &self.material {
            Material::Ed25519(key) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": b64(key.verifying_key().as_bytes())})
            }
            Material::P256(key) => {
                let point = key.verifying_key().to_sec1_point(false);
                let (x, y) = (point.x().map(|x| b64(x)), point.y().map(|y| b64(y)));
                json!({"kty": "EC", "crv": "P-256", "x": x, "y": y})
            }
            Material::Rsa(key) => {
                let key: &rsa::PrivateKey = key.as_ref().as_ref();
                let (n, e) = (key.n_bytes(), key.e_bytes());
                json!({"kty": "RSA", "n": b64(&n), "e": b64(&e)})
            }
        }
    }
}

/// What comes before the 32 bytes of an Ed25519 key (RFC 8410 §4).
const ED25519_SPKI: [u8; 12] = [0x30, 0x2A, 0x30, 0x05, 0x06, 0x03, 0x2B, 0x65, 0x70, 0x03, 0x21, 0x00];
/// What comes before the 65 bytes of an uncompressed point of P-256 (RFC 5480 §2).
const P256_SPKI: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x02, 0x01, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE,
    0x3D, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];
/// `rsaEncryption` with its empty parameters (RFC 3279 §2.3.1).
const RSA_ALGORITHM: [u8; 15] =
    [0x30, 0x0D, 0x06, 0x09, 0x2A, 0x86, 0x48, 0x86, 0xF7, 0x0D, 0x01, 0x01, 0x01, 0x05, 0x00];

/// One value of DER (X.690 §8.1, §10.1).
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
    let mut out = vec![tag];
    match length.as_slice() {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        long => {
            out.push(0x80 | u8::try_from(long.len()).unwrap_or(0x7F));
            out.extend_from_slice(long);
        }
    }
    out.extend_from_slice(content);
    out
}

/// The bytes of a positive integer: a high bit would be a sign.
fn positive(bytes: &[u8]) -> Vec<u8> {
    if bytes.first().is_some_and(|first| first & 0x80 != 0) { [&[0], bytes].concat() } else { bytes.to_vec() }
}

/// Header and claims of a compact token, without a signature.
pub(super) fn unsigned(header: &Value, claims: &Value) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}", part(header), part(claims))
}

/// Thirty-two bytes for a purpose: another purpose, other bytes.
#[must_use]
pub fn derive(seed: &[u8], purpose: &str) -> [u8; 32] {
    Sha256::new().chain_update(purpose.as_bytes()).chain_update([0]).chain_update(seed).finalize().into()
}

fn p256_key(seed: [u8; 32]) -> p256::ecdsa::SigningKey {
    // One seed in four thousand million is no scalar of the curve.
    let mut seed = seed;
    loop {
        if let Ok(key) = p256::ecdsa::SigningKey::from_slice(&seed) {
            return key;
        }
        seed = derive(&seed, "the next scalar");
    }
}

fn rsa_key(seed: [u8; 32]) -> rsa::pkcs1v15::SigningKey<Sha256> {
    let mut stream = Stream::new(seed);
    loop {
        if let Ok(key) = rsa::PrivateKey::new(&mut stream, RSA_BITS) {
            return rsa::pkcs1v15::SigningKey::new(key);
        }
    }
}

// === impl Stream ===

impl Stream {
    const fn new(seed: [u8; 32]) -> Self {
        Self { seed, counter: 0, block: [0; 32], used: 32 }
    }
}

impl TryRng for Stream {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        for byte in bytes {
            if self.used == self.block.len() {
                let counter = self.counter.to_le_bytes();
                self.block = Sha256::new().chain_update(self.seed).chain_update(counter).finalize().into();
                (self.counter, self.used) = (self.counter + 1, 0);
            }
            *byte = self.block[self.used];
            self.used += 1;
        }
        Ok(())
    }
}

/// As unpredictable as its seed is.
impl TryCryptoRng for Stream {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_algorithm_signs_what_its_published_key_verifies() {
        for algorithm in Algorithm::ALL {
            let key = JwtKey::from_seed(algorithm, [7; 32]);
            let set = KeySet::parse(json!({"keys": [key.jwk()]}).to_string().as_bytes()).unwrap();
            let published = &set.keys()[0];
            assert_eq!((published.algorithm(), published.kid()), (algorithm, key.kid()));
            assert_eq!(published.thumbprint(), key.kid());
            assert!(published.verifies(b"message", &key.signature(b"message")), "{algorithm}");
            assert!(!published.verifies(b"massage", &key.signature(b"message")), "{algorithm}");
        }
    }

    #[test]
    fn keys_and_signatures_follow_from_the_seed() {
        for algorithm in Algorithm::ALL {
            let key = |purpose: &str| JwtKey::derived(algorithm, b"seed", purpose);
            assert_eq!(key("a").token(&json!({"sub": "x"})), key("a").token(&json!({"sub": "x"})), "{algorithm}");
            assert_ne!(key("a").kid(), key("b").kid(), "{algorithm}");
        }
    }
}
