//! `AdmissionService` as this server serves it: the decision point over our hub, behind our tokens and counters, made
//! fresher by our feed.

use std::{sync::Arc, time::Duration};

use futures::StreamExt as _;
use jiff::Timestamp;
use ostiary_admission::{Decision, Index, Query, ViewScope};
use ostiary_canon::Revision;
use ostiary_domain::Clock;
use ostiary_pdp::{Api, Hub};
use ostiary_proto::admission::v1::{self as wire, admission_service_server::AdmissionService};
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataMap};

use super::identity;
use crate::{
    auth::{Act, Caller, TokenTable},
    error::{ApiError, ErrorCode},
    feed::Feed,
    metrics::Metrics,
};

/// Answers routers.
#[derive(Clone, Debug)]
pub struct AdmissionApi {
    api: Api,
    stop: CancellationToken,
}

/// What stands in front of the decision in a real server, and what counts behind it.
#[derive(Clone)]
pub struct Guard {
    /// Who may ask.
    pub tokens: Arc<TokenTable>,
    /// What was answered.
    pub metrics: Arc<Metrics>,
}

/// The server's clock, as a hub asks it.
#[derive(Clone, Debug)]
pub struct HubClock(pub Arc<dyn Clock>);

struct Fresher {
    feed: Arc<Feed>,
    patience: Duration,
}

// === impl AdmissionApi ===

impl AdmissionApi {
    /// The decision alone: no token is asked for, nothing is counted or signed. For benchmarks.
    #[must_use]
    pub fn bare(index: Arc<Index>, clock: Arc<dyn Clock>) -> Self {
        let hub = Hub::new(index, Arc::new(HubClock(clock)), Arc::new(ostiary_pdp::Nobody));
        Self::of(Api::new(Arc::new(hub)))
    }

    /// The decision behind tokens and counters, over an index alone: nothing can be watched.
    #[must_use]
    pub fn guarded(index: Arc<Index>, clock: Arc<dyn Clock>, guard: Guard) -> Self {
        Self::over(Arc::clone(Self::bare(index, clock).api.hub()), guard)
    }

    /// All of it over a hub, as it ships; without a feed an answer is never fresher than the index.
    #[must_use]
    pub fn over(hub: Arc<Hub>, guard: Guard) -> Self {
        let guard = Arc::new(guard);
        Self::of(Api::new(hub).guarded_by(Arc::clone(&guard) as _).counted_by(guard))
    }

    /// The same, able to wait for a revision that the index has not reached yet.
    #[must_use]
    pub fn fed_by(self, feed: Arc<Feed>, patience: Duration) -> Self {
        Self { api: self.api.freshened_by(Arc::new(Fresher { feed, patience })), ..self }
    }

    /// The same, telling `mismatches` who holds another card than the admitted one.
    #[must_use]
    pub fn watched_by(self, mismatches: Arc<dyn ostiary_pdp::Mismatches>) -> Self {
        Self { api: self.api.watched_by(mismatches), ..self }
    }

    /// The same; its streams end when `stop` fires, or a stopping server would wait for routers that never leave.
    #[must_use]
    pub fn until(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }

    fn of(api: Api) -> Self {
        Self { api, stop: CancellationToken::new() }
    }
}

#[tonic::async_trait]
impl AdmissionService for AdmissionApi {
    async fn check_admission(
        &self,
        request: Request<wire::CheckAdmissionRequest>,
    ) -> Result<Response<wire::CheckAdmissionResponse>, Status> {
        self.api.check_admission(request).await
    }

    async fn batch_check_admission(
        &self,
        request: Request<wire::BatchCheckAdmissionRequest>,
    ) -> Result<Response<wire::BatchCheckAdmissionResponse>, Status> {
        self.api.batch_check_admission(request).await
    }

    async fn resolve_version(
        &self,
        request: Request<wire::ResolveVersionRequest>,
    ) -> Result<Response<wire::ResolveVersionResponse>, Status> {
        self.api.resolve_version(request).await
    }

    type WatchAdmissionsStream = ostiary_pdp::WatchStream;

    async fn watch_admissions(
        &self,
        request: Request<Streaming<wire::WatchAdmissionsRequest>>,
    ) -> Result<Response<Self::WatchAdmissionsStream>, Status> {
        let watch = self.api.watch_admissions(request).await?;
        Ok(watch.map(|stream| Box::pin(stream.take_until(self.stop.clone().cancelled_owned())) as _))
    }

    type GetSnapshotStream = ostiary_pdp::SnapshotStream;

    async fn get_snapshot(
        &self,
        request: Request<wire::GetSnapshotRequest>,
    ) -> Result<Response<Self::GetSnapshotStream>, Status> {
        self.api.get_snapshot(request).await
    }
}

// === impl Guard ===

impl Guard {
    fn asking(&self, metadata: &MetadataMap) -> Result<&Caller, Status> {
        let caller = identity::caller(&self.tokens, metadata)?;
        caller.require(Act::Check)?;
        Ok(caller)
    }
}

impl ostiary_pdp::Guard for Guard {
    fn may_ask(&self, metadata: &MetadataMap, namespace: &str) -> Result<bool, Status> {
        Ok(self.asking(metadata)?.reaches(namespace))
    }

    fn may_copy(&self, metadata: &MetadataMap, scope: &ViewScope) -> Result<String, Status> {
        let caller = self.asking(metadata)?;
        let reaches = match scope {
            ViewScope::All => caller.reaches_all(),
            ViewScope::Namespace(namespace) => caller.reaches(namespace),
        };
        if reaches {
            return Ok(caller.name().to_owned());
        }
        let why = format!("`{}` may not copy `{scope}`; watch a namespace that its token is for", caller.name());
        Err(ApiError::new(ErrorCode::Forbidden, why).into())
    }
}

impl ostiary_pdp::Decided for Guard {
    fn decided(&self, _: &Query<'_>, decision: &Decision) {
        self.metrics.decided(decision.reason, decision.would_deny);
    }
}

// === impl HubClock ===

impl ostiary_pdp::Clock for HubClock {
    fn now(&self) -> Timestamp {
        self.0.now()
    }
}

// === impl Fresher ===

#[tonic::async_trait]
impl ostiary_pdp::Freshen for Fresher {
    async fn reach(&self, revision: Revision) {
        self.feed.reach(revision, self.patience).await;
    }

    async fn newest(&self) -> Result<Revision, Status> {
        self.feed.newest().await.map_err(|error| {
            ApiError::new(ErrorCode::Unavailable, "the database does not say how old this view is")
                .because(error)
                .into()
        })
    }
}
