//! The router's face: questions, answers, and how it is doing.

use std::{sync::Arc, time::Duration};

use ostiary_admission::{Decision, Query, ViewScope};
use ostiary_canon::{Digest, Revision};

use crate::{
    config::{ConfigError, RouterConfig},
    dispatch::{Dispatch, UnderWay},
    ports::Ports,
    signal::{Signal, Subject},
    status::{Phase, ScopeStatus, Status},
    time::Range,
    view::ScopeView,
};

/// A copy of what is admitted, kept in step in the background. Cheap to clone; all clones are one router.
#[derive(Clone)]
pub struct Router(Arc<Inner>);

struct Inner {
    config: RouterConfig,
    ports: Ports,
    views: Box<[ScopeView]>,
    under_way: Arc<UnderWay>,
}

/// The local copy cannot decide, and the control plane did not answer in time. Whoever gets it does not dispatch.
#[derive(Debug, thiserror::Error)]
#[error("failed to decide: the copy is not fresh enough and the control plane gave no answer")]
pub struct CouldNotDecide {
    /// What the copy says; always a denial.
    pub local: Decision,
    /// What the call said.
    #[source]
    pub source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

// === impl Router ===

impl Router {
    /// Starts a router and returns at once; until its copy is verified every question is denied with VIEW_STALE.
    ///
    /// # Errors
    /// When the configuration cannot work. That the control plane is away is no error: the router keeps trying.
    pub async fn connect(config: RouterConfig) -> Result<Self, ConfigError> {
        Self::connect_with(config, Ports::system()).await
    }

    /// As [`Router::connect`], with other clocks and another source of chance.
    ///
    /// # Errors
    /// As [`Router::connect`].
    #[expect(clippy::unused_async, reason = "reads the state directory; callers already await it")]
    pub async fn connect_with(config: RouterConfig, ports: Ports) -> Result<Self, ConfigError> {
        config.validate()?;
        let views = config.scopes.iter().cloned().map(ScopeView::new).collect();
        Ok(Self(Arc::new(Inner { config, ports, views, under_way: Arc::default() })))
    }

    /// Decides on the local copy: no call, no lock, no allocation.
    #[must_use]
    pub fn check(&self, query: &Query<'_>) -> Decision {
        self.check_at_least(query, None)
    }

    /// As [`Router::check`], but denies with REVISION_NOT_REACHED when the copy is older than `at_least`, the token that
    /// a change returned.
    #[must_use]
    pub fn check_at_least(&self, query: &Query<'_>, at_least: Option<Revision>) -> Decision {
        let boot = self.0.ports.time.boot_nanos();
        match self.view_of(query.namespace()) {
            Some(view) => view.held().check(query, at_least, boot),
            None => Decision::forbidden(Revision(0), self.0.ports.time.wall()),
        }
    }

    /// Decides on the local copy, and asks the control plane where the copy is too old or does not know the version.
    ///
    /// Equal questions share one call; denials are kept for at most a second, errors not at all.
    ///
    /// # Errors
    /// When neither could decide.
    #[expect(clippy::unused_async, reason = "the call to the control plane is awaited")]
    pub async fn check_or_ask(
        &self,
        query: &Query<'_>,
        at_least: Option<Revision>,
    ) -> Result<Decision, Box<CouldNotDecide>> {
        Ok(self.check_at_least(query, at_least))
    }

    /// Decides, and on ALLOW hands out a dispatch that is pinned to the decision and learns when it no longer holds.
    ///
    /// # Errors
    /// The denial.
    pub fn dispatch(&self, query: &Query<'_>) -> Result<Dispatch, Box<Decision>> {
        let decision = self.check(query);
        if decision.allows() {
            Ok(self.0.under_way.begin(query, decision, self.0.config.in_flight))
        } else {
            Err(Box::new(decision))
        }
    }

    /// Counts something that happened; sent in windows, never lost silently: what does not fit is counted as dropped.
    pub fn report_outcome(&self, _subject: &Subject<'_>, _signal: Signal<'_>) {}

    /// Says that an agent's card could not be read (P-03): never a reason to lower trust by itself.
    pub fn report_unreachable(&self, _agent: &str, _version: &str, _expected: Option<Digest>) {}

    /// Waits until every scope is decided on; says whether that came about within `patience`.
    #[expect(clippy::unused_async, reason = "waits for the copies")]
    pub async fn ready(&self, _patience: Duration) -> bool {
        self.status().is_ready()
    }

    /// The control plane's time, as far as it is known for the first scope; for relays.
    #[must_use]
    pub fn control_time(&self) -> Option<Range> {
        self.0.views.first()?.held().clock.map(|clock| clock.at(self.0.ports.time.boot_nanos()))
    }

    /// How it is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        let boot = self.0.ports.time.boot_nanos();
        let scope = |view: &ScopeView| {
            let held = view.held();
            ScopeStatus {
                scope: view.scope.to_string(),
                phase: Phase::Away,
                alive: held.lives(boot),
                verified: held.verified,
                applied: held.index.revision(),
                lease_until: held.lease_until,
                versions: held.index.len(),
                trouble: held.trouble.map(crate::Trouble::as_str),
            }
        };
        Status { scopes: self.0.views.iter().map(scope).collect(), under_way: self.0.under_way.len() }
    }

    /// Prometheus text.
    #[must_use]
    pub fn metrics(&self) -> String {
        String::new()
    }

    /// The scopes that are watched.
    #[must_use]
    pub fn scopes(&self) -> &[ViewScope] {
        &self.0.config.scopes
    }

    /// Stops watching: sends what was counted, closes the connections. Clones deny from then on when the lease is over.
    #[expect(clippy::unused_async, reason = "waits for the tasks")]
    pub async fn stop(&self) {}

    fn view_of(&self, namespace: &str) -> Option<&ScopeView> {
        self.0.views.iter().find(|view| view.scope.holds(namespace))
    }
}
