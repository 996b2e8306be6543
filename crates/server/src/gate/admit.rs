//! The admission gate. It has no run: the server looks at the evidence of the other gates and, itself, at the card.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use jiff::SignedDuration;
use ostiary_canon::{Digest, intoto};
use ostiary_domain::{
    Authorization, Failpoint, GateDecision, GateFacts, GateOutcome, Job, Lease, evidence::NewEvidence,
    gate::judge_gate, ports::Claim,
};
use ostiary_record::{DigestSource, Gate};

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
        match self.keeper.admit(&lease, &job).await {
            Ok(outcome) => {
                tracing::info!(version = %job.version, gate = %job.gate, %outcome, "gate is judged");
                self.keeper.app.metrics.judged(job.gate.as_str(), outcome.as_str());
            }
            Err(GateError::Run(error)) => {
                // Nothing about it will be different the next time.
                self.keeper.app.store.give_back(&lease, &error.to_string(), None).await?;
            }
            Err(error) => return Err(error),
        }
        Ok(true)
    }
}

/// An admission that is being judged.
struct Admission<'a> {
    lease: &'a Lease,
    job: &'a Job,
    gathered: Gathered,
    measured: Measured,
}

// === impl Gatekeeper ===

impl Gatekeeper {
    async fn admit(&self, lease: &Lease, job: &Job) -> Result<GateOutcome, GateError> {
        let mut gathered = self.gather(job).await?;
        let live_card = self.live_card(&gathered.environment).await?;
        // The look at the card took time; what is decided is decided now.
        gathered.now = self.app.store.now().await?;
        let fixed = gathered.version.state.subject();
        let source = fixed.map_or(DigestSource::Declared, |subject| subject.producer_source);
        let measured = measure(&gathered.version, &gathered.bundle, fixed.map(|subject| subject.card), source);
        let facts = GateFacts {
            gate: job.gate,
            version: &gathered.version,
            subject: measured.subject,
            run: None,
            evidence: &gathered.evidence,
            live_card,
            approvals: &gathered.approvals,
            waivers: &gathered.waivers,
        };
        let decision = judge_gate(&facts, &gathered.policy, gathered.now);
        self.app.failpoints.hit(Failpoint::GateJudged)?;
        let admission = Admission { lease, job, gathered, measured };
        if decision.outcome == GateOutcome::Pass {
            self.vouch(&admission, decision).await
        } else {
            self.refuse(&admission, decision).await
        }
    }

    /// Signs the registry's word, which ends with the first of its grounds.
    async fn vouch(&self, admission: &Admission<'_>, decision: GateDecision) -> Result<GateOutcome, GateError> {
        let Admission { gathered, measured, .. } = admission;
        let word = statement::authorization(&Grounds {
            version: &gathered.version,
            measured,
            evidence: &gathered.evidence,
            policy: &gathered.policy,
            profiles: &decision.profiles_passed,
            waived: &decision.waived,
            now: gathered.now,
            revision: self.app.store.revision().await?,
        })?;
        let facts = word.facts().clone();
        let envelope = self.sign(&statement::bytes(&gathered.version, measured, word)?)?;
        let mut evidence = self.evidence(admission, &decision, envelope);
        evidence.verified_at = facts.verified_at;
        evidence.expires_at = facts.expires_at;
        let authorization = authorization(&evidence, &facts);
        self.close(admission, decision, evidence, Some(&authorization)).await
    }

    /// Signs the fact that the gate did not open, and why.
    async fn refuse(&self, admission: &Admission<'_>, decision: GateDecision) -> Result<GateOutcome, GateError> {
        let Admission { gathered, measured, .. } = admission;
        let fact = statement::of_refusal(&decision, gathered.policy.digest(), gathered.now);
        let envelope = self.sign(&statement::bytes(&gathered.version, measured, fact)?)?;
        let evidence = self.evidence(admission, &decision, envelope);
        self.close(admission, decision, evidence, None).await
    }

    fn evidence(&self, admission: &Admission<'_>, decision: &GateDecision, envelope: Bytes) -> NewEvidence {
        let Admission { job, gathered, measured, .. } = admission;
        NewEvidence {
            id: self.evidence_id(),
            gate: job.gate,
            outcome: statement::outcome(decision.outcome),
            profiles_passed: decision.profiles_passed.clone(),
            profiles_failed: decision.profiles_failed.clone(),
            waived: decision.waived.clone(),
            subject: measured.subject,
            policy: gathered.policy.digest(),
            harness: self.app.harness.version(),
            environment: gathered.version.environment.to_string(),
            run: None,
            run_started: job.started.unwrap_or_default(),
            envelope,
            verified_at: gathered.now,
            expires_at: Self::expiry(gathered, job.gate, gathered.now, &decision.waived),
        }
    }

    async fn close(
        &self,
        admission: &Admission<'_>,
        decision: GateDecision,
        evidence: NewEvidence,
        authorization: Option<&Authorization>,
    ) -> Result<GateOutcome, GateError> {
        let stored = StoredReport { decision, report: None };
        self.commit(Decided {
            lease: admission.lease,
            gathered: &admission.gathered,
            measured: &admission.measured,
            decision: &stored.decision,
            evidence,
            authorization,
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
        waived: evidence.waived.clone(),
        called_in: None,
    }
}
