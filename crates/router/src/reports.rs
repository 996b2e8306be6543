//! Tells the control plane what was seen and how dispatches went, in the background and without ever waiting for it.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use ostiary_admission::{Decision, DecisionReason, Observed, Query};
use ostiary_canon::Digest;
use ostiary_proto::drift::v1::drift_service_client::DriftServiceClient;
use tokio::{sync::Notify, time::MissedTickBehavior};
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;

use crate::{
    config::{RouterConfig, Token},
    drift::{Drift, Sighting},
    link::authorize,
    outcomes::{Outcomes, Window},
    ports::Ports,
    signal::{Signal, Subject},
};

/// What is to be told.
pub(crate) struct Reports {
    outcomes: Mutex<Outcomes>,
    drift: Mutex<Drift>,
    news: Notify,
    ports: Ports,
}

/// Sends it.
pub(crate) struct Reporter {
    pub(crate) reports: Arc<Reports>,
    pub(crate) channel: Channel,
    pub(crate) token: Option<Token>,
    pub(crate) every: Duration,
    pub(crate) stop: CancellationToken,
}

/// A report that takes longer is told again.
const PATIENCE: Duration = Duration::from_secs(5);
/// After a failed report, before the next attempt.
const AGAIN: Duration = Duration::from_secs(2);

// === impl Reports ===

impl Reports {
    pub(crate) fn new(config: &RouterConfig, ports: &Ports) -> Self {
        let instance = format!("{:016x}", ports.entropy.draw());
        Self {
            outcomes: Mutex::new(Outcomes::new(&config.router_id, instance.clone(), ports.time.wall())),
            drift: Mutex::new(Drift::new(&config.router_id, instance)),
            news: Notify::new(),
            ports: ports.clone(),
        }
    }

    pub(crate) fn count(&self, subject: &Subject<'_>, signal: Signal<'_>) {
        self.outcomes().count(subject, signal);
    }

    /// Notes a denial that says that the router holds another card than the admitted one.
    pub(crate) fn denied(&self, query: &Query<'_>, decision: &Decision, admitted: impl FnOnce() -> Option<Digest>) {
        let reason = decision.would_deny.unwrap_or(decision.reason);
        let (DecisionReason::CardDigestMismatch, Observed::Digest(observed)) = (reason, query.card_digest) else {
            return;
        };
        self.saw(Sighting {
            agent: query.agent.into(),
            version: query.version.into(),
            expected: admitted(),
            observed: Some(observed),
        });
    }

    pub(crate) fn saw(&self, sighting: Sighting) {
        if self.drift().saw(sighting, self.ports.time.wall()) {
            self.news.notify_one();
        }
    }

    /// Counts of what did not get through, for metrics.
    pub(crate) fn lost(&self) -> [(&'static str, u64); 3] {
        let outcomes = self.outcomes();
        [
            ("ostiary_router_outcomes_dropped_total", outcomes.dropped),
            ("ostiary_router_outcome_windows_lost_total", outcomes.lost_windows),
            ("ostiary_router_drift_dropped_total", self.drift().dropped),
        ]
    }

    fn outcomes(&self) -> MutexGuard<'_, Outcomes> {
        self.outcomes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn drift(&self) -> MutexGuard<'_, Drift> {
        self.drift.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Reporter ===

impl Reporter {
    /// Runs until stopped; then tells once more what is left.
    pub(crate) async fn run(self) {
        let mut ticks = tokio::time::interval(self.every.max(Duration::from_millis(1)));
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        // The first tick is at once, and there is nothing yet.
        ticks.tick().await;
        let mut again = tokio::time::interval(AGAIN);
        again.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = self.stop.cancelled() => break,
                () = self.reports.news.notified() => self.tell_drift().await,
                _ = again.tick() => self.tell_drift().await,
                _ = ticks.tick() => self.tell_outcomes().await,
            }
        }
        self.tell_drift().await;
        self.tell_outcomes().await;
    }

    async fn tell_drift(&self) {
        let untold = self.reports.drift().untold();
        for report in untold {
            let key = report.idempotency_key.clone();
            let mut request = tonic::Request::new(report);
            authorize(&mut request, self.token.as_ref());
            let mut client = DriftServiceClient::new(self.channel.clone());
            let worked = told(client.report_drift(request)).await;
            self.reports.drift().told(&key, worked);
        }
    }

    async fn tell_outcomes(&self) {
        let now = self.reports.ports.time.wall();
        let windows = self.reports.outcomes().close(now);
        for window in windows {
            if !self.tell_window(&window).await {
                self.reports.outcomes().failed(window);
            }
        }
    }

    async fn tell_window(&self, window: &Window) -> bool {
        let mut request = tonic::Request::new(window.request.clone());
        authorize(&mut request, self.token.as_ref());
        let mut client = DriftServiceClient::new(self.channel.clone());
        told(client.report_outcomes(request)).await
    }
}

async fn told<T>(call: impl Future<Output = Result<T, tonic::Status>>) -> bool {
    match tokio::time::timeout(PATIENCE, call).await {
        Ok(Ok(_)) => true,
        Ok(Err(status)) => {
            tracing::debug!(code = ?status.code(), "a report was not taken: {}", status.message());
            false
        }
        Err(_) => false,
    }
}
