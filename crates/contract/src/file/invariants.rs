//! `behavior-invariants.yaml`: what must hold over everything that the producer does.

use crate::decode::{Located, file_type};

file_type! {
    /// `behavior-invariants.yaml`.
    pub struct InvariantsFile {
        /// Names of invariants. Those the harness does not know are reported as not verified.
        invariants: Vec<Located<String>>,
    }
}

/// The invariants that the harness itself knows (F-02).
pub const KNOWN: &[&str] = &[
    "no_commit_without_approval",
    "same_idempotency_key_same_business_result",
    "duplicate_delivery_at_most_one_draft",
    "tenant_id_immutable",
    "response_plan_id_matches_persisted_record",
];
