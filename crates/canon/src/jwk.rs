//! Public keys that others sign with, read from a JSON Web Key Set (RFC 7517): Ed25519, P-256 and RSA.
//!
//! The set comes from the operator, so it is read with care and told about in full: what is no usable signing key is
//! skipped with its reason, and a set that holds a private or shared secret is refused, because its holder should know.
//! There is no `alg` to choose at verification: each key has exactly one algorithm, whatever a signature claims.

use std::fmt;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::signature::{ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey};
use serde::Serialize;
use serde_json::Value;

use crate::{
    Digest,
    dsse::VerifyingKey,
    json::{self, Limits},
};

/// Most bytes of a key set: hundreds of keys, far from a burden.
const SET_BYTES: usize = 1 << 20;
/// Most keys of a set.
const KEYS: usize = 256;
/// RSA moduli from 2048 to 8192 bits; the bounds of the verifier below.
const MODULUS_BYTES: std::ops::RangeInclusive<usize> = 256..=1024;
/// Longest RSA exponent.
const EXPONENT_BYTES: usize = 4;

/// The signature algorithms that are accepted (RFC 7518, RFC 8037). The list is closed on purpose: no `none`, and
/// nothing that is verified with a shared secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Algorithm {
    /// Ed25519, verified strictly.
    #[serde(rename = "EdDSA")]
    EdDsa,
    /// ECDSA on P-256 with SHA-256, 64 bytes `r || s`.
    #[serde(rename = "ES256")]
    Es256,
    /// RSASSA-PKCS1-v1_5 with SHA-256, 2048 to 8192 bits.
    #[serde(rename = "RS256")]
    Rs256,
}

/// Keys by their names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet {
    keys: Vec<PublicKey>,
    skipped: Vec<Skipped>,
}

/// One public key with its name and its one algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    kid: String,
    material: Material,
}

/// An entry that was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// Its place in the set.
    pub index: usize,
    /// Its name, where it has one.
    pub kid: Option<String>,
    /// Why.
    pub why: String,
}

/// Why a file is no key set.
#[derive(Debug, thiserror::Error)]
pub enum KeySetError {
    /// Not readable as JSON.
    #[error("not a JSON document: {0}")]
    Json(#[from] json::JsonError),
    /// Neither `{"keys": [...]}` nor one key.
    #[error("neither a key set `{{\"keys\": [...]}}` nor one key with `kty`; keys in PEM must be converted to JWK")]
    Shape,
    /// More keys than anybody has.
    #[error("{0} keys, more than the {KEYS} that are read")]
    TooMany(usize),
    /// A secret where only public keys belong.
    #[error("key {index} holds a secret (member `{member}`); give the public half only, and replace the key")]
    Secret {
        /// The entry's place.
        index: usize,
        /// The member that holds it.
        member: &'static str,
    },
    /// Nothing left.
    #[error("no usable key: {0}")]
    Empty(String),
}

#[derive(Clone, PartialEq, Eq)]
enum Material {
    Ed25519(VerifyingKey),
    /// The uncompressed point.
    P256([u8; 65]),
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

// === impl Algorithm ===

impl Algorithm {
    /// All accepted algorithms.
    pub const ALL: [Self; 3] = [Self::EdDsa, Self::Es256, Self::Rs256];

    /// The name in `alg`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::EdDsa => "EdDSA",
            Self::Es256 => "ES256",
            Self::Rs256 => "RS256",
        }
    }

    /// The algorithm of a name, compared exactly.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.as_str() == name)
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl KeySet ===

impl KeySet {
    /// Reads a key set, or one key alone.
    ///
    /// # Errors
    /// When the bytes are no key set, hold a secret, or leave no usable key.
    pub fn parse(bytes: &[u8]) -> Result<Self, KeySetError> {
        let value = json::parse_strict(bytes, Limits::DOCUMENT.with_bytes(SET_BYTES))?;
        let entries = match (value.get("keys"), value.get("kty")) {
            (Some(Value::Array(keys)), _) => keys.as_slice(),
            (None, Some(_)) => std::slice::from_ref(&value),
            _ => return Err(KeySetError::Shape),
        };
        if entries.len() > KEYS {
            return Err(KeySetError::TooMany(entries.len()));
        }
        let mut set = Self::default();
        for (index, entry) in entries.iter().enumerate() {
            if let Some(member) = secret(entry) {
                return Err(KeySetError::Secret { index, member });
            }
            match PublicKey::read(entry) {
                Ok(key) => set.keys.push(key),
                Err(why) => set.skipped.push(Skipped { index, kid: text(entry, "kid").map(str::to_owned), why }),
            }
        }
        if set.keys.is_empty() { Err(KeySetError::Empty(set.why_empty())) } else { Ok(set) }
    }

