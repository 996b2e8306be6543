//! Questions, answered from the copy; where the copy is silent or behind, the control plane is asked.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use futures::{Stream, StreamExt as _};
use ostiary_admission::{
    Decision, DecisionReason, Query, ViewScope,
    wire::{decision_to_wire, query_of},
};
use ostiary_canon::Revision;
use ostiary_pdp::{Api, Decided, Freshen, Guard, Mismatches};
use ostiary_proto::admission::v1::{
    self as proto, admission_service_server::AdmissionService, consistency::Requirement,
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
    seen: Arc<Seen>,
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

/// How fresh an answer must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Any,
    AtLeast(Revision),
    Newest,
}

/// Counts answers, and tells the router library what it would have seen itself, had the question come to it.
struct Seen {
    router: Router,
    /// One for each reason, in their published order.
    decisions: [AtomicU64; DecisionReason::ALL.len()],
}

/// Longest wait for a revision that the copy has not reached: a step takes milliseconds.
const WAIT: Duration = Duration::from_secs(1);

type Sent<T> = Pin<Box<dyn Stream<Item = Result<T, Status>> + Send>>;

// === impl Answers ===

impl Answers {
    /// Over what `relay` was told by `router`.
    pub(crate) fn new(relay: &Relay, router: Router, upstream: Upstream, stop: CancellationToken) -> Self {
        let scope = router.scopes().first().cloned().unwrap_or(ViewScope::All);
        let decisions = std::array::from_fn(|_| AtomicU64::new(0));
        let seen = Arc::new(Seen { router: router.clone(), decisions });
        let fresher = Fresher { reached: relay.reached(), upstream, scope: scope.clone() };
        let api = Api::new(Arc::clone(relay.hub()))
            .guarded_by(Arc::new(OfScope(scope)))
            .freshened_by(Arc::new(fresher))
            .counted_by(Arc::clone(&seen) as _)
            .watched_by(Arc::clone(&seen) as _);
        Self { api, router, seen, stop }
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
        format!("{}{}{}", self.router.metrics(), own.concat(), self.seen.metrics())
    }

    /// Fails without a copy that may be decided on.
    fn living(&self) -> Result<(), Status> {
        let ready = self.router.status().is_ready();
        if ready { Ok(()) } else { Err(Status::unavailable("the copy is stale; whoever asked denies")) }
    }

    /// Fails an ALLOW that had to be of some revision and is of one that no head signs yet: a step without a head could name
    /// any. An honest one is covered within a fifth of a second.
    async fn signed(
        &self,
        wanted: Wanted,
        answers: impl IntoIterator<Item = &proto::CheckAdmissionResponse>,
    ) -> Result<(), Status> {
        let allows = answers.into_iter().find(|answer| answer.outcome() == proto::Outcome::Allow);
        let of = allows.map(|answer| Revision(answer.revision.as_ref().map_or(0, |token| token.revision)));
        let needed = match (wanted, of) {
            (Wanted::Any, _) | (_, None) => return Ok(()),
            (Wanted::AtLeast(wanted), Some(_)) => wanted,
            (Wanted::Newest, Some(of)) => of,
        };
        let namespace = match self.router.scopes().first() {
            Some(ViewScope::Namespace(namespace)) => namespace,
            Some(ViewScope::All) | None => "any",
        };
        if self.router.reached(namespace, needed, WAIT).await {
            return Ok(());
        }
        Err(Status::unavailable(format!("no head of revision {needed} has come yet; whoever asked denies")))
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
        let wanted = Wanted::of(question.consistency.as_ref());
        // without a living copy the hub would only say that all evidence is over
        let local = if self.router.status().is_ready() {
            let local = self.api.check_admission(request).await?.into_inner();
            // whoever wants the newest gets no answer of before, from nobody
            if !is_silent(&local) || wanted == Wanted::Newest {
                self.signed(wanted, [&local]).await?;
                return Ok(Response::new(local));
            }
            Some(local)
        } else {
            None
        };
        if wanted == Wanted::Newest {
            self.living()?;
        }
        let asked = self.router.check_or_ask(&query_of(&question), wanted.at_least()).await;
        Ok(Response::new(match asked {
            // whoever asked may use it until it ends: a quarantine has to wait for that
            Ok(decision) if decision.allows() && !self.api.hub().pass_on(&question.agent, &decision) => {
                return Err(Status::unavailable("the copy went on while this was decided; ask again"));
            }
            Ok(decision) => decision_to_wire(&decision),
            Err(undecided) => local.unwrap_or_else(|| decision_to_wire(&undecided.local)),
        }))
    }

    async fn batch_check_admission(
        &self,
        request: Request<proto::BatchCheckAdmissionRequest>,
    ) -> Result<Response<proto::BatchCheckAdmissionResponse>, Status> {
        self.living()?;
        let wanted = Wanted::of(request.get_ref().consistency.as_ref());
        let answered = self.api.batch_check_admission(request).await?;
        self.signed(wanted, answered.get_ref().answers.iter().filter_map(|answer| answer.decision.as_ref())).await?;
        Ok(answered)
    }

    async fn resolve_version(
        &self,
        request: Request<proto::ResolveVersionRequest>,
    ) -> Result<Response<proto::ResolveVersionResponse>, Status> {
        self.living()?;
        let wanted = Wanted::of(request.get_ref().consistency.as_ref());
        let answered = self.api.resolve_version(request).await?;
        self.signed(wanted, &answered.get_ref().decision).await?;
        Ok(answered)
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
    use proto::DecisionReason::{RevisionNotReached, VersionUnknown, ViewStale};
    matches!(local.reason(), VersionUnknown | RevisionNotReached | ViewStale)
}

// === impl Wanted ===

impl Wanted {
    fn of(consistency: Option<&proto::Consistency>) -> Self {
        match consistency.and_then(|consistency| consistency.requirement.as_ref()) {
            None | Some(Requirement::MinimizeLatency(_)) => Self::Any,
            Some(Requirement::AtLeastAsFresh(token)) => Self::AtLeast(Revision(token.revision)),
            Some(Requirement::FullyConsistent(_)) => Self::Newest,
        }
    }

    fn at_least(self) -> Option<Revision> {
        match self {
            Self::AtLeast(revision) => Some(revision),
            Self::Any | Self::Newest => None,
        }
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

impl Seen {
    fn metrics(&self) -> String {
        let mut text = "# TYPE ostiary_sidecar_decisions_total counter\n".to_owned();
        for (reason, count) in DecisionReason::ALL.iter().zip(&self.decisions) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                text.push_str(&format!("ostiary_sidecar_decisions_total{{reason=\"{}\"}} {count}\n", reason.as_str()));
            }
        }
        text
    }
}

impl Decided for Seen {
    fn decided(&self, query: &Query<'_>, decision: &Decision) {
        let at = DecisionReason::ALL.iter().position(|reason| *reason == decision.reason);
        if let Some(count) = at.and_then(|at| self.decisions.get(at)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
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
        self.router.report_outcome(&subject, Signal::Denied(decision.reason));
    }
}

impl Mismatches for Seen {
    fn mismatched(&self, query: &Query<'_>, _: &Decision) {
        // the library reports a mismatch when it decides on one
        drop(self.router.check(query));
    }
}
