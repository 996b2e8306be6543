//! The admission gate: no run of its own, but everything that was run before, whole, unexpired and about one manifest.

use jiff::Timestamp;
use ostiary_record::Outcome;

use super::{GateFacts, GateReason, Profiles, freshness};
use crate::{
    approval::Edge,
    evidence::{About, EvidenceRecord, newest_telling},
    lifecycle::EarlyGate,
    names::WaiverId,
    policy::Policy,
};

/// Judges the evidence of the earlier gates and the live card.
pub(super) fn judge(facts: &GateFacts<'_>, policy: &Policy, now: Timestamp, reasons: &mut Vec<GateReason>) -> Profiles {
    let activated = &facts.version.activated;
    let (mut passed, mut waived): (Option<Vec<_>>, _) = (None, Vec::new());
    for gate in EarlyGate::ALL {
        match founding(facts, policy, gate, now) {
            Ok(evidence) => {
                let missing = activated.iter().filter(|p| !evidence.profiles_passed.contains(p));
                reasons
                    .extend(missing.map(|p| GateReason::ProfileNotVerified { gate: gate.gate(), profile: p.clone() }));
                let so_far = passed.take().unwrap_or_else(|| evidence.profiles_passed.clone());
                reasons.extend(ended(facts, policy, evidence, now));
                waived.extend(evidence.waived.iter().cloned());
                passed = Some(so_far.into_iter().filter(|p| evidence.profiles_passed.contains(p)).collect());
            }
            Err(reason) => reasons.push(reason),
        }
    }
    reasons.extend(card(facts, policy, now));
    reasons.extend(freshness::approvals(facts, policy, Edge::Admission, now));
    Profiles { passed: passed.unwrap_or_default(), failed: failed(facts), waived }
}

/// The evidence of one earlier gate that may found an admission now (P-04): its newest result that tells anything.
fn founding<'a>(
    facts: &GateFacts<'a>,
    policy: &Policy,
    gate: EarlyGate,
    now: Timestamp,
) -> Result<&'a EvidenceRecord, GateReason> {
    let gate = gate.gate();
    let about = About { version: &facts.version.key, subject: &facts.subject, policy: policy.digest() };
    let newest = newest_telling(facts.evidence, gate, &about).ok_or(GateReason::EvidenceMissing { gate })?;
    match newest.outcome {
        Outcome::Pass if now < newest.expires_at => Ok(newest),
        Outcome::Pass => Err(GateReason::EvidenceExpired { gate, expired_at: newest.expires_at }),
        Outcome::Fail => Err(GateReason::EvidenceFailed { gate }),
        Outcome::Inconclusive | Outcome::NotApplicable => Err(GateReason::EvidenceMissing { gate }),
    }
}

/// Waivers that the evidence of an earlier gate rests on and that are no longer in force.
fn ended(facts: &GateFacts<'_>, policy: &Policy, evidence: &EvidenceRecord, now: Timestamp) -> Vec<GateReason> {
    let manifest = facts.subject.manifest;
    let in_force = |id: &WaiverId| {
        let found = facts.waivers.iter().find(|waiver| waiver.request.id == *id);
        found.is_some_and(|waiver| waiver.holds(facts.version, manifest, policy.digest(), now))
    };
    let ended = evidence.waived.iter().filter(|waived| !in_force(&waived.waiver));
    ended.map(|waived| GateReason::WaiverEnded { gate: evidence.gate, waiver: waived.waiver.clone() }).collect()
}

fn card(facts: &GateFacts<'_>, policy: &Policy, now: Timestamp) -> Option<GateReason> {
    let expected = facts.version.state.subject()?.card;
    match facts.live_card {
        Some(live) if live.fetched_at > now || now.duration_since(live.fetched_at) > policy.card_max_age() => {
            Some(GateReason::CardNotFetched)
        }
        Some(live) if live.digest != expected => Some(GateReason::CardChanged { expected, observed: live.digest }),
        Some(_) => None,
        None => Some(GateReason::CardNotFetched),
    }
}

/// Profiles in which any earlier gate's newest result failed.
fn failed(facts: &GateFacts<'_>) -> Vec<ostiary_canon::Profile> {
    let about = facts.evidence.iter().filter(|e| e.version == facts.version.key && e.subject == facts.subject);
    let mut failed: Vec<_> = about.flat_map(|e| e.profiles_failed.iter().cloned()).collect();
    failed.sort();
    failed.dedup();
    failed
}
