//! A piece of evidence, without its envelope.

use ostiary_domain::{EvidenceRecord, Standing};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{SubjectView, WaivedView, texts};

/// One piece of evidence, without its envelope.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct EvidenceView {
    /// Its id.
    pub id: String,
    /// `namespace/agent`.
    pub agent: String,
    /// Label of the version.
    pub version: String,
    /// Try of the version.
    pub attempt: u32,
    /// The gate.
    pub gate: String,
    /// What the judgement was.
    pub outcome: String,
    /// Profiles it holds for.
    pub profiles_passed: Vec<String>,
    /// Profiles in which something failed.
    pub profiles_failed: Vec<String>,
    /// What did not pass and was waived.
    pub waived: Vec<WaivedView>,
    /// What was measured.
    pub subject: SubjectView,
    /// Digest of the policy.
    pub policy: String,
    /// Version of the harness.
    pub harness_version: String,
    /// Verification environment.
    pub environment: String,
    /// Digest of the recordings; none at the admission gate.
    pub run: Option<String>,
    /// When it was driven.
    pub verified_at: String,
    /// Until when it founds anything.
    pub expires_at: String,
    /// `decided`, or `kept` when its transition lost a race.
    pub standing: String,
    /// Digest of the envelope's bytes.
    pub digest: String,
    /// Revision that recorded it.
    pub revision: u64,
}
// === impl EvidenceView ===

impl EvidenceView {
    /// A record.
    #[must_use]
    pub fn of(record: &EvidenceRecord) -> Self {
        Self {
            id: record.id.to_string(),
            agent: record.version.agent.to_string(),
            version: record.version.label.to_string(),
            attempt: record.version.attempt.0,
            gate: record.gate.to_string(),
            outcome: record.outcome.to_string(),
            profiles_passed: texts(&record.profiles_passed),
            profiles_failed: texts(&record.profiles_failed),
            waived: WaivedView::all(&record.waived),
            subject: SubjectView::of(&record.subject),
            policy: record.policy.to_string(),
            harness_version: record.harness.clone(),
            environment: record.environment.clone(),
            run: record.run.map(|run| run.to_string()),
            verified_at: record.verified_at.to_string(),
            expires_at: record.expires_at.to_string(),
            standing: match record.standing {
                Standing::Decided => "decided",
                Standing::Kept => "kept",
            }
            .to_owned(),
            digest: record.digest().to_string(),
            revision: record.recorded.0,
        }
    }
}