    /// The usable keys.
    #[must_use]
    pub fn keys(&self) -> &[PublicKey] {
        &self.keys
    }

    /// The entries that were not taken over, each with its reason.
    #[must_use]
    pub fn skipped(&self) -> &[Skipped] {
        &self.skipped
    }

    /// Whether it holds no key.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The keys of a name: usually one, but nothing keeps an issuer from one name for two algorithms.
    pub fn named<'s>(&'s self, kid: &'s str) -> impl Iterator<Item = &'s PublicKey> + 's {
        self.keys.iter().filter(move |key| key.kid == kid)
    }

    fn why_empty(&self) -> String {
        let told: Vec<String> = self.skipped.iter().map(|s| format!("key {}: {}", s.index, s.why)).collect();
        if told.is_empty() { "the set is empty".to_owned() } else { told.join("; ") }
    }
}

impl From<PublicKey> for KeySet {
    fn from(key: PublicKey) -> Self {
        Self { keys: vec![key], skipped: Vec::new() }
    }
}

// === impl PublicKey ===

impl PublicKey {
    /// An Ed25519 key under a name.
    #[must_use]
    pub fn ed25519(kid: impl Into<String>, key: VerifyingKey) -> Self {
        Self { kid: kid.into(), material: Material::Ed25519(key) }
    }

    /// The key's name; for a key without one its thumbprint.
    #[must_use]
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// The one algorithm that it verifies.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::Ed25519(_) => Algorithm::EdDsa,
            Material::P256(_) => Algorithm::Es256,
            Material::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// The thumbprint of RFC 7638 with SHA-256, base64url: names the key itself, whatever its `kid` says.
    #[must_use]
    pub fn thumbprint(&self) -> String {
        self.material.thumbprint()
    }

    /// Whether `signature` is this key's signature over `message`.
    #[must_use]
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        match &self.material {
            Material::Ed25519(key) => key.verifies(message, signature),
            Material::P256(point) => {
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature).is_ok()
            }
            Material::Rsa { n, e } => {
                RsaPublicKeyComponents { n, e }.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature).is_ok()
            }
        }
    }

    fn read(entry: &Value) -> Result<Self, String> {
        for_signatures(entry)?;
        let material = Material::read(entry)?;
        let key = Self { kid: String::new(), material };
        agrees(entry, key.algorithm())?;
        let kid = text(entry, "kid").filter(|kid| !kid.is_empty()).map_or_else(|| key.thumbprint(), str::to_owned);
        Ok(Self { kid, ..key })
    }
}

// === impl Material ===

impl Material {
    fn read(entry: &Value) -> Result<Self, String> {
        match (text(entry, "kty").unwrap_or_default(), text(entry, "crv").unwrap_or_default()) {
            ("OKP", "Ed25519") => {
                let key = VerifyingKey::from_bytes(&exactly(entry, "x")?).map_err(|error| error.to_string())?;
                Ok(Self::Ed25519(key))
            }
            ("EC", "P-256") => {
                let (x, y): ([u8; 32], [u8; 32]) = (exactly(entry, "x")?, exactly(entry, "y")?);
                let mut point = [4; 65];
                point[1..33].copy_from_slice(&x);
                point[33..].copy_from_slice(&y);
                Ok(Self::P256(point))
            }
            ("RSA", _) => {
                let (n, e) = (integer(entry, "n")?, integer(entry, "e")?);
                if !MODULUS_BYTES.contains(&n.len()) {
                    return Err(format!("an RSA modulus of {} bits; 2048 to 8192 are accepted", n.len() * 8));
                }
                if e.len() > EXPONENT_BYTES || matches!(e.as_slice(), [] | [1]) || e.last().is_none_or(|b| b % 2 == 0) {
                    return Err("an RSA exponent that no sound key has".to_owned());
                }
                Ok(Self::Rsa { n, e })
            }
            (kty, crv) => Err(format!("a key of kind `{kty}` {crv}; Ed25519, P-256 and RSA are read")),
        }
    }

