//! in-toto Statement v1 about one agent version, and the predicates that we sign.
//!
//! Two kinds that must not be mixed up: a *fact* ([`TestResult`]) says what was found at a time and never expires; an
//! *authorization* ([`Authorization`]) allows, and carries a required window. Readers ignore fields that they do not
//! know, so an expiry that were optional would be an expiry that a reader may ignore.

mod authorization;
mod evidence;
mod statement;
mod test_result;
mod waiver;

pub use authorization::{AdmissionClass, Authorization, AuthorizationError, AuthorizationFacts, GateEvidence};
pub use evidence::EvidenceDocument;
pub use statement::{PAYLOAD_TYPE, Predicate, STATEMENT_TYPE, Statement, StatementError, Subject};
pub use test_result::{Conditions, ConditionsError, ResourceDescriptor, TestResult, TestVerdict};
pub use waiver::{Consent, Waiver};

/// The predicate type of a [`TestResult`].
pub const TEST_RESULT: &str = "https://in-toto.io/attestation/test-result/v0.1";

/// The predicate type of a [`Waiver`].
pub const WAIVER: &str = "https://ostiary.dev/attestation/waiver/v1";

/// The predicate type of an [`Authorization`].
pub const AUTHORIZATION: &str = "https://ostiary.dev/attestation/admission/v1";
