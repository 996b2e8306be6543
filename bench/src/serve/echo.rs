//! The bare baseline: reads a question and builds an answer of the usual size; passes steps on to whoever watches. It
//! decides nothing, signs nothing, remembers nothing.

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use ostiary_proto::admission::v1::{
    self as wire, CheckAdmissionRequest, CheckAdmissionResponse, DecisionReason, Delta, EnforcementMode, Outcome,
    RevisionToken, VersionState, WatchAdmissionsResponse, admission_service_server::AdmissionService,
    watch_admissions_response::Message,
};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tonic::{Request, Response, Status, Streaming};

/// Answers every question with its own words, and sends every step to everybody.
#[derive(Clone)]
pub struct Echo(broadcast::Sender<WatchAdmissionsResponse>);

/// Steps that a reader may be behind.
const BEHIND: usize = 1_024;

/// About as many bytes as the entry of one version has.
const ENTRY: usize = 330;

// === impl Echo ===

impl Echo {
    /// An echo that nobody listens to.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(BEHIND))
    }

    /// Sends step number `to` to everybody.
    pub fn step(&self, to: u64) {
        let entries = vec![Bytes::from_static(&[7; ENTRY])];
        let delta = Delta { from: to - 1, to, entries, head: Bytes::new() };
        // An error says that nobody watches.
        let _ = self.0.send(WatchAdmissionsResponse { message: Some(Message::Delta(delta)) });
    }
}

/// The steps from now on; whoever is too slow sees the stream end.
fn steps(echo: &Echo) -> impl Stream<Item = Result<WatchAdmissionsResponse, Status>> + Send + use<> {
    BroadcastStream::new(echo.0.subscribe()).map(|step| step.map_err(|_| Status::resource_exhausted("too slow")))
}

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
            class: wire::AdmissionClass::Full.into(),
            waived: Vec::new(),
            valid_until: Some(TIME),
            revision: Some(RevisionToken { revision: 1_000_000 }),
            // A digest built anew for each answer, as the subject does.
            evidence_digest: question.card_digest.clone(),
        }))
    }

    async fn batch_check_admission(
        &self,
        _: Request<wire::BatchCheckAdmissionRequest>,
    ) -> Result<Response<wire::BatchCheckAdmissionResponse>, Status> {
        Err(Status::unimplemented("a baseline has no batches"))
    }

    async fn resolve_version(
        &self,
        _: Request<wire::ResolveVersionRequest>,
    ) -> Result<Response<wire::ResolveVersionResponse>, Status> {
        Err(Status::unimplemented("a baseline knows no versions"))
    }

    type WatchAdmissionsStream = futures::stream::BoxStream<'static, Result<WatchAdmissionsResponse, Status>>;

    async fn watch_admissions(
        &self,
        _: Request<Streaming<wire::WatchAdmissionsRequest>>,
    ) -> Result<Response<Self::WatchAdmissionsStream>, Status> {
        Ok(Response::new(steps(self).boxed()))
    }

    type GetSnapshotStream = futures::stream::Empty<Result<wire::GetSnapshotResponse, Status>>;

    async fn get_snapshot(
        &self,
        _: Request<wire::GetSnapshotRequest>,
    ) -> Result<Response<Self::GetSnapshotStream>, Status> {
        Err(Status::unimplemented("a baseline has no snapshots"))
    }
}

/// Any time of the usual length on the wire.
const TIME: prost_types::Timestamp = prost_types::Timestamp { seconds: 1_800_000_000, nanos: 123_456_789 };