    fn thumbprint(&self) -> String {
        let b64 = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let members = match self {
            Self::Ed25519(key) => format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{}"}}"#, b64(key.as_bytes())),
            Self::P256(point) => {
                let (x, y) = (b64(&point[1..33]), b64(&point[33..]));
                format!(r#"{{"crv":"P-256","kty":"EC","x":"{x}","y":"{y}"}}"#)
            }
            Self::Rsa { n, e } => format!(r#"{{"e":"{}","kty":"RSA","n":"{}"}}"#, b64(e), b64(n)),
        };
        b64(Digest::of(members.as_bytes()).as_bytes())
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.thumbprint())
    }
}

/// The member of an entry that makes it a secret: a private half, or a key that both sides share.
fn secret(entry: &Value) -> Option<&'static str> {
    ["d", "k"].into_iter().find(|member| entry.get(member).is_some())
}

/// What a key is for, where it says so.
fn for_signatures(entry: &Value) -> Result<(), String> {
    if let Some(purpose) = text(entry, "use").filter(|purpose| *purpose != "sig") {
        return Err(format!("for `{purpose}`, not for signatures"));
    }
    if let Some(operations) = entry.get("key_ops").and_then(Value::as_array)
        && !operations.iter().any(|op| op == "verify")
    {
        return Err("`key_ops` does not hold `verify`".to_owned());
    }
    if entry.get("revoked").is_some_and(|revoked| !revoked.is_null()) {
        return Err("revoked".to_owned());
    }
    Ok(())
}

/// Whether an entry's own `alg` is the one of its kind; RFC 9864 renamed `EdDSA` on this curve.
fn agrees(entry: &Value, algorithm: Algorithm) -> Result<(), String> {
    match text(entry, "alg") {
        Some("Ed25519") if algorithm == Algorithm::EdDsa => Ok(()),
        Some(name) if name != algorithm.as_str() => {
            Err(format!("for `{name}`; a key of this kind is used for {algorithm}"))
        }
        _ => Ok(()),
    }
}

fn text<'a>(entry: &'a Value, member: &str) -> Option<&'a str> {
    entry.get(member).and_then(Value::as_str)
}

fn bytes(entry: &Value, member: &str) -> Result<Vec<u8>, String> {
    let text = text(entry, member).ok_or_else(|| format!("`{member}` is missing"))?;
    URL_SAFE_NO_PAD.decode(text).map_err(|_| format!("`{member}` is not base64url without padding"))
}

fn exactly<const N: usize>(entry: &Value, member: &str) -> Result<[u8; N], String> {
    bytes(entry, member)?.try_into().map_err(|_| format!("`{member}` has not {N} bytes"))
}

