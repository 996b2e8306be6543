//! The router's face: questions, answers, and how it is doing.

use std::{sync::Arc, time::Duration};

use ostiary_admission::{Decision, DecisionReason, Observed, Query, ViewScope};
use ostiary_canon::{Digest, Revision, VersionLabel};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::{
    config::{ConfigError, RouterConfig},
    dispatch::{Dispatch, UnderWay},
    drift::Sighting,
    keeper::Keeper,
    link::{Link, Surroundings, rules},
    metrics::Metrics,
    miss::Misses,
    ports::Ports,
    reports::{Reporter, Reports},
    signal::{Signal, Subject},
    status::{ScopeStatus, Status},
    time::Range,
    view::ScopeView,
};

/// A copy of what is admitted, kept in step in the background. Cheap to clone; all clones are one router.
#[derive(Clone)]
pub struct Router(Arc<Inner>);

struct Inner {
    config: RouterConfig,
    ports: Ports,
    views: Box<[Arc<ScopeView>]>,
    under_way: Arc<UnderWay>,
    reports: Arc<Reports>,
    misses: Arc<Misses>,
    metrics: Arc<Metrics>,
    tasks: TaskTracker,
    stop: CancellationToken,
}

/// A version to call for an agent, and the decision about it with its own admitted card.
#[derive(Clone, Debug)]
pub struct Choice {
    /// Its label.
    pub version: VersionLabel,
    /// The card that it was admitted with; compare it with the card that is held.
    pub card_digest: Option<Digest>,
    /// Whether it was chosen as canary.
    pub canary: bool,
    /// The decision about a dispatch to it that holds that card.
    pub decision: Decision,
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

/// Why a dispatch does not go ahead.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// It is denied.
    #[error("denied: {}", .0.reason)]
    Denied(Box<Decision>),
    /// Nobody could decide.
    #[error(transparent)]
    CouldNotDecide(Box<CouldNotDecide>),
}

