//! A run comes in: it is kept, judged, signed and committed.

use std::sync::Arc;

use bytes::Bytes;
use ostiary_canon::Digest;
use ostiary_domain::{
    Conflict, Failpoint, GateDecision, GateFacts, GateOutcome, GateReason, Job, Lease, StoreError,
    evidence::NewEvidence,
    gate::{GateRun, judge_gate},
};
use ostiary_record::{Finding, Report, Run};
use ostiary_verify::judge;

use super::{
    GateError, Gatekeeper,
    commit::Decided,
    facts::Gathered,
    measure::{Measured, measure},
    run,
    statement::{self, JudgedRun},
};
use crate::report::StoredReport;

/// An upload with what the checks say of it.
struct JudgedUpload {
    gathered: Gathered,
    run: Run,
    report: Report,
}

// === impl Gatekeeper ===

impl Gatekeeper {
    /// Judges an uploaded run under its lease, and answers with the digest under which the recordings are kept.
    ///
    /// # Errors
    /// When the lease is lost, the upload is no run for its job, or something of ours does not work now.
    pub async fn judge_run(&self, lease: &Lease, bytes: Bytes) -> Result<Digest, GateError> {
        let held = self.app.store.held(lease).await?;
        let job = held.ok_or_else(|| StoreError::Conflict(Conflict::Lease(lease.job.clone())))?;
        let gathered = self.gather(&job).await?;
        let run = run::parse(&bytes, &job, &gathered.environment)?;
        let digest = self.app.recordings.keep(bytes).await?;
        self.app.failpoints.hit(Failpoint::RunUploaded)?;
        let judged = self.judge(gathered, run).await?;
        let decided = self.decide(lease, &job, digest, judged).await?;
        tracing::info!(version = %job.version, gate = %job.gate, outcome = %decided, "gate is judged");
        self.app.metrics.judged(job.gate.as_str(), decided.as_str());
        Ok(digest)
    }

    /// The pure judge, away from the threads that serve requests.
    async fn judge(&self, gathered: Gathered, run: Run) -> Result<JudgedUpload, GateError> {
        let harness = Arc::clone(&self.app.harness);
        let options = self.options(&gathered).await?;
        let judged = tokio::task::spawn_blocking(move || {
            let report = judge(&harness, &run, &gathered.bundle, &options);
            JudgedUpload { gathered, run, report }
        });
        judged.await.map_err(|error| GateError::Judge(error.to_string()))
    }

    async fn decide(
        &self,
        lease: &Lease,
        job: &Job,
        digest: Digest,
        judged: JudgedUpload,
    ) -> Result<GateOutcome, GateError> {
        let JudgedUpload { gathered, run, report } = judged;
        let card = report.card_digest.as_deref().and_then(|text| text.parse().ok());
        let measured = measure(&gathered.version, &gathered.bundle, card, report.producer_digest_source);
        let verified_at = run::driven_at(&run, gathered.now)?;
        let findings: Vec<Finding> = report.findings.iter().map(|line| line.finding.clone()).collect();
        let started = job.started.unwrap_or_default();
        let gate_run = GateRun { findings: &findings, verified_at, started };
        let decision = decision(job, &gathered, &measured, gate_run);
        self.app.failpoints.hit(Failpoint::GateJudged)?;
        let policy = gathered.policy.digest();
        let judged = JudgedRun { run: &run, digest, report: &report, gate: job.gate, verified_at, policy };
        let statement = statement::bytes(&gathered.version, &measured, statement::of_run(&judged, &decision))?;
        let evidence = NewEvidence {
            id: self.evidence_id(),
            gate: job.gate,
            outcome: statement::outcome(decision.outcome),
            profiles_passed: decision.profiles_passed.clone(),
            profiles_failed: decision.profiles_failed.clone(),
            waived: decision.waived.clone(),
            subject: measured.subject,
            policy,
            harness: report.harness_version.clone(),
            environment: run.environment.name.clone(),
            run: Some(digest),
            run_started: started,
            envelope: self.sign(&statement)?,
            verified_at,
            expires_at: Self::expiry(&gathered, job.gate, verified_at, &decision.waived),
        };
        let outcome = decision.outcome;
        let stored = StoredReport { decision, report: Some(report) };
        self.commit(Decided {
            lease,
            gathered: &gathered,
            measured: &measured,
            decision: &stored.decision,
            evidence,
            authorization: None,
            report: stored.to_bytes(),
        })
        .await?;
        Ok(outcome)
    }
}

fn decision(job: &Job, gathered: &Gathered, measured: &Measured, run: GateRun<'_>) -> GateDecision {
    let facts = GateFacts {
        gate: job.gate,
        version: &gathered.version,
        subject: measured.subject,
        run: Some(run),
        evidence: &gathered.evidence,
        live_card: None,
        approvals: &gathered.approvals,
        waivers: &gathered.waivers,
    };
    let mut decision = judge_gate(&facts, &gathered.policy, gathered.now);
    // A card that nobody saw founds nothing, whatever the checks say.
    if !measured.complete && decision.outcome == GateOutcome::Pass {
        decision.outcome = GateOutcome::Inconclusive;
        decision.reasons.push(GateReason::CardNotFetched);
        decision.profiles_passed.clear();
    }
    decision
}
