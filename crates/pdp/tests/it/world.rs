//! Versions of this world, and what changes them.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{AdmissionClass, AdmissionRecord, Change, Evidence, ProfileGrant, SignatureStatus, State};
use ostiary_canon::{Digest, Revision};
use ostiary_proto::admission::v1 as proto;

pub(crate) const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";

pub(crate) fn start() -> Timestamp {
    "2026-08-12T12:00:00Z".parse().unwrap()
}

pub(crate) fn seconds(count: i64) -> SignedDuration {
    SignedDuration::from_secs(count)
}

/// A version that may be dispatched to, were it in a state for it.
pub(crate) fn record(agent: &str, version: &str, state: State) -> AdmissionRecord {
    let ends = start() + SignedDuration::from_hours(24);
    AdmissionRecord {
        agent: agent.parse().unwrap(),
        version: version.parse().unwrap(),
        state,
        canary_weight: 0,
        evidence: Some(Evidence {
            card_digest: card(agent, version),
            contract_digest: Digest::of(b"contract"),
            producer_digest: Digest::of(b"producer"),
            evidence_digest: Digest::of(b"evidence"),
            verified_at: start() - SignedDuration::from_hours(24),
            expires_at: ends,
            profiles: [ProfileGrant { profile: Arc::new(PROFILE.parse().unwrap()), expires_at: ends }].into(),
            class: AdmissionClass::Full,
            signature: SignatureStatus::Verified,
            stale: false,
            failed: false,
        }),
        holds: Box::default(),
        sunset: None,
        waived: None,
        revision: Revision(1),
    }
}

pub(crate) fn put(agent: &str, version: &str, state: State) -> Change {
    Change::Upsert(record(agent, version, state))
}

pub(crate) fn card(agent: &str, version: &str) -> Digest {
    Digest::of(format!("{agent} {version}").as_bytes())
}

pub(crate) fn question(agent: &str, version: &str) -> proto::CheckAdmissionRequest {
    proto::CheckAdmissionRequest {
        agent: agent.to_owned(),
        version: version.to_owned(),
        card_digest: card(agent, version).to_string(),
        profile: PROFILE.to_owned(),
        ..Default::default()
    }
}