/// What a copy says that does not know better than whom it could ask.
const UNSURE: [DecisionReason; 3] =
    [DecisionReason::VersionUnknown, DecisionReason::ViewStale, DecisionReason::RevisionNotReached];

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
    pub async fn connect_with(config: RouterConfig, ports: Ports) -> Result<Self, ConfigError> {
        config.validate()?;
        let (metrics, under_way) = (Arc::new(Metrics::default()), Arc::new(UnderWay::default()));
        let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
        let channel = config.endpoint.connect_lazy();
        let surroundings = Surroundings {
            channel: channel.clone(),
            token: config.token.clone(),
            ports: ports.clone(),
            under_way: Arc::clone(&under_way),
            metrics: Arc::clone(&metrics),
            downstream: config.downstream.clone(),
            stop: stop.clone(),
        };
        let mut views = Vec::with_capacity(config.scopes.len());
        for scope in &config.scopes {
            let view = Arc::new(ScopeView::new(scope.clone()));
            let disk = Keeper::open(config.state_dir.clone(), scope.clone(), Arc::clone(&metrics)).await;
            let path = config.state_dir.clone().unwrap_or_default();
            let disk = disk.map_err(|source| ConfigError::StateDir { path, source })?;
            let link = Link::new(rules(&config, scope.clone()), Arc::clone(&view), disk, surroundings.clone());
            tasks.spawn(link.run());
            views.push(view);
        }
        let reports = Arc::new(Reports::new(&config, &ports));
        let (token, every) = (config.token.clone(), config.report_every);
        let reporter =
            Reporter { reports: Arc::clone(&reports), channel: channel.clone(), token, every, stop: stop.clone() };
        tasks.spawn(reporter.run());
        let misses = Misses::new(channel, config.token.clone(), config.ask_within, ports.clone(), Arc::clone(&metrics));
        let (views, misses) = (views.into_boxed_slice(), Arc::new(misses));
        Ok(Self(Arc::new(Inner { config, ports, views, under_way, reports, misses, metrics, tasks, stop })))
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
        let decision = self.decide(query, at_least);
        self.0.metrics.decided(&decision);
        if !decision.allows() || decision.would_deny.is_some() {
            self.0.reports.denied(query, &decision, || self.admitted_card(query));
        }
        decision
    }

    /// Decides on the local copy, and asks the control plane where the copy is too old or does not know the version.
    ///
    /// Equal questions share one call; denials are kept for at most a second, errors not at all.
    ///
    /// # Errors
    /// When neither could decide.
    pub async fn check_or_ask(
        &self,
        query: &Query<'_>,
        at_least: Option<Revision>,
    ) -> Result<Decision, Box<CouldNotDecide>> {
        let local = self.check_at_least(query, at_least);
        let Some(view) = self.view_of(query.namespace()).filter(|_| UNSURE.contains(&local.reason)) else {
            return Ok(local);
        };
        // An answer may not be older than what is held, also where that is no longer decided on.
        let known = view.held().index.revision();
        let wanted = at_least.map_or(known, |wanted| wanted.max(known));
        match self.0.misses.ask(query, wanted).await {
            Ok(answer) if answer.revision < wanted => Err(Box::new(CouldNotDecide { local, source: None })),
            // The copy went on while we asked: what it says now counts, or an answer of before would follow an
            // acknowledged quarantine.
            Ok(answer) if answer.allows() && answer.revision < view.held().index.revision() => {
                let now = self.decide(query, at_least);
                let behind = [DecisionReason::ViewStale, DecisionReason::RevisionNotReached].contains(&now.reason);
                if behind { Err(Box::new(CouldNotDecide { local: now, source: None })) } else { Ok(now) }
            }
            Ok(answer) if answer.allows() && !self.is_usable(view, &answer) => {
                Err(Box::new(CouldNotDecide { local, source: None }))
            }
            Ok(answer) => Ok(answer),
            // A copy that lives knows that a version is unknown; only a newer one could know better.
            Err(_) if local.reason == DecisionReason::VersionUnknown => Ok(local),
            Err(status) => Err(Box::new(CouldNotDecide { local, source: Some(Box::new(status)) })),
        }
    }

    /// Chooses the version of an agent to call: the canary for its cohort, else the active one; sticky by the query's cohort
    /// key. The query's version and card are not looked at. `None` where nothing takes traffic, or the copy is stale.
    #[must_use]
    pub fn resolve(&self, query: &Query<'_>) -> Option<Choice> {
        let boot = self.0.ports.time.boot_nanos();
        let held = self.view_of(query.namespace())?.held();
        if !held.lives(boot) {
            return None;
        }
        let versions = held.index.versions_of(query.agent);
        let resolved = ostiary_admission::resolve(versions.iter().map(|record| &**record), query)?;
        let (version, card_digest) = (resolved.version().clone(), resolved.card_digest());
        let chosen = Query { version: version.as_str(), card_digest: card_digest.into(), ..*query };
        let decision = self.check(&chosen);
        Some(Choice { version, card_digest, canary: resolved.canary, decision })
    }

    /// Decides, and on ALLOW hands out a dispatch that is pinned to the decision and learns when it no longer holds.
    ///
    /// # Errors
    /// The denial.
    pub fn dispatch(&self, query: &Query<'_>) -> Result<Dispatch, Box<Decision>> {
        let decision = self.check(query);
        if !decision.allows() {
            self.count_denial(query, &decision);
            return Err(Box::new(decision));
        }
        let dispatch = self.0.under_way.begin(query, decision, self.0.config.in_flight);
        // What changed between the decision and its registration told nobody.
        let again = self.decide(query, None);
        if again.allows() { Ok(dispatch) } else { Err(Box::new(again)) }
    }

    /// As [`Router::dispatch`], and asks the control plane where the copy cannot decide.
    ///
    /// # Errors
    /// The denial, or that nobody could decide.
    pub async fn dispatch_or_ask(&self, query: &Query<'_>, at_least: Option<Revision>) -> Result<Dispatch, Refusal> {
        let decision = self.check_or_ask(query, at_least).await.map_err(Refusal::CouldNotDecide)?;
        if !decision.allows() {
            self.count_denial(query, &decision);
            return Err(Refusal::Denied(Box::new(decision)));
        }
        let dispatch = self.0.under_way.begin(query, decision, self.0.config.in_flight);
        // What changed between the decision and its registration told nobody.
        let again = self.decide(query, None);
        let stands = again.allows() || UNSURE.contains(&again.reason);
        if stands { Ok(dispatch) } else { Err(Refusal::Denied(Box::new(again))) }
    }

    /// Counts something that happened; sent in windows, never lost silently: what does not fit is counted as dropped.
    pub fn report_outcome(&self, subject: &Subject<'_>, signal: Signal<'_>) {
        self.0.reports.count(subject, signal);
    }

    /// Says that an agent's card could not be read (P-03): never a reason to lower trust by itself. That another card was
    /// read than the admitted one is told by itself, from the question that held it.
    pub fn report_unreachable(&self, agent: &str, version: &str) {
        let query = Query { agent, version, ..Query::default() };
        let expected = self.admitted_card(&query);
        self.0.reports.saw(Sighting { agent: agent.into(), version: version.into(), expected, observed: None });
    }

    /// Waits until every scope is decided on; says whether that came about within `patience`.
    pub async fn ready(&self, patience: Duration) -> bool {
        let time = &self.0.ports.time;
        let all = async {
            for view in &self.0.views {
                view.wait_for(|held| held.lives(time.boot_nanos())).await;
            }
        };
        tokio::time::timeout(patience, all).await.is_ok()
    }

    /// Waits until the copy of `namespace` is verified at `revision`; says whether that came about within `patience`.
    pub async fn reached(&self, namespace: &str, revision: Revision, patience: Duration) -> bool {
        let Some(view) = self.view_of(namespace) else { return false };
        tokio::time::timeout(patience, view.wait_for(|held| held.verified >= revision)).await.is_ok()
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
        let scope = |view: &Arc<ScopeView>| {
            let held = view.held();
            ScopeStatus {
                scope: view.scope.to_string(),
                phase: view.phase(),
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
        self.0.metrics.text(&self.status(), &self.0.reports.lost())
    }

    /// The scopes that are watched.
    #[must_use]
    pub fn scopes(&self) -> &[ViewScope] {
        &self.0.config.scopes
    }

    /// Stops watching: sends what was counted, closes the connections. Clones deny from then on when the lease is over.
    pub async fn stop(&self) {
        self.0.stop.cancel();
        self.0.tasks.close();
        self.0.tasks.wait().await;
        self.0.misses.stop().await;
    }

    fn decide(&self, query: &Query<'_>, at_least: Option<Revision>) -> Decision {
        let boot = self.0.ports.time.boot_nanos();
        match self.view_for(query) {
            Some(view) => view.held().check(query, at_least, boot),
            None => Decision::forbidden(Revision(0), self.0.ports.time.wall()),
        }
    }

    /// Whether an ALLOW of the control plane is believed, since nobody signed it, and still worth something by the time that
    /// it is here.
    fn is_usable(&self, view: &ScopeView, answer: &Decision) -> bool {
        let boot = self.0.ports.time.boot_nanos();
        self.0.config.believe_answers
            && view.held().clock.is_some_and(|clock| clock.at(boot).latest < answer.valid_until)
    }

    fn admitted_card(&self, query: &Query<'_>) -> Option<Digest> {
        let held = self.view_of(query.namespace())?.held();
        let record = held.index.get(query.agent, query.version)?;
        record.evidence.as_ref().map(|evidence| evidence.card_digest)
    }

    fn count_denial(&self, query: &Query<'_>, decision: &Decision) {
        let card_digest = match query.card_digest {
            Observed::Digest(digest) => Some(digest),
            Observed::Omitted | Observed::Unreadable => None,
        };
        let consumer = query.consumer.unwrap_or_default();
        let subject = Subject { agent: query.agent, version: query.version, consumer, canary: false, card_digest };
        self.report_outcome(&subject, Signal::Denied(decision.reason));
    }

    /// As `view_of`; a router of everything need not look at the namespace.
    fn view_for(&self, query: &Query<'_>) -> Option<&Arc<ScopeView>> {
        match &*self.0.views {
            [only] if only.scope == ViewScope::All => Some(only),
            _ => self.view_of(query.namespace()),
        }
    }

    fn view_of(&self, namespace: &str) -> Option<&Arc<ScopeView>> {
        self.0.views.iter().find(|view| view.scope.holds(namespace))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Whoever forgets to stop a router still gets its tasks ended.
        self.stop.cancel();
    }
}
