//! Everything that is read before a gate is judged.

use jiff::Timestamp;
use ostiary_contract::Bundle;
use ostiary_domain::{
    Approval, EvidenceRecord, Job, Policy, StoreError, Version, Waiver,
    ports::{Baseline, Guard},
};

use super::{GateError, Gatekeeper, RunError, lenience};

/// What the store says before a gate is judged.
pub(super) struct Gathered {
    pub(super) version: Version,
    pub(super) bundle: Bundle,
    pub(super) environment: bytes::Bytes,
    pub(super) policy: Policy,
    pub(super) evidence: Vec<EvidenceRecord>,
    pub(super) approvals: Vec<Approval>,
    pub(super) waivers: Vec<Waiver>,
    pub(super) now: Timestamp,
}

// === impl Gathered ===

impl Gathered {
    /// What the decision rests on; the transaction refuses if it is no longer so.
    pub(super) fn guard(&self) -> Guard {
        Guard {
            state: self.version.state.name(),
            row: self.version.row,
            policy: self.policy.digest(),
            baseline: Baseline::NotCompared,
        }
    }
}

// === impl Gatekeeper ===

impl Gatekeeper {
    pub(super) async fn gather(&self, job: &Job) -> Result<Gathered, GateError> {
        let store = &self.app.store;
        let version = store.version(&job.version).await?.ok_or_else(|| gone("version", job))?;
        let archive = store.bundle(&job.bundle).await?.ok_or_else(|| gone("bundle", job))?;
        let environment = store.environment(&job.environment).await?.ok_or_else(|| gone("environment", job))?;
        if !lenience::permitted(&self.app.config, &version.key.agent, &environment.document) {
            // Registered anew since the submission: what it shows now would admit on lenient rules.
            return Err(RunError::Lenient(job.environment.to_string()).into());
        }
        let bundle =
            Bundle::from_tar(&archive).map_err(|error| RunError::Job { what: "bundle", why: error.to_string() })?;
        Ok(Gathered {
            bundle,
            environment: environment.document,
            policy: self.app.policy().await?,
            evidence: store.evidence_of(&version.key).await?,
            approvals: store.approvals_of(&version.key).await?,
            waivers: store.waivers_of(&version.key.agent, &version.key.label).await?,
            now: store.now().await?,
            version,
        })
    }
}

/// A job whose row names something that is not there: the store keeps what jobs name, so this is damage.
fn gone(column: &'static str, job: &Job) -> StoreError {
    StoreError::Inconsistent { table: "jobs", column, id: job.id.to_string(), why: "it names nothing".to_owned() }
}
