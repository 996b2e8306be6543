//! What is kept beside a piece of evidence so that people can read why: the decision and, where there was a run, all
//! findings. Explains; founds nothing.

use bytes::Bytes;
use ostiary_domain::GateDecision;
use ostiary_record::Report;
use serde::{Deserialize, Serialize};

/// The decision with what it was made on.
#[derive(Debug, Serialize, Deserialize)]
pub struct StoredReport {
    /// Whether the gate opened, with every reason.
    pub decision: GateDecision,
    /// What the checks said; none at the admission gate.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub report: Option<Report>,
}

// === impl StoredReport ===

impl StoredReport {
    /// As it is kept.
    #[must_use]
    pub fn to_bytes(&self) -> Bytes {
        serde_json::to_vec(self).expect("a report holds only texts, numbers and names as keys").into()
    }

    /// As it was kept; `None` for what another version of ours wrote differently.
    #[must_use]
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }
}
