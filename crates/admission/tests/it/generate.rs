//! Records and questions from a small world, so that two of them often have something in common.

use std::sync::Arc;

use jiff::Timestamp;
use ostiary_admission::{
    AdmissionClass, AdmissionRecord, Change, Enforcement, Evidence, Hold, HoldKind, Observed, ProfileGrant, Query,
    Scope, SignatureStatus, State, Sunset,
};
use ostiary_canon::{Digest, Profile, Revision};
use proptest::prelude::*;

use crate::fixture::{AGENT, VERSION, hours, now};

const PROFILES: [&str; 3] = ["a2a-jsonrpc-1.0", "a2a-jsonrpc-1.0/user/standard", "mcp-2026-07-28/agent/standard"];
const CONSUMERS: [&str; 2] = ["billing", "ledger"];
const INTERFACES: [&str; 2] = ["https://one.example/a2a", "https://two.example/a2a"];
const KEYS: [&str; 4] = ["a", "b", "conversation-1", "tenant-9"];

pub(crate) fn time() -> impl Strategy<Value = Timestamp> {
    (-3_i64..4).prop_map(|step| now() + hours(step))
}

fn digest() -> impl Strategy<Value = Digest> {
    (0_u8..2).prop_map(|n| Digest::of(&[n]))
}

fn profile() -> impl Strategy<Value = Arc<Profile>> {
    prop::sample::select(&PROFILES[..]).prop_map(|text| Arc::new(text.parse().unwrap()))
}

fn scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        Just(Scope::All),
        prop::sample::select(&INTERFACES[..]).prop_map(|text| Scope::Interface(text.into())),
        profile().prop_map(Scope::Profile),
        prop::sample::select(&CONSUMERS[..]).prop_map(|text| Scope::Consumer(text.into())),
    ]
}

pub(crate) fn hold() -> impl Strategy<Value = Hold> {
    let kinds =
        [HoldKind::RouteDisabled, HoldKind::CanaryStopped, HoldKind::Revalidating, HoldKind::RevalidatingForAll];
    (prop::sample::select(kinds.to_vec()), scope(), any::<bool>()).prop_map(|(kind, scope, by_person)| Hold {
        kind,
        scope,
        by_person,
    })
}

fn grant() -> impl Strategy<Value = ProfileGrant> {
    (profile(), time()).prop_map(|(profile, expires_at)| ProfileGrant { profile, expires_at })
}

fn mostly_false() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.15)
}

pub(crate) fn evidence() -> impl Strategy<Value = Evidence> {
    let digests = (digest(), digest(), digest(), digest());
    let signature = prop_oneof![
        8 => Just(SignatureStatus::Verified),
        1 => Just(SignatureStatus::Invalid),
        1 => Just(SignatureStatus::KeyRevoked),
    ];
    let class = prop_oneof![Just(AdmissionClass::Full), Just(AdmissionClass::Reduced)];
    let profiles = prop::collection::vec(grant(), 0..4);
    (digests, (time(), time()), profiles, class, signature, (mostly_false(), mostly_false())).prop_map(
        |((card, contract, producer, own), (verified_at, expires_at), profiles, class, signature, (stale, failed))| {
            Evidence {
                card_digest: card,
                contract_digest: contract,
                producer_digest: producer,
                evidence_digest: own,
                verified_at,
                expires_at,
                profiles: profiles.into(),
                class,
                signature,
                stale,
                failed,
            }
        },
    )
}

fn sunset() -> impl Strategy<Value = Sunset> {
    let consumers = prop::sample::subsequence(&CONSUMERS[..], 0..=2);
    (time(), consumers)
        .prop_map(|(until, consumers)| Sunset { until, consumers: consumers.into_iter().map(Into::into).collect() })
}

/// A record of the one version of this world.
pub(crate) fn record() -> impl Strategy<Value = AdmissionRecord> {
    let state = prop_oneof![
        2 => prop::sample::select(&State::ALL[..]),
        3 => prop::sample::select(vec![State::Active, State::Canary, State::Deprecated]),
    ];
    let weight = prop::sample::select(vec![0_u16, 4_600, 7_500, 10_000, u16::MAX]);
    let facts = (prop::option::weighted(0.9, evidence()), prop::collection::vec(hold(), 0..3));
    let waived = prop::collection::vec("[a-z.]{1,12}", 0..3);
    (state, weight, facts, prop::option::of(sunset()), waived, any::<u64>()).prop_map(
        |(state, canary_weight, (evidence, holds), sunset, waived, revision)| {
            let waived: Vec<Box<str>> = waived.into_iter().map(Into::into).collect();
            AdmissionRecord {
                agent: AGENT.parse().unwrap(),
                version: VERSION.parse().unwrap(),
                state,
                canary_weight,
                evidence,
                holds: holds.into(),
                sunset: sunset.map(Box::new),
                waived: (!waived.is_empty()).then(|| waived.into()),
                revision: Revision(revision),
            }
        },
    )
}

pub(crate) fn enforcement() -> impl Strategy<Value = Enforcement> {
    prop_oneof![
        Just(Enforcement::Enforce),
        time().prop_map(|until| Enforcement::Observe { until }),
        time().prop_map(|until| Enforcement::Warn { until }),
    ]
}

pub(crate) fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => record().prop_map(Change::Upsert),
        1 => Just(Change::Remove(AGENT.parse().unwrap(), VERSION.parse().unwrap())),
        1 => enforcement().prop_map(|mode| Change::Enforce("acme".into(), mode)),
    ]
}

fn observed() -> impl Strategy<Value = Observed> {
    prop_oneof![1 => Just(Observed::Omitted), 1 => Just(Observed::Unreadable), 6 => digest().prop_map(Observed::Digest)]
}

fn one_of(texts: &'static [&'static str]) -> impl Strategy<Value = Option<&'static str>> {
    prop::option::weighted(0.8, prop::sample::select(texts))
}

/// A question about the one version of this world.
pub(crate) fn query() -> impl Strategy<Value = Query<'static>> {
    let digests = (observed(), observed(), observed());
    let texts = (one_of(&PROFILES), one_of(&CONSUMERS), one_of(&INTERFACES), one_of(&KEYS));
    (digests, texts).prop_map(|((card, contract, producer), (profile, consumer, interface, cohort_key))| Query {
        agent: AGENT,
        version: VERSION,
        card_digest: card,
        profile,
        contract_digest: contract,
        producer_digest: producer,
        consumer,
        interface,
        cohort_key,
    })
}
