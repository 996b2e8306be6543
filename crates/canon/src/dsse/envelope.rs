//! The envelope and the bytes that are signed.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use super::KeyId;
use crate::json::{self, JsonError, Limits};

/// Largest envelope that is read, in bytes: evidence is small, recordings are not in it.
pub const ENVELOPE_LIMIT: usize = 1 << 20;

/// Most signatures that are looked at: each costs a curve operation.
const SIGNATURE_LIMIT: usize = 16;

/// A payload with its type and signatures; not verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Wire", into = "Wire")]
pub struct Envelope {
    /// What the payload is, as media type.
    pub payload_type: String,
    /// The payload as it was signed.
    pub payload: Vec<u8>,
    /// The signatures; none means stripped.
    pub signatures: Vec<Signature>,
}

/// One signature of an envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Which key claims to have signed; a hint, no proof.
    pub keyid: KeyId,
    /// The signature bytes.
    pub sig: Vec<u8>,
}

/// Why bytes are no envelope.
#[derive(Debug, thiserror::Error)]
pub enum EnvelopeError {
    /// Not acceptable JSON.
    #[error("not acceptable JSON")]
    Json(#[from] JsonError),
    /// JSON of another shape.
    #[error("not a DSSE envelope: {0}")]
    Shape(String),
}

#[derive(Clone, Serialize, Deserialize)]
struct Wire {
    payload: String,
    #[serde(rename = "payloadType")]
    payload_type: String,
    signatures: Vec<WireSignature>,
}

#[derive(Clone, Serialize, Deserialize)]
struct WireSignature {
    keyid: String,
    sig: String,
}

/// The pre-authentication encoding: what a DSSE signature signs.
#[must_use]
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut out = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len()).into_bytes();
    out.extend_from_slice(payload);
    out
}

// === impl Envelope ===

impl Envelope {
    /// Reads an envelope.
    ///
    /// # Errors
    /// When the bytes are too many, not strict JSON, or not an envelope; base64 must be the padded standard form.
    pub fn parse(bytes: &[u8]) -> Result<Self, EnvelopeError> {
        let limits = Limits { bytes: ENVELOPE_LIMIT, depth: 8, integers: json::Integers::Double, values: 10_000 };
        let value = json::parse_strict(bytes, limits)?;
        serde_json::from_value(value).map_err(|error| EnvelopeError::Shape(error.to_string()))
    }

    /// The envelope as one line of JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        let wire = Wire::from(self.clone());
        serde_json::to_string(&wire).expect("an envelope of strings is always JSON")
    }
}

impl TryFrom<Wire> for Envelope {
    type Error = String;

    fn try_from(wire: Wire) -> Result<Self, String> {
        if wire.signatures.len() > SIGNATURE_LIMIT {
            return Err(format!("{} signatures, more than {SIGNATURE_LIMIT}", wire.signatures.len()));
        }
        let payload = decoded("payload", &wire.payload)?;
        let signatures = wire
            .signatures
            .into_iter()
            .map(|signature| {
                let keyid = signature.keyid.parse().map_err(|error| format!("keyid: {error}"))?;
                Ok(Signature { keyid, sig: decoded("sig", &signature.sig)? })
            })
            .collect::<Result<_, String>>()?;
        Ok(Self { payload_type: wire.payload_type, payload, signatures })
    }
}

impl From<Envelope> for Wire {
    fn from(envelope: Envelope) -> Self {
        Self {
            payload: STANDARD.encode(&envelope.payload),
            payload_type: envelope.payload_type,
            signatures: envelope
                .signatures
                .iter()
                .map(|signature| WireSignature { keyid: signature.keyid.hex(), sig: STANDARD.encode(&signature.sig) })
                .collect(),
        }
    }
}

fn decoded(field: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("`{field}` is not padded standard base64: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dsse::SigningKey;

    #[test]
    fn pae_is_that_of_the_dsse_specification() {
        assert_eq!(
            pae("http://example.com/HelloWorld", b"hello world"),
            b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
        );
        assert_eq!(pae("", b""), b"DSSEv1 0  0 ");
        // lengths count bytes, not characters
        assert_eq!(pae("é", "é".as_bytes()), "DSSEv1 2 é 2 é".as_bytes());
    }

    #[test]
    fn an_envelope_is_read_back_byte_for_byte() {
        let envelope = SigningKey::from_seed([3; 32]).sign("text/plain", *b"{ \"a\" : 1 }\xFF\x00");
        assert_eq!(Envelope::parse(envelope.to_json().as_bytes()).unwrap(), envelope);
    }

    #[test]
    fn other_spellings_of_an_envelope_are_refused() {
        let good = SigningKey::from_seed([3; 32]).sign("text/plain", *b"??>>").to_json();
        let keyid = SigningKey::from_seed([3; 32]).key_id().hex();
        let check = |what: &str, bad: String| {
            assert_ne!(bad, good, "{what}: the change must change something");
            assert!(Envelope::parse(bad.as_bytes()).is_err(), "{what}");
        };
        check("url-safe alphabet", good.replace("Pz8+Pg==", "Pz8-Pg=="));
        check("no padding", good.replace("Pz8+Pg==", "Pz8+Pg"));
        check("bits after the end", good.replace("Pz8+Pg==", "Pz8+Ph=="));
        check("no keyid", good.replace("\"keyid\"", "\"kid\""));
        check("keyid of another form", good.replace(&keyid, "release-key"));
        check("no type", good.replace("payloadType", "type"));
        check("payload twice", good.replacen('{', "{\"payload\":\"\",", 1));
        check("trailing bytes", format!("{good}x"));
        check("too large", good.replace("text/plain", &"x".repeat(ENVELOPE_LIMIT)));
        let entry = &good[good.find("[{").unwrap() + 1..good.rfind(']').unwrap()];
        check("too many signatures", good.replace(entry, &[entry; SIGNATURE_LIMIT + 1].join(",")));
    }

    #[test]
    fn unknown_fields_are_ignored_as_the_specification_says() {
        let envelope = SigningKey::from_seed([3; 32]).sign("text/plain", *b"x");
        let text = envelope.to_json().replacen('{', "{\"later\":1,", 1);
        assert_eq!(Envelope::parse(text.as_bytes()).unwrap(), envelope);
    }
}
