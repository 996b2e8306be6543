//! A router saw another card: the control plane looks itself, and what it saw counts (P-03).
//!
//! Each look is one fetch under the rules of the admission gate, and one guarded transaction. Whoever dies in between
//! leaves a row that is handed out again; whoever is late changes nothing.

use std::{panic::resume_unwind, sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::Digest;
use ostiary_contract::Bundle;
use ostiary_domain::{
    Failpoint, GateDecision, GateOutcome, GateReason, Policy, StoreError, Version,
    drift::{Look, Looked, Revalidation, Saw, Sighting},
    evidence::NewEvidence,
    ports::{Keep, ObjectKind},
};
use ostiary_record::{DigestSource, Gate, Outcome};
use tokio::task::JoinSet;

use super::{
    GateError, Gatekeeper, RunError,
    card::{ServedCard, look},
    measure::measure,
    statement,
};
use crate::{app::App, error::chain, report::StoredReport};

/// Looks at cards again, and sweeps away what routers told long ago.
#[derive(Clone, Debug)]
pub struct Inspector {
    keeper: Gatekeeper,
}

/// How often due looks are looked for when nobody rings.
const IDLE: Duration = Duration::from_secs(1);
/// Looks at the same time: an agent that answers slowly keeps nobody else waiting.
const AT_ONCE: usize = 8;
/// Longer than a fetch may take, so that no second server looks meanwhile.
const LEASE: SignedDuration = SignedDuration::from_secs(60);
/// How often old reports are swept away; they are kept for days.
const SWEEP_EVERY: SignedDuration = SignedDuration::from_hours(1);

// === impl Inspector ===

impl Inspector {
    /// An inspector over an app.
    #[must_use]
    pub const fn new(app: Arc<App>) -> Self {
        Self { keeper: Gatekeeper::new(app) }
    }

    /// Works until dropped.
    pub async fn work(&self) {
        let mut waiter = self.keeper.app.work.waiter();
        let mut swept: Option<Timestamp> = None;
        let mut under_way = JoinSet::new();
        loop {
            if let Err(error) = self.hand_out(&mut under_way).await {
                tracing::warn!(error = %chain(&error), "could not look for revalidations that are due");
            }
            let now = self.keeper.app.clock.now();
            if swept.is_none_or(|last| now.duration_since(last) >= SWEEP_EVERY) {
                swept = Some(now);
                self.sweep().await;
            }
            tokio::select! {
                Some(ended) = under_way.join_next() => match ended {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::error!(error = %chain(&error), "a card could not be looked at; again later"),
                    // Our own bug: the server stops for it.
                    Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
                    Err(error) => tracing::warn!(%error, "a look was cut off"),
                },
                () = waiter.wait(IDLE) => {}
            }
        }
    }

    async fn hand_out(&self, under_way: &mut JoinSet<Result<(), GateError>>) -> Result<(), StoreError> {
        while under_way.len() < AT_ONCE {
            let Some(open) = self.keeper.app.store.claim_revalidation(LEASE).await? else { return Ok(()) };
            let keeper = self.keeper.clone();
            under_way.spawn(async move { keeper.revalidate(open).await });
        }
        Ok(())
    }

    async fn sweep(&self) {
        let app = &self.keeper.app;
        let keep = Keep { drift: app.config.reports.drift(), outcomes: app.config.reports.outcomes() };
        match app.store.forget_reports(keep).await {
            Ok(0) => {}
            Ok(rows) => tracing::info!(rows, "old reports are swept away"),
            Err(error) => tracing::warn!(error = %chain(&error), "old reports could not be swept away"),
        }
    }
}

// === impl Gatekeeper ===

impl Gatekeeper {
    /// Looks, and writes what was seen.
    async fn revalidate(&self, open: Revalidation) -> Result<(), GateError> {
        let version = self.app.store.version(&open.version).await?;
        let version = version.ok_or_else(|| gone("version", &open))?;
        let saw = self.saw(&version, &open).await?;
        self.app.failpoints.hit(Failpoint::GateJudged)?;
        let looked = self.app.store.looked(Look { claimed: open, saw }).await?;
        match looked {
            Looked::Concluded { conclusion, revision } => {
                tracing::info!(version = %version.key, conclusion = conclusion.as_str(), "a card was looked at again");
                self.told(revision.is_some());
            }
            Looked::Again { at, revision } => {
                tracing::warn!(version = %version.key, %at, "a card could not be looked at again; everybody is denied: {}", revision.is_some());
                self.told(revision.is_some());
            }
            Looked::Late => tracing::debug!(version = %version.key, "somebody else looked meanwhile"),
        }
        Ok(())
    }

    fn told(&self, anything: bool) {
        if anything {
            self.app.committed();
        }
    }

    async fn saw(&self, version: &Version, open: &Revalidation) -> Result<Saw, GateError> {
        let environment = self.app.store.environment(&version.environment).await?;
        let environment = environment.ok_or_else(|| gone("environment", open))?;
        let served = match look(&environment.document, self.app.config.worker.environment_files.as_deref()).await {
            Ok(served) => served,
            Err(error) => return Ok(Saw::Nothing { why: error.to_string() }),
        };
        let admitted = version.state.admitted().map(|admitted| admitted.subject.card);
        let evidence = match admitted {
            Some(card) if card != served.digest => Some(self.another_card(version, open, (&served, card)).await?),
            Some(_) | None => None,
        };
        Ok(Saw::Card(Box::new(Sighting { card: served.digest, evidence })))
    }

    /// The signed fact that another card is served, with its bytes kept. Stands where a failed admission gate stands:
    /// that one also looks at nothing but the card.
    async fn another_card(
        &self,
        version: &Version,
        open: &Revalidation,
        (served, admitted): (&ServedCard, Digest),
    ) -> Result<(NewEvidence, Bytes), GateError> {
        let (policy, now) = (self.app.policy().await?, self.app.store.now().await?);
        let archive = self.app.store.bundle(&version.bundle).await?.ok_or_else(|| gone("bundle", open))?;
        let bundle =
            Bundle::from_tar(&archive).map_err(|error| RunError::Job { what: "bundle", why: error.to_string() })?;
        let source = version.state.subject().map_or(DigestSource::Declared, |subject| subject.producer_source);
        let measured = measure(version, &bundle, Some(served.digest), source);
        let decision = GateDecision {
            outcome: GateOutcome::Fail,
            reasons: vec![GateReason::CardChanged { expected: admitted, observed: served.digest }],
            profiles_passed: Vec::new(),
            profiles_failed: version.activated.clone(),
            waived: Vec::new(),
        };
        let kept = self.app.store.put_object(ObjectKind::Other, served.bytes.clone()).await?;
        self.app.store.put_object(ObjectKind::Other, measured.manifest.to_bytes().into()).await?;
        let fact = statement::of_another_card(&decision, policy.digest(), kept, now);
        let evidence = NewEvidence {
            id: self.evidence_id(),
            gate: Gate::Admission,
            outcome: Outcome::Fail,
            profiles_passed: Vec::new(),
            profiles_failed: decision.profiles_failed.clone(),
            waived: Vec::new(),
            subject: measured.subject,
            policy: policy.digest(),
            harness: self.app.harness.version(),
            environment: version.environment.to_string(),
            run: None,
            run_started: open.since.revision,
            envelope: self.sign(&statement::bytes(version, &measured, fact)?)?,
            verified_at: now,
            expires_at: until(&policy, now),
        };
        Ok((evidence, StoredReport { decision, report: None }.to_bytes()))
    }
}

fn until(policy: &Policy, now: Timestamp) -> Timestamp {
    let age = policy.rule(Gate::Admission).map_or(SignedDuration::ZERO, ostiary_domain::GateRule::max_age);
    now.saturating_add(age).unwrap_or(now)
}

/// A revalidation that names something that is not there: the store keeps what versions name, so this is damage.
fn gone(column: &'static str, open: &Revalidation) -> StoreError {
    let why = "it names nothing".to_owned();
    StoreError::Inconsistent { table: "revalidations", column, id: open.version.to_string(), why }
}
