//! One version against which nothing speaks, and a question that it may be dispatched for.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use ostiary_admission::{
    AdmissionClass, AdmissionRecord, Evidence, Freshness, Hold, HoldKind, Observed, ProfileGrant, Query, Scope,
    SignatureStatus, State, Sunset,
};
use ostiary_canon::{Digest, Profile, Revision};

pub(crate) const AGENT: &str = "acme/planner";
pub(crate) const VERSION: &str = "3.4.1";
pub(crate) const PROFILE: &str = "a2a-jsonrpc-1.0/user/standard";

pub(crate) fn now() -> Timestamp {
    "2026-08-12T12:00:00Z".parse().unwrap()
}

pub(crate) fn hours(count: i64) -> SignedDuration {
    SignedDuration::from_hours(count)
}

pub(crate) fn profile(text: &str) -> Arc<Profile> {
    Arc::new(text.parse().unwrap())
}

pub(crate) fn evidence() -> Evidence {
    Evidence {
        card_digest: Digest::of(b"card"),
        contract_digest: Digest::of(b"contract"),
        producer_digest: Digest::of(b"producer"),
        evidence_digest: Digest::of(b"evidence"),
        verified_at: now() - hours(24),
        expires_at: now() + hours(24),
        profiles: [ProfileGrant { profile: profile(PROFILE), expires_at: now() + hours(24) }].into(),
        class: AdmissionClass::Full,
        signature: SignatureStatus::Verified,
        stale: false,
        failed: false,
    }
}

/// In `state`, everybody in its cohort, and the consumer still served should it be DEPRECATED.
pub(crate) fn record(state: State) -> AdmissionRecord {
    AdmissionRecord {
        agent: AGENT.parse().unwrap(),
        version: VERSION.parse().unwrap(),
        state,
        canary_weight: 10_000,
        evidence: Some(evidence()),
        holds: Box::default(),
        sunset: Some(Box::new(Sunset { until: now() + hours(12), consumers: ["billing".into()].into() })),
        waived: None,
        revision: Revision(7),
    }
}

pub(crate) fn query() -> Query<'static> {
    Query {
        agent: AGENT,
        version: VERSION,
        card_digest: Observed::Digest(Digest::of(b"card")),
        profile: Some(PROFILE),
        contract_digest: Observed::Digest(Digest::of(b"contract")),
        producer_digest: Observed::Digest(Digest::of(b"producer")),
        consumer: Some("billing"),
        interface: Some("https://agent.example/a2a"),
        cohort_key: Some("conversation-1"),
    }
}

pub(crate) fn freshness() -> Freshness {
    Freshness { revision: Revision(42), lease_until: now() + SignedDuration::from_secs(15), at_least: None }
}

pub(crate) fn hold(kind: HoldKind, scope: Scope) -> Hold {
    Hold { kind, scope, by_person: false }
}
