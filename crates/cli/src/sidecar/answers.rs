//! Questions, answered from the copy; where the copy is silent or behind, the control plane is asked.

use std::{pin::Pin, sync::Arc, time::Duration};

use futures::{Stream, StreamExt as _};
use ostiary_admission::{
    Decision, Query, ViewScope,
    wire::{decision_to_wire, query_of},
};
use ostiary_canon::Revision;
use ostiary_pdp::{Api, Decided, Freshen, Guard, Mismatches};
use ostiary_proto::admission::v1::{
    self as proto, DecisionReason, admission_service_server::AdmissionService, consistency::Requirement,
};
use ostiary_router::{Router, Signal, Subject};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::{Request, Response, Status, Streaming, metadata::MetadataMap};

use super::{Relay, Upstream};

/// See the module. Clones share everything.
#[derive(Clone)]
pub(crate) struct Answers {
    api: Api,
    router: Router,
    /// Streams end when it fires, or a stopping sidecar would wait for followers that never leave.
    stop: CancellationToken,
}

/// Whoever reaches our sockets may ask about what we watch.
struct OfScope(ViewScope);

struct Fresher {
    reached: watch::Receiver<Revision>,
    upstream: Upstream,
    scope: ViewScope,
}

/// Tells the router library what it would have seen itself, had the question come to it.
struct Seen(Router);

/// Longest wait for a revision that the copy has not reached: a step takes milliseconds.
const WAIT: Duration = Duration::from_secs(1);

type Sent<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

// === impl Answers ===

impl Answers {
    /// Over what `relay` was told by `router`.
    pub(crate) fn new(relay: &Relay, router: Router, upstream: Upstream, stop: CancellationToken) -> Self {
        let scope = router.scopes().first().cloned().unwrap_or(ViewScope::All);
        let seen = Arc::new(Seen(router.clone()));
        let fresher = Fresher { reached: relay.reached(), upstream, scope: scope.clone() };
        let api = Api::new(Arc::clone(relay.hub()))
            .guarded_by(Arc::new(OfScope(scope)))
            .freshened_by(Arc::new(fresher))
            .counted_by(Arc::clone(&seen) as _)
            .watched_by(seen);
        Self { api, router, stop }
    }

    /// How the copy is doing.
    pub(crate) const fn router(&self) -> &Router {
        &self.router
    }

    /// Numbers for an operator, as Prometheus reads them.
    pub(crate) fn metrics(&self) -> String {
        let counted = self.api.hub().counters();
        let own = [
            ("watching", "gauge", counted.watching as u64),
            ("slow_readers_cut_total", "counter", counted.slow_readers_cut),
            ("refused_total", "counter", counted.refused),
            ("resyncs_total", "counter", counted.resyncs),
            ("snapshots_total", "counter", counted.snapshots),
        ];
        let own = own.map(|(name, kind, value)| {
            format!("# TYPE ostiary_sidecar_{name} {kind}\nostiary_sidecar_{name} {value}\n")
        });
        format!("{}{}", self.router.metrics(), own.concat())
    }

    fn ending<T>(&self, stream: impl Stream<Item = Result<T, Status>> + Send + 'static) -> Sent<T> {
        Box::pin(stream.take_until(self.stop.clone().cancelled_owned()))
    }
}

#[tonic::async_trait]
impl AdmissionService for Answers {
    async fn check_admission(
        &self,
        request: Request<proto::CheckAdmissionRequest>,
    ) -> Result<Response<proto::CheckAdmissionResponse>, Status> {
        let question = request.get_ref().clone();
        let local = self.api.check_admission(request).await?;
        if !is_silent(local.get_ref()) {
            return Ok(local);
        }
        match self.router.check_or_ask(&query_of(&question), at_least(&question)).await {
            Ok(decision) => Ok(Response::new(decision_to_wire(&decision))),
            Err(_) => Ok(local),
        }
    }

    async fn batch_check_admission(
        &self,
        request: Request<proto::BatchCheckAdmissionRequest>,
    ) -> Result<Response<proto::BatchCheckAdmissionResponse>, Status> {
        self.api.batch_check_admission(request).await
    }

    async fn resolve_version(
        &self,
        request: Request<proto::ResolveVersionRequest>,
    ) -> Result<Response<proto::ResolveVersionResponse>, Status> {
        self.api.resolve_version(request).await
    }

    type WatchAdmissionsStream = Sent<proto::WatchAdmissionsResponse>;

    async fn watch_admissions(
        &self,
        request: Request<Streaming<proto::WatchAdmissionsRequest>>,
    ) -> Result<Response<Self::WatchAdmissionsStream>, Status> {
        Ok(self.api.watch_admissions(request).await?.map(|stream| self.ending(stream)))
    }

    type GetSnapshotStream = Sent<proto::GetSnapshotResponse>;

    async fn get_snapshot(
        &self,
        request: Request<proto::GetSnapshotRequest>,
    ) -> Result<Response<Self::GetSnapshotStream>, Status> {
        Ok(self.api.get_snapshot(request).await?.map(|stream| self.ending(stream)))
    }
}

/// Whether the copy says that it does not know, and not that it knows better.
fn is_silent(local: &proto::CheckAdmissionResponse) -> bool {
    use DecisionReason::{RevisionNotReached, VersionUnknown, ViewStale};
    matches!(local.reason(), VersionUnknown | RevisionNotReached | ViewStale)
}

fn at_least(question: &proto::CheckAdmissionRequest) -> Option<Revision> {
    match question.consistency.as_ref()?.requirement.as_ref()? {
        Requirement::AtLeastAsFresh(token) => Some(Revision(token.revision)),
        Requirement::MinimizeLatency(_) | Requirement::FullyConsistent(_) => None,
    }
}

// === impl OfScope ===

impl Guard for OfScope {
    fn may_ask(&self, _: &MetadataMap, namespace: &str) -> Result<bool, Status> {
        Ok(self.0.holds(namespace))
    }

    fn may_copy(&self, _: &MetadataMap, scope: &ViewScope) -> Result<String, Status> {
        if *scope == self.0 {
            return Ok("sidecar".to_owned());
        }
        // heads are signed for a scope as a whole, and this relay has those of its own
        Err(Status::permission_denied(format!("this sidecar passes on `{}` and nothing else; watch that", self.0)))
    }
}

// === impl Fresher ===

#[tonic::async_trait]
impl Freshen for Fresher {
    async fn reach(&self, revision: Revision) {
        let mut reached = self.reached.clone();
        // late is not an error: the decision says whether it was reached
        drop(tokio::time::timeout(WAIT, reached.wait_for(|at| *at >= revision)).await);
    }

    async fn newest(&self) -> Result<Revision, Status> {
        match &self.scope {
            ViewScope::All => self.upstream.newest("any").await,
            ViewScope::Namespace(namespace) => self.upstream.newest(namespace).await,
        }
    }
}

// === impl Seen ===

impl Decided for Seen {
    fn decided(&self, query: &Query<'_>, decision: &Decision) {
        if decision.allows() {
            return;
        }
        let subject = Subject {
            agent: query.agent,
            version: query.version,
            consumer: query.consumer.unwrap_or_default(),
            canary: false,
            card_digest: match query.card_digest {
                ostiary_admission::Observed::Digest(digest) => Some(digest),
                _ => None,
            },
        };
        self.0.report_outcome(&subject, Signal::Denied(decision.reason));
    }
}

impl Mismatches for Seen {
    fn mismatched(&self, query: &Query<'_>, _: &Decision) {
        // the library reports a mismatch when it decides on one
        drop(self.0.check(query));
    }
}
