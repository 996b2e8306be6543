//! The signed head of a scope: which entries are in force at which revision, and until when that may be relied on.

use std::{fmt, str::FromStr};

use jiff::Timestamp;
use ostiary_canon::{
    AgentId, Digest, Revision,
    dsse::{DsseError, Envelope, EnvelopeError, KeyId, Keyring},
    json::{self, Integers, JsonError, Limits},
};
use serde::Deserialize;

/// The one payload type of a head. A signature over anything else says nothing about routers.
pub const HEAD_PAYLOAD_TYPE: &str = "application/vnd.ostiary.admission-head.v1+json";

/// Largest envelope of a head that is read, in bytes: with sixteen signatures it has four.
pub const HEAD_LIMIT: usize = 8 << 10;

/// Largest integer that RFC 8785 prints as it was written.
const SAFE: u64 = (1 << 53) - 1;

/// What a stream, a tree and a head are about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ViewScope {
    /// Everything; written `*`.
    All,
    /// One namespace.
    Namespace(Box<str>),
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// What it is about.
    pub scope: ViewScope,
    /// The revision.
    pub revision: Revision,
    /// The root of the tree at that revision.
    pub root: Digest,
    /// How many entries the tree has.
    pub entries: u64,
    /// Until when the view may be decided on, by the control plane's clock; exclusive.
    pub lease_until: Timestamp,
    /// When it was signed, by the control plane's clock.
    pub issued_at: Timestamp,
}

/// A head that a trusted key signed. Only [`VerifiedHead::read`] makes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedHead {
    head: Head,
    keys: Vec<KeyId>,
}

/// Why a head is not believed.
#[derive(Debug, thiserror::Error)]
pub enum HeadError {
    /// More bytes than a head has.
    #[error("head has {0} bytes, more than {HEAD_LIMIT}")]
    Size(usize),
    /// Not an envelope.
    #[error("head is no DSSE envelope")]
    Envelope(#[from] EnvelopeError),
    /// The signature.
    #[error("head is not signed by a trusted key")]
    Signature(#[from] DsseError),
    /// Signed, but not as a head.
    #[error("signed payload is of type `{0}`, not `{HEAD_PAYLOAD_TYPE}`")]
    PayloadType(String),
    /// Signed, but not JSON as we sign it.
    #[error("signed head is not strict JSON")]
    Json(#[from] JsonError),
    /// Signed JSON that is no head.
    #[error("signed payload is no head: {0}")]
    Shape(String),
}

/// A text that is no [`ViewScope`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no scope: give `*` or a namespace")]
pub struct UnknownScope(pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Payload {
    entries: u64,
    issued_at: Timestamp,
    lease_until: Timestamp,
    revision: u64,
    root: Digest,
    scope: String,
}

// === impl ViewScope ===

impl ViewScope {
    /// Whether what belongs to `namespace` is in it.
    #[must_use]
    pub fn holds(&self, namespace: &str) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(own) => **own == *namespace,
        }
    }
}

impl FromStr for ViewScope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        if text == "*" {
            return Ok(Self::All);
        }
        // An agent's id checks its namespace; there is no other name for one.
        match AgentId::new(text, "any") {
            Ok(_) => Ok(Self::Namespace(text.into())),
            Err(_) => Err(UnknownScope(text.to_owned())),
        }
    }
}

impl fmt::Display for ViewScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::All => "*",
            Self::Namespace(namespace) => namespace,
        })
    }
}

// === impl Head ===

impl Head {
    /// The bytes to sign under [`HEAD_PAYLOAD_TYPE`]: canonical JSON, since its members stand in order and none of its
    /// texts needs an escape.
    #[must_use]
    pub fn payload(&self) -> Vec<u8> {
        let Self { scope, revision, root, entries, lease_until, issued_at } = self;
        format!(
            r#"{{"entries":{entries},"issued_at":"{issued_at}","lease_until":"{lease_until}","revision":{revision},"root":"{root}","scope":"{scope}"}}"#
        )
        .into_bytes()
    }
}

// === impl VerifiedHead ===

impl VerifiedHead {
    /// Reads the envelope of a head and verifies it.
    ///
    /// # Errors
    /// When it is too large, not signed by a key that `keys` trusts, or signed as something else.
    pub fn read(envelope: &[u8], keys: &Keyring) -> Result<Self, HeadError> {
        if envelope.len() > HEAD_LIMIT {
            return Err(HeadError::Size(envelope.len()));
        }
        let verified = keys.verify(&Envelope::parse(envelope)?)?;
        if verified.payload_type() != HEAD_PAYLOAD_TYPE {
            return Err(HeadError::PayloadType(verified.payload_type().to_owned()));
        }
        let limits = Limits { bytes: HEAD_LIMIT, depth: 2, integers: Integers::Double, values: 1_000 };
        let value = json::parse_strict(verified.payload(), limits)?;
        let payload: Payload = serde_json::from_value(value).map_err(|error| HeadError::Shape(error.to_string()))?;
        if payload.revision > SAFE || payload.entries > SAFE {
            return Err(HeadError::Shape("a number above 2^53".to_owned()));
        }
        let scope = payload.scope.parse().map_err(|error: UnknownScope| HeadError::Shape(error.to_string()))?;
        let head = Head {
            scope,
            revision: Revision(payload.revision),
            root: payload.root,
            entries: payload.entries,
            lease_until: payload.lease_until,
            issued_at: payload.issued_at,
        };
        Ok(Self { head, keys: verified.keys().to_vec() })
    }

    /// What was signed.
    #[must_use]
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// The trusted keys that signed it.
    #[must_use]
    pub fn keys(&self) -> &[KeyId] {
        &self.keys
    }
}
