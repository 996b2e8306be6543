//! The bare baseline: reads a question, builds an answer of the usual size, decides nothing.

use ostiary_proto::admission::v1::{
    CheckAdmissionRequest, CheckAdmissionResponse, DecisionReason, EnforcementMode, Outcome, RevisionToken,
    VersionState, admission_service_server::AdmissionService,
};
use tonic::{Request, Response, Status};

/// Answers every question with its own words.
pub struct Echo;

#[tonic::async_trait]
impl AdmissionService for Echo {
    async fn check_admission(
        &self,
        request: Request<CheckAdmissionRequest>,
    ) -> Result<Response<CheckAdmissionResponse>, Status> {
        let question = request.into_inner();
        Ok(Response::new(CheckAdmissionResponse {
            outcome: Outcome::Allow.into(),
            reason: DecisionReason::Allowed.into(),
            state: VersionState::Active.into(),
            mode: EnforcementMode::Enforce.into(),
            would_deny: DecisionReason::Unspecified.into(),
            class: ostiary_proto::admission::v1::AdmissionClass::Full.into(),
            waived: Vec::new(),
            valid_until: Some(TIME),
            revision: Some(RevisionToken { revision: 1_000_000 }),
            // A digest built anew for each answer, as the subject does.
            evidence_digest: question.card_digest.clone(),
        }))
    }
}

/// Any time of the usual length on the wire.
const TIME: prost_types::Timestamp = prost_types::Timestamp { seconds: 1_800_000_000, nanos: 123_456_789 };
