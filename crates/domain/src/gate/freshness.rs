//! Whether a run is the right one for the gate: in order, about the same subject, and young enough.

use jiff::Timestamp;
use ostiary_record::{Gate, Outcome};

use super::{GateFacts, GateReason};
use crate::{
    approval::{self, Consent, Edge},
    evidence::{About, newest_telling},
    hold::HoldKind,
    lifecycle::State,
    policy::Policy,
};

/// The gate must be the next one, or one that was passed before and is run again.
pub(super) fn order(facts: &GateFacts<'_>) -> Option<GateReason> {
    let state = &facts.version.state;
    let in_order = match state {
        State::Draft
        | State::StaticValidated { .. }
        | State::ConformanceVerified { .. }
        | State::SecurityVerified { .. } => state.next_gate().is_some_and(|next| facts.gate <= next),
        State::RegistryAdmitted { .. } => facts.gate <= Gate::Canary,
        State::Canary { .. } | State::Active { .. } => true,
        State::Quarantined { .. } => facts.gate <= Gate::Canary,
        State::Rejected { .. } | State::Deprecated { .. } => false,
    };
    (!in_order).then(|| GateReason::GateOutOfOrder { expected: state.next_gate() })
}

/// Once the manifest is fixed, whatever is measured must be it.
pub(super) fn subject(facts: &GateFacts<'_>) -> Option<GateReason> {
    let fixed = facts.version.state.subject().filter(|fixed| **fixed != facts.subject)?;
    Some(GateReason::SubjectChanged { expected: fixed.manifest, observed: facts.subject.manifest })
}

/// What a canary or a promotion demands beyond its findings.
pub(super) fn judge(facts: &GateFacts<'_>, policy: &Policy, now: Timestamp, reasons: &mut Vec<GateReason>) {
    let version = facts.version;
    let after = approval::step_began(version);
    if let Some(run) = facts.run {
        if run.verified_at > now || now.duration_since(run.verified_at) > policy.fresh_run_max_age() {
            reasons.push(GateReason::RunStale { verified_at: run.verified_at });
        }
        if run.started < after {
            reasons.push(GateReason::RunTooEarly { started: run.started, after });
        }
    }
    if let Some(admitted) = version.state.admitted().filter(|_| !version.is_authorized(now)) {
        reasons.push(GateReason::AuthorizationExpired { expired_at: admitted.authorization.expires_at });
    }
    reasons.extend(held(facts));
    reasons.extend(since_quarantine(facts, policy));
    let edge = match (&version.state, facts.gate) {
        (State::Quarantined { .. }, _) => Edge::Release,
        (_, Gate::Active) => Edge::Promotion,
        _ => Edge::Canary,
    };
    reasons.extend(approvals(facts, policy, edge, now));
}

/// Holds that stand in the way. A release lifts none: they go on stopping dispatch until a person lifts them.
fn held(facts: &GateFacts<'_>) -> Vec<GateReason> {
    let (State::RegistryAdmitted { .. } | State::Canary { .. } | State::Active { .. }) = facts.version.state else {
        return Vec::new();
    };
    let holds = facts.version.holds.iter();
    let standing = holds.filter(|h| facts.gate == Gate::Active || h.kind != HoldKind::Revalidating);
    standing.map(|h| GateReason::Held { kind: h.kind, because: h.reason.clone() }).collect()
}

/// Out of quarantine, the gates that look at the running agent must have passed anew, on runs that follow the quarantine.
fn since_quarantine(facts: &GateFacts<'_>, policy: &Policy) -> Vec<GateReason> {
    let State::Quarantined { since, .. } = &facts.version.state else { return Vec::new() };
    let about = About { version: &facts.version.key, subject: &facts.subject, policy: policy.digest() };
    let anew = |gate: Gate| {
        let newest = newest_telling(facts.evidence, gate, &about);
        newest.is_some_and(|e| e.outcome == Outcome::Pass && e.run_started >= since.revision)
    };
    let missing = [Gate::Conformance, Gate::Security].into_iter().filter(|gate| !anew(*gate));
    missing.map(|gate| GateReason::EvidenceMissing { gate }).collect()
}

/// Whether the people that `policy` wants have consented to `edge`.
pub(super) fn approvals(facts: &GateFacts<'_>, policy: &Policy, edge: Edge, now: Timestamp) -> Option<GateReason> {
    let consent = approval::consent(facts.approvals, facts.version, policy, edge, now);
    let Consent { given, needed } = consent;
    (!consent.suffices()).then_some(GateReason::ApprovalMissing { edge, needed, given })
}
