//! The one byte string that is hashed and signed, and back.
//!
//! Knows RFC 8785, SHA-256, DSSE, in-toto and JWK, and the names that stand in signed statements. Must not know
//! protocols, agents' behaviour, or any IO. Start with [`Digest`], then `dsse`.

pub mod digest;
pub mod dsse;
pub mod intoto;
pub mod json;
pub mod jwk;
pub mod manifest;
pub mod names;
pub mod sigstore;
pub mod vsa;

pub use digest::{DeclaredDigest, Digest, DigestError};
pub use names::{AgentId, NameError, Profile, Revision, VersionLabel};
