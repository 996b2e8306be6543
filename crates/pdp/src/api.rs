//! `AdmissionService` over a hub: what routers ask and watch.

mod questions;
mod watch;

use std::sync::Arc;

use ostiary_admission::ViewScope;
use ostiary_canon::Revision;
use ostiary_proto::admission::v1::{
    self as proto, admission_service_server::AdmissionService, consistency::Requirement,
};
use tonic::{Request, Response, Status, Streaming, metadata::MetadataMap};

pub use self::watch::{SnapshotStream, WatchStream};
use crate::{
    hub::{Hub, Unavailable},
    ports::{Decided, Freshen, Guard, Mismatches, Nobody},
};

/// Answers routers. Clones share everything.
#[derive(Clone)]
pub struct Api {
    hub: Arc<Hub>,
    guard: Arc<dyn Guard>,
    freshen: Arc<dyn Freshen>,
    decided: Arc<dyn Decided>,
    mismatches: Arc<dyn Mismatches>,
}

// === impl Api ===

impl Api {
    /// Answers everybody, and counts nothing.
    #[must_use]
    pub fn new(hub: Arc<Hub>) -> Self {
        let nobody = Arc::new(Nobody);
        Self { hub, guard: nobody.clone(), freshen: nobody.clone(), decided: nobody.clone(), mismatches: nobody }
    }

    /// The same, behind a guard.
    #[must_use]
    pub fn guarded_by(self, guard: Arc<dyn Guard>) -> Self {
        Self { guard, ..self }
    }

    /// The same, able to wait for a revision that the view has not reached yet.
    #[must_use]
    pub fn freshened_by(self, freshen: Arc<dyn Freshen>) -> Self {
        Self { freshen, ..self }
    }

    /// The same, telling each answer.
    #[must_use]
    pub fn counted_by(self, decided: Arc<dyn Decided>) -> Self {
        Self { decided, ..self }
    }

    /// The same, telling who holds another card than the admitted one.
    #[must_use]
    pub fn watched_by(self, mismatches: Arc<dyn Mismatches>) -> Self {
        Self { mismatches, ..self }
    }

    /// The view and its streams.
    #[must_use]
    pub const fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    /// The revision that the answer must not be older than, after waiting for it.
    async fn at_least(&self, consistency: Option<proto::Consistency>) -> Result<Option<Revision>, Status> {
        let wanted = match consistency.and_then(|consistency| consistency.requirement) {
            None | Some(Requirement::MinimizeLatency(_)) => return Ok(None),
            Some(Requirement::AtLeastAsFresh(token)) => Revision(token.revision),
            Some(Requirement::FullyConsistent(_)) => self.freshen.newest().await?,
        };
        if self.hub.index().revision() < wanted {
            self.freshen.reach(wanted).await;
        }
        Ok(Some(wanted))
    }

    /// The scope that a text names, and the name of who may copy it.
    fn may_copy(&self, metadata: &MetadataMap, scope: &str) -> Result<(ViewScope, String), Status> {
        let scope: ViewScope = scope
            .parse()
            .map_err(|error: ostiary_admission::UnknownScope| Status::invalid_argument(error.to_string()))?;
        let name = self.guard.may_copy(metadata, &scope)?;
        Ok((scope, name))
    }
}

#[tonic::async_trait]
impl AdmissionService for Api {
    async fn check_admission(
        &self,
        request: Request<proto::CheckAdmissionRequest>,
    ) -> Result<Response<proto::CheckAdmissionResponse>, Status> {
        self.check(request).await.map(Response::new)
    }

    async fn batch_check_admission(
        &self,
        request: Request<proto::BatchCheckAdmissionRequest>,
    ) -> Result<Response<proto::BatchCheckAdmissionResponse>, Status> {
        self.batch(request).await.map(Response::new)
    }

    async fn resolve_version(
        &self,
        request: Request<proto::ResolveVersionRequest>,
    ) -> Result<Response<proto::ResolveVersionResponse>, Status> {
        self.resolve(request).await.map(Response::new)
    }

    type WatchAdmissionsStream = WatchStream;

    async fn watch_admissions(
        &self,
        request: Request<Streaming<proto::WatchAdmissionsRequest>>,
    ) -> Result<Response<WatchStream>, Status> {
        Ok(Response::new(self.watch(request)))
    }

    type GetSnapshotStream = SnapshotStream;

    async fn get_snapshot(
        &self,
        request: Request<proto::GetSnapshotRequest>,
    ) -> Result<Response<SnapshotStream>, Status> {
        self.copy(request).await.map(Response::new)
    }
}

impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").field("hub", &self.hub).finish_non_exhaustive()
    }
}

impl From<Unavailable> for Status {
    fn from(unavailable: Unavailable) -> Self {
        match unavailable {
            Unavailable::Scopes => Self::resource_exhausted(unavailable.to_string()),
            Unavailable::NoHead | Unavailable::NoTree => Self::unavailable(unavailable.to_string()),
        }
    }
}
