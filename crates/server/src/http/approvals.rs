//! Approvals: a person's consent to one step, for exactly the digests that were looked at.

pub mod give;
pub mod list;

use ostiary_domain::{Approval, Edge};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One approval.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct ApprovalView {
    /// Its id.
    pub id: String,
    /// The step: `admission`, `canary`, `promotion` or `release`.
    pub edge: String,
    /// Who consents.
    pub by: String,
    /// The manifest that was looked at.
    pub manifest: String,
    /// The policy that was looked at.
    pub policy: String,
    /// Why.
    pub reason: String,
    /// Until when it counts.
    pub expires_at: String,
    /// The revision token.
    pub revision: u64,
}

// === impl ApprovalView ===

impl ApprovalView {
    fn of(approval: &Approval) -> Self {
        Self {
            id: approval.id.to_string(),
            edge: approval.edge.as_str().to_owned(),
            by: approval.actor.to_string(),
            manifest: approval.manifest.to_string(),
            policy: approval.policy.to_string(),
            reason: approval.reason.clone(),
            expires_at: approval.expires_at.to_string(),
            revision: approval.at.revision.0,
        }
    }
}

fn edge(text: &str) -> Option<Edge> {
    Edge::ALL.into_iter().find(|edge| edge.as_str() == text)
}