/// An unsigned integer without the leading zeros that some writers put there.
fn integer(entry: &Value, member: &str) -> Result<Vec<u8>, String> {
    let bytes = bytes(entry, member)?;
    let zeros = bytes.iter().take_while(|b| **b == 0).count();
    Ok(bytes[zeros..].to_vec())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::dsse::SigningKey;

    /// RFC 8037 appendix A: key, thumbprint and signature.
    const RFC8037_X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";

    fn parse(value: &Value) -> Result<KeySet, KeySetError> {
        KeySet::parse(value.to_string().as_bytes())
    }

    /// RFC 7515 appendix A.3: an ES256 key.
    fn p256() -> Value {
        json!({"kty": "EC", "crv": "P-256", "kid": "a",
            "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU", "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"})
    }

    fn ed25519() -> Value {
        json!({"kty": "OKP", "crv": "Ed25519", "x": RFC8037_X})
    }

    #[test]
    fn the_example_of_rfc_8037_verifies_and_is_named_by_its_thumbprint() {
        let set = parse(&json!({"keys": [ed25519()]})).unwrap();
        let key = &set.keys()[0];
        assert_eq!(key.kid(), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
        let input = b"eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
        let sig = "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
        assert!(key.verifies(input, &URL_SAFE_NO_PAD.decode(sig).unwrap()));
        assert!(!key.verifies(b"other", &URL_SAFE_NO_PAD.decode(sig).unwrap()));
    }

    #[test]
    fn the_es256_example_of_rfc_7515_verifies() {
        let set = parse(&p256()).unwrap();
        let input = b"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
        let sig = "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
        let sig = URL_SAFE_NO_PAD.decode(sig).unwrap();
        let key = set.named("a").next().unwrap();
        assert_eq!(key.algorithm(), Algorithm::Es256);
        assert!(key.verifies(input, &sig));
        assert!(!key.verifies(input, &sig[..63]));
    }

    #[test]
    fn what_cannot_sign_cards_is_skipped_with_its_reason() {
        let with = |base: Value, member: &str, value: Value| {
            let mut key = base;
            key[member] = value;
            key
        };
        let liars = [
            (with(p256(), "use", json!("enc")), "not for signatures"),
            (with(p256(), "key_ops", json!(["sign"])), "key_ops"),
            (with(p256(), "alg", json!("ES512")), "ES512"),
            (with(p256(), "crv", json!("P-384")), "P-384"),
            (with(p256(), "y", json!("AAAA")), "32 bytes"),
            (with(p256(), "x", json!("not base64!")), "base64url"),
            (with(p256(), "revoked", json!({"revoked_at": 1})), "revoked"),
            (with(ed25519(), "alg", json!("ES256")), "ES256"),
            (with(ed25519(), "x", json!(URL_SAFE_NO_PAD.encode([0; 32]))), "weak"),
            (json!({"kty": "RSA", "n": URL_SAFE_NO_PAD.encode([0xff; 128]), "e": "AQAB"}), "1024 bits"),
            (json!({"kty": "RSA", "n": URL_SAFE_NO_PAD.encode([0xff; 256]), "e": "AQ"}), "exponent"),
            (json!({"kty": "Unknown"}), "Unknown"),
            (json!(7), "kind"),
        ];
        for (liar, why) in liars {
            let set = parse(&json!({"keys": [liar, ed25519()]})).unwrap();
            assert_eq!(set.keys().len(), 1, "{liar}");
            assert!(set.skipped()[0].why.contains(why), "{liar}: {:?}", set.skipped());
            assert!(matches!(parse(&json!({"keys": [liar]})), Err(KeySetError::Empty(_))), "{liar}");
        }
    }

    #[test]
    fn a_secret_in_the_set_is_refused() {
        for (member, value) in [("d", "AAAA"), ("k", "AAAA")] {
            let mut key = p256();
            key[member] = json!(value);
            assert!(matches!(parse(&json!({"keys": [ed25519(), key]})), Err(KeySetError::Secret { index: 1, .. })));
        }
    }

    #[test]
    fn other_documents_are_no_key_sets() {
        assert!(matches!(parse(&json!({"kid-1": "-----BEGIN PUBLIC KEY-----"})), Err(KeySetError::Shape)));
        assert!(matches!(parse(&json!({"keys": {}})), Err(KeySetError::Shape)));
        assert!(matches!(parse(&json!({"keys": []})), Err(KeySetError::Empty(_))));
        assert!(matches!(parse(&json!({"keys": vec![ed25519(); 257]})), Err(KeySetError::TooMany(257))));
        assert!(matches!(KeySet::parse(b"{\"keys\":[],\"keys\":[]}"), Err(KeySetError::Json(_))));
    }

    #[test]
    fn one_of_our_own_keys_goes_by_the_given_name() {
        let key = SigningKey::from_seed([3; 32]);
        let set = KeySet::from(PublicKey::ed25519("ours", key.verifying_key()));
        let found = set.named("ours").next().unwrap();
        assert!(found.verifies(b"message", &key.sign_bytes(b"message")));
        assert_eq!(set.named("other").count(), 0);
    }
}
