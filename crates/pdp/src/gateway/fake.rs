//! A decision point of the tests: answers every question alike and remembers what was asked.

use std::sync::Mutex;

use ostiary_proto::admission::v1::{self as wire, admission_service_server::AdmissionService};
use tonic::{Request, Response, Status, Streaming};

/// See the module.
pub(crate) struct Fake {
    answer: Result<wire::CheckAdmissionResponse, Status>,
    asked: Mutex<Vec<(wire::CheckAdmissionRequest, Option<String>)>>,
}

// === impl Fake ===

impl Fake {
    pub(crate) fn answering(answer: Result<wire::CheckAdmissionResponse, Status>) -> Self {
        Self { answer, asked: Mutex::default() }
    }

    pub(crate) fn allowing() -> Self {
        Self::answering(Ok(decided(wire::Outcome::Allow, wire::DecisionReason::Allowed)))
    }

    /// The one question that was asked, and the credential with it.
    pub(crate) fn asked(&self) -> (wire::CheckAdmissionRequest, Option<String>) {
        let mut asked = self.asked.lock().expect("not poisoned");
        assert_eq!(asked.len(), 1, "{asked:?}");
        asked.pop().expect("one")
    }

    pub(crate) fn was_not_asked(&self) -> bool {
        self.asked.lock().expect("not poisoned").is_empty()
    }
}

pub(crate) fn decided(outcome: wire::Outcome, reason: wire::DecisionReason) -> wire::CheckAdmissionResponse {
    wire::CheckAdmissionResponse {
        outcome: outcome.into(),
        reason: reason.into(),
        mode: wire::EnforcementMode::Enforce.into(),
        valid_until: Some(prost_types::Timestamp { seconds: 1_800_000_000, nanos: 0 }),
        revision: Some(wire::RevisionToken { revision: 42 }),
        evidence_digest: "sha256:e".to_owned(),
        ..wire::CheckAdmissionResponse::default()
    }
}

#[tonic::async_trait]
impl AdmissionService for Fake {
    async fn check_admission(
        &self,
        request: Request<wire::CheckAdmissionRequest>,
    ) -> Result<Response<wire::CheckAdmissionResponse>, Status> {
        let credential = request.metadata().get("authorization").and_then(|value| value.to_str().ok());
        let credential = credential.map(str::to_owned);
        assert!(request.metadata().keys().count() <= 1, "{:?}", request.metadata());
        self.asked.lock().expect("not poisoned").push((request.into_inner(), credential));
        self.answer.clone().map(Response::new)
    }

    async fn batch_check_admission(
        &self,
        _: Request<wire::BatchCheckAdmissionRequest>,
    ) -> Result<Response<wire::BatchCheckAdmissionResponse>, Status> {
        Err(Status::unimplemented("gateways ask one question"))
    }

    async fn resolve_version(
        &self,
        _: Request<wire::ResolveVersionRequest>,
    ) -> Result<Response<wire::ResolveVersionResponse>, Status> {
        Err(Status::unimplemented("gateways ask one question"))
    }

    type WatchAdmissionsStream = tokio_stream::Empty<Result<wire::WatchAdmissionsResponse, Status>>;

    async fn watch_admissions(
        &self,
        _: Request<Streaming<wire::WatchAdmissionsRequest>>,
    ) -> Result<Response<Self::WatchAdmissionsStream>, Status> {
        Err(Status::unimplemented("gateways ask one question"))
    }

    type GetSnapshotStream = tokio_stream::Empty<Result<wire::GetSnapshotResponse, Status>>;

    async fn get_snapshot(
        &self,
        _: Request<wire::GetSnapshotRequest>,
    ) -> Result<Response<Self::GetSnapshotStream>, Status> {
        Err(Status::unimplemented("gateways ask one question"))
    }
}
