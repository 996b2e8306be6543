//! Signed envelopes: DSSE 1.0.2 with Ed25519, verified strictly.
//!
//! The signed bytes are the pre-authentication encoding of type and payload, never a re-serialisation, so an envelope
//! keeps the payload byte for byte. A [`Verified`] can only be made by a [`Keyring`]; what reads payloads takes that type.
//!
//! Frozen for verifiers that others wrote: padded standard base64; one `keyid` for each signature, the SHA-256 of the
//! key's SPKI DER in hex. The `keyid` only chooses among keys that are trusted already; it proves nothing.

mod envelope;
mod jwks;
mod key;
mod keyring;

pub use envelope::{ENVELOPE_LIMIT, Envelope, EnvelopeError, Signature, pae};
pub use jwks::{Jwk, Jwks};
pub use key::{KeyError, KeyId, SigningKey, VerifyingKey};
pub use keyring::{DsseError, Keyring, Verified};
