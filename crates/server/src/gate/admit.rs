//! The admission gate. It has no run: the server looks at the evidence of the other gates and, itself, at the card.

use std::{sync::Arc, time::Duration};

use jiff::SignedDuration;
use ostiary_canon::{Digest, intoto};
use ostiary_domain::{
    Authorization, GateDecision, GateFacts, GateOutcome, Job, Lease, evidence::NewEvidence, gate::judge_gate,
    ports::Claim,
};
use ostiary_record::Gate;
use ostiary_verify::HARNESS_VERSION;

use super::{
    GateError, Gatekeeper,
    commit::{Decided, GATEKEEPER},
    facts::Gathered,
    measure::{Measured, measure},
    statement::{self, Grounds},
};
use crate::{app::App, report::StoredReport};

/// Works off the admission gates of the queue, one at a time.
#[derive(Clone, Debug)]
pub struct Clerk {
    keeper: Gatekeeper,
}

/// How often the queue is looked at when nobody rings.
const IDLE: Duration = Duration::from_secs(1);

/// Fetching a card takes at most half a minute; nobody waits longer for a clerk that died.
const LEASE: SignedDuration = SignedDuration::from_secs(60);

// === impl Clerk ===

impl Clerk {
    /// A clerk over an app.
    #[must_use]
    pub const fn new(app: Arc<App>) -> Self {
        Self { keeper: Gatekeeper::new(app) }
    }

    /// Works until dropped.
    pub async fn work(&self) {
        let mut waiter = self.keeper.app.work.waiter();
        loop {
            match self.once().await {
                Ok(true) => {}
                Ok(false) => waiter.wait(IDLE).await,
                Err(error) => {
                    tracing::error!(error = %error, "an admission could not be judged; it will be tried again");
                    waiter.wait(IDLE).await;
                }
            }
        }
    }

    /// Judges what is waiting now; says whether there was anything.
    ///
    /// # Errors
    /// When something of ours does not work; the job then waits for its lease to lapse.
    pub async fn once(&self) -> Result<bool, GateError> {
        let claim = Claim { worker: GATEKEEPER.to_owned(), gates: vec![Gate::Admission], lease_for: LEASE };
        let Some((job, lease)) = self.keeper.app.store.claim(claim).await? else { return Ok(false) };
        let outcome = self.keeper.admit(&lease, &job).await?;
        tracing::info!(version = %job.version, gate = %job.gate, %outcome, "gate is judged");
        self.keeper.app.metrics.judged(job.gate.as_str(), outcome.as_str());
        Ok(true)
    }
}

// === impl Gatekeeper ===

impl Gatekeeper {
    async fn admit(&self, lease: &Lease, job: &Job) -> Result<GateOutcome, GateError> {
        let mut gathered = self.gather(job).await?;
        let live_card = self.live_card(&gathered.environment).await?;
        gathered.now = self.app.store.now().await?;
        let source =
            gathered.version.state.subject().map_or(ostiary_record::DigestSource::Declared, |s| s.producer_source);
        let card = gathered.version.state.subject().map(|subject| subject.card);
        let measured = measure(&gathered.version, &gathered.bundle, card, source);
        let facts = GateFacts {
            gate: job.gate,
            version: &gathered.version,
            subject: measured.subject,
            run: None,
            evidence: &gathered.evidence,
            live_card,
            approvals: &gathered.approvals,
        };
        let decision = judge_gate(&facts, &gathered.policy, gathered.now);
        self.app.failpoints.hit(ostiary_domain::Failpoint::GateJudged)?;
        if decision.outcome == GateOutcome::Pass {
            self.vouch(lease, job, &gathered, &measured, decision).await
        } else {
            self.refuse(lease, job, &gathered, &measured, decision).await
        }
    }

    async fn vouch(
        &self,
        lease: &Lease,
        job: &Job,
        gathered: &Gathered,
        measured: &Measured,
        decision: GateDecision,
    ) -> Result<GateOutcome, GateError> {
        let grounds = Grounds {
            version: &gathered.version,
            measured,
            evidence: &gathered.evidence,
            policy: &gathered.policy,
            profiles: &decision.profiles_passed,
            now: gathered.now,
            revision: self.app.store.revision().await?,
        };
        let word = statement::authorization(&grounds)?;
        let facts = word.facts().clone();
        let envelope = self.sign(&statement::bytes(&gathered.version, measured, word)?)?;
        let mut evidence = self.evidence(job, gathered, measured, &decision, envelope);
        evidence.verified_at = facts.verified_at;
        evidence.expires_at = facts.expires_at;
        let authorization = authorization(&evidence, &facts);
        self.close(lease, gathered, measured, decision, (evidence, Some(authorization))).await
    }

    async fn refuse(
        &self,
        lease: &Lease,
        job: &Job,
        gathered: &Gathered,
        measured: &Measured,
        decision: GateDecision,
    ) -> Result<GateOutcome, GateError> {
        let fact = statement::of_refusal(&decision, gathered.policy.digest(), gathered.now);
        let envelope = self.sign(&statement::bytes(&gathered.version, measured, fact)?)?;
        let evidence = self.evidence(job, gathered, measured, &decision, envelope);
        self.close(lease, gathered, measured, decision, (evidence, None)).await
    }

    fn evidence(
        &self,
        job: &Job,
        gathered: &Gathered,
        measured: &Measured,
        decision: &GateDecision,
        envelope: bytes::Bytes,
    ) -> NewEvidence {
        NewEvidence {
            id: self.evidence_id(),
            gate: job.gate,
            outcome: statement::outcome(decision.outcome),
            profiles_passed: decision.profiles_passed.clone(),
            profiles_failed: decision.profiles_failed.clone(),
            subject: measured.subject,
            policy: gathered.policy.digest(),
            harness: HARNESS_VERSION.to_owned(),
            environment: gathered.version.environment.to_string(),
            run: None,
            run_started: job.started.unwrap_or_default(),
            envelope,
            verified_at: gathered.now,
            expires_at: Self::expiry(gathered, job.gate, gathered.now),
        }
    }

    async fn close(
        &self,
        lease: &Lease,
        gathered: &Gathered,
        measured: &Measured,
        decision: GateDecision,
        (evidence, authorization): (NewEvidence, Option<Authorization>),
    ) -> Result<GateOutcome, GateError> {
        let stored = StoredReport { decision, report: None };
        self.commit(Decided {
            lease,
            gathered,
            measured,
            decision: &stored.decision,
            evidence,
            authorization: authorization.as_ref(),
            report: stored.to_bytes(),
        })
        .await?;
        Ok(stored.decision.outcome)
    }
}

/// The signed word in short, as the version carries it.
fn authorization(evidence: &NewEvidence, facts: &intoto::AuthorizationFacts) -> Authorization {
    Authorization {
        evidence: evidence.id.clone(),
        evidence_digest: Digest::of(&evidence.envelope),
        profiles: facts.profiles_passed.clone(),
        policy: facts.policy,
        verified_at: facts.verified_at,
        not_before: facts.not_before,
        expires_at: facts.window_ends,
    }
}
