//! Evidence: signed, kept byte for byte, readable by verifiers that we did not write.

pub mod envelope;
pub mod get;
pub mod list;
pub mod report;
pub mod run;
pub mod vsa;

use ostiary_domain::{EvidenceId, EvidenceRecord};

use crate::{app::App, auth::Caller, error::ApiError};

/// A piece of evidence that the caller may read. One out of reach looks like one that does not exist.
async fn readable(app: &App, caller: &Caller, id: String) -> Result<EvidenceRecord, ApiError> {
    let id = EvidenceId(id);
    let found = app.store.evidence(&id).await?;
    found
        .filter(|record| caller.reaches(record.version.agent.namespace()))
        .ok_or_else(|| ApiError::not_found(&format!("evidence `{id}`")))
}
