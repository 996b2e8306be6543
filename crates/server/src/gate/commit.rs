//! From a decision to one guarded transaction.

use bytes::Bytes;
use jiff::{SignedDuration, Timestamp};
use ostiary_canon::intoto::PAYLOAD_TYPE;
use ostiary_domain::{
    Actor, Authorization, EvidenceId, Failpoint, GateDecision, Lease, Waived,
    consequence::{Judged, consequence},
    evidence::NewEvidence,
    ports::{GateCommit, GateCommitted, ObjectKind},
    waiver::first_end,
};
use ostiary_record::Gate;

use super::{GateError, Gatekeeper, facts::Gathered, measure::Measured};

/// A decision that is ready to be committed.
pub(super) struct Decided<'a> {
    pub(super) lease: &'a Lease,
    pub(super) gathered: &'a Gathered,
    pub(super) measured: &'a Measured,
    pub(super) decision: &'a GateDecision,
    pub(super) evidence: NewEvidence,
    pub(super) authorization: Option<&'a Authorization>,
    pub(super) report: Bytes,
}

/// The machine that acts when a gate is judged.
pub(super) const GATEKEEPER: &str = "ostiary-gatekeeper";

// === impl Gatekeeper ===

impl Gatekeeper {
    /// A new id for a piece of evidence.
    pub(super) fn evidence_id(&self) -> EvidenceId {
        EvidenceId(self.app.ids.next("evidence"))
    }

    /// Until when a result of `gate` from `verified_at` founds anything: not longer than any waiver that it rests on.
    pub(super) fn expiry(gathered: &Gathered, gate: Gate, verified_at: Timestamp, waived: &[Waived]) -> Timestamp {
        let age = gathered.policy.rule(gate).map_or(SignedDuration::ZERO, ostiary_domain::GateRule::max_age);
        let ends = verified_at.saturating_add(age).unwrap_or(verified_at);
        first_end(waived).map_or(ends, |waived| ends.min(waived))
    }

    /// The signed envelope of a statement.
    pub(super) fn sign(&self, statement: &[u8]) -> Result<Bytes, GateError> {
        let envelope = self.app.signer.sign(PAYLOAD_TYPE, statement)?;
        self.app.failpoints.hit(Failpoint::EvidenceSigned)?;
        Ok(envelope)
    }

    /// Commits: transition, evidence, holds and next gate, or, where the world moved on meanwhile, the evidence alone.
    pub(super) async fn commit(&self, decided: Decided<'_>) -> Result<GateCommitted, GateError> {
        let Decided { lease, gathered, measured, decision, evidence, authorization, report } = decided;
        let actor = Actor::machine(GATEKEEPER);
        let judged = Judged {
            version: &gathered.version,
            decision,
            evidence: &evidence,
            authorization,
            policy: &gathered.policy,
            author: &actor,
        };
        let consequence = consequence(&judged, self.app.ids.as_ref(), gathered.now);
        self.app.store.put_object(ObjectKind::Other, measured.manifest.to_bytes().into()).await?;
        let commit = GateCommit {
            lease: lease.clone(),
            version: gathered.version.key.clone(),
            guard: gathered.guard(),
            consequence,
            evidence,
            report: Some(report),
            actor,
        };
        let committed = self.app.store.commit_gate(commit).await?;
        self.app.committed();
        if let GateCommitted::EvidenceKept { because, .. } = &committed {
            self.app.metrics.commit_lost();
            tracing::warn!(version = %gathered.version.key, %because, "evidence is kept, the version was not moved");
        }
        Ok(committed)
    }
}
