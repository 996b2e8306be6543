//! Signing a card: the counterpart of verifying, without a key of its own.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ostiary_canon::{dsse::SigningKey, json::CanonError, jwk::Algorithm};
use serde_json::{Value, json};

use super::form::Form;

/// A signature before its bytes are known: whoever holds the key signs [`Draft::input`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    protected: String,
    input: Vec<u8>,
}

/// Why a card cannot be signed.
#[derive(Debug, thiserror::Error)]
pub enum SignError {
    /// Not a JSON object, or `signatures` is no list.
    #[error("the card is no JSON object with a list of signatures")]
    Shape,
    /// A number has no canonical spelling.
    #[error("no canonical form: {0}")]
    Canonical(#[from] CanonError),
}

// === impl Draft ===

impl Draft {
    /// Prepares a signature of `card` in `form`.
    ///
    /// # Errors
    /// When the card has no canonical form.
    pub fn new(card: &Value, form: Form, algorithm: Algorithm, kid: &str) -> Result<Self, SignError> {
        let header = json!({"alg": algorithm.as_str(), "kid": kid, "typ": "JOSE"});
        let protected = URL_SAFE_NO_PAD.encode(header.to_string());
        let input = input(&protected, &form.of(card)?.bytes);
        Ok(Self { protected, input })
    }

    /// The bytes to be signed.
    #[must_use]
    pub fn input(&self) -> &[u8] {
        &self.input
    }

    /// Adds the signature to the card, after those that it carries.
    ///
    /// # Errors
    /// When the card is no object, or its `signatures` is no list.
    pub fn put(self, card: &mut Value, signature: &[u8]) -> Result<(), SignError> {
        let entry = json!({"protected": self.protected, "signature": URL_SAFE_NO_PAD.encode(signature)});
        let members = card.as_object_mut().ok_or(SignError::Shape)?;
        match members.entry("signatures").or_insert_with(|| Value::Array(Vec::new())) {
            Value::Array(list) => list.push(entry),
            unset @ Value::Null => *unset = Value::Array(vec![entry]),
            _ => return Err(SignError::Shape),
        }
        Ok(())
    }
}

/// Signs `card` with an Ed25519 key in one form. Sign in [`Form::Specification`]; a further signature in a form of the
/// SDKs lets these verify a card that holds something empty, and covers so much less.
///
/// # Errors
/// When the card has no canonical form, or its `signatures` is no list.
pub fn sign(card: &mut Value, form: Form, key: &SigningKey, kid: &str) -> Result<(), SignError> {
    let draft = Draft::new(card, form, Algorithm::EdDsa, kid)?;
    let signature = key.sign_bytes(draft.input());
    draft.put(card, &signature)
}

/// What a signature is over (RFC 7515 §5.1).
pub(super) fn input(protected: &str, payload: &[u8]) -> Vec<u8> {
    format!("{protected}.{}", URL_SAFE_NO_PAD.encode(payload)).into_bytes()
}
