//! The statement: one subject, one predicate.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    AgentId, Digest, VersionLabel,
    dsse::{Envelope, SigningKey, Verified},
    json::{self, JsonError, Limits},
    manifest::VersionManifest,
};

/// The statement's `_type`.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The envelope's payload type for statements.
pub const PAYLOAD_TYPE: &str = "application/vnd.in-toto+json";

/// What a statement can say.
pub trait Predicate: Serialize + DeserializeOwned {
    /// The predicate type.
    const TYPE: &'static str;
}

/// What is said about exactly one subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement<P> {
    /// What it is about.
    pub subject: Subject,
    /// What is said.
    pub predicate: P,
}

/// What a statement is about: a version, by the digest of its manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// `namespace/agent@version`, for people; the digest alone binds.
    pub name: String,
    /// The digest of the version's manifest.
    pub digest: Digest,
}

/// Why a payload is not the statement that was wanted.
#[derive(Debug, thiserror::Error)]
pub enum StatementError {
    /// The envelope holds something else.
    #[error("payload of type `{0}` is no in-toto statement")]
    PayloadType(String),
    /// Not acceptable JSON.
    #[error("not acceptable JSON")]
    Json(#[from] JsonError),
    /// Not a statement.
    #[error("not an in-toto statement: {0}")]
    Shape(String),
    /// Another version of the statement.
    #[error("statement of type `{0}`, not `{STATEMENT_TYPE}`")]
    Type(String),
    /// None or several: a match with any of several would prove nothing about the others.
    #[error("{0} subjects, exactly one is wanted")]
    Subjects(usize),
    /// A digest set that is not exactly one SHA-256.
    #[error("the subject's digest set must hold `sha256` alone, as 64 lower-case hexadecimal characters")]
    SubjectDigest,
    /// It says something else.
    #[error("predicate of type `{found}`, not `{wanted}`")]
    PredicateType {
        /// What it is.
        found: String,
        /// What was wanted.
        wanted: &'static str,
    },
    /// A predicate of another shape.
    #[error("predicate of type `{kind}`: {reason}")]
    Predicate {
        /// The predicate type.
        kind: &'static str,
        /// Why it does not fit.
        reason: String,
    },
}

#[derive(Serialize, Deserialize)]
struct Wire<S, P> {
    #[serde(rename = "_type")]
    kind: String,
    subject: S,
    #[serde(rename = "predicateType")]
    predicate_type: String,
    predicate: P,
}

#[derive(Serialize, Deserialize)]
struct WireSubject {
    name: String,
    digest: serde_json::Map<String, Value>,
}

// === impl Subject ===

impl Subject {
    /// The subject that stands for `manifest`.
    #[must_use]
    pub fn of(manifest: &VersionManifest) -> Self {
        Self::new(&manifest.agent, &manifest.version, manifest.digest())
    }

    /// The subject of a version whose manifest has `digest`.
    #[must_use]
    pub fn new(agent: &AgentId, version: &VersionLabel, digest: Digest) -> Self {
        Self { name: format!("{agent}@{version}"), digest }
    }
}

// === impl Statement ===

impl<P: Predicate> Statement<P> {
    /// Says `predicate` about `subject`.
    #[must_use]
    pub const fn new(subject: Subject, predicate: P) -> Self {
        Self { subject, predicate }
    }

    /// The bytes that are signed: JSON in canonical form.
    ///
    /// # Errors
    /// When the predicate has no canonical form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, StatementError> {
        let refused = |reason: String| StatementError::Predicate { kind: P::TYPE, reason };
        let digest = [("sha256".to_owned(), Value::String(self.subject.digest.hex()))].into_iter().collect();
        let wire = Wire {
            kind: STATEMENT_TYPE.to_owned(),
            subject: [WireSubject { name: self.subject.name.clone(), digest }],
            predicate_type: P::TYPE.to_owned(),
            predicate: &self.predicate,
        };
        let value = serde_json::to_value(wire).map_err(|error| refused(error.to_string()))?;
        json::canonicalize(&value).map_err(|error| refused(error.to_string()))
    }

    /// The statement in an envelope signed by `key`.
    ///
    /// # Errors
    /// As [`Statement::to_bytes`].
    pub fn sign(&self, key: &SigningKey) -> Result<Envelope, StatementError> {
        Ok(key.sign(PAYLOAD_TYPE, self.to_bytes()?))
    }

    /// Reads what a trusted key signed.
    ///
    /// # Errors
    /// When the payload is no statement with exactly one subject and this predicate.
    pub fn from_verified(verified: &Verified) -> Result<Self, StatementError> {
        if verified.payload_type() == PAYLOAD_TYPE {
            Self::parse(verified.payload())
        } else {
            Err(StatementError::PayloadType(verified.payload_type().to_owned()))
        }
    }

    /// Reads a statement that nobody vouches for: for display, never for a decision.
    ///
    /// # Errors
    /// As [`Statement::from_verified`].
    pub fn parse(bytes: &[u8]) -> Result<Self, StatementError> {
        let value = json::parse_strict(bytes, Limits::DOCUMENT)?;
        let wire: Wire<Vec<WireSubject>, Value> =
            serde_json::from_value(value).map_err(|error| StatementError::Shape(error.to_string()))?;
        if wire.kind != STATEMENT_TYPE {
            return Err(StatementError::Type(wire.kind));
        }
        if wire.predicate_type != P::TYPE {
            return Err(StatementError::PredicateType { found: wire.predicate_type, wanted: P::TYPE });
        }
        let subject = only_subject(wire.subject)?;
        let predicate = serde_json::from_value(wire.predicate)
            .map_err(|error| StatementError::Predicate { kind: P::TYPE, reason: error.to_string() })?;
        Ok(Self { subject, predicate })
    }
}

fn only_subject(subjects: Vec<WireSubject>) -> Result<Subject, StatementError> {
    let [subject] = <[WireSubject; 1]>::try_from(subjects).map_err(|all| StatementError::Subjects(all.len()))?;
    let hex = match (subject.digest.len(), subject.digest.get("sha256")) {
        (1, Some(Value::String(hex))) => hex,
        _ => return Err(StatementError::SubjectDigest),
    };
    let digest = format!("sha256:{hex}").parse().map_err(|_| StatementError::SubjectDigest)?;
    Ok(Subject { name: subject.name, digest })
}
