//! Every state against every reason: one cell each (L-03).

use std::collections::BTreeSet;

use ostiary_admission::{
    AdmissionRecord, Decision, DecisionReason, Enforcement, Evidence, Freshness, HoldKind, Observed, Query, Scope,
    SignatureStatus, State, decide_dispatch, explain_dispatch,
};
use ostiary_canon::{Digest, Revision};

use crate::fixture::{self, hours, now};

/// All that a decision looks at.
#[derive(Clone)]
pub(crate) struct World {
    pub(crate) query: Query<'static>,
    pub(crate) record: Option<AdmissionRecord>,
    pub(crate) freshness: Freshness,
}

impl World {
    pub(crate) fn new(state: State) -> Self {
        Self { query: fixture::query(), record: Some(fixture::record(state)), freshness: fixture::freshness() }
    }

    pub(crate) fn decide(&self, enforcement: Enforcement) -> Decision {
        decide_dispatch(&self.query, self.record.as_ref(), enforcement, &self.freshness, now())
    }

    /// Changes the record, where there is one: faults can be combined in any order.
    fn record(&mut self, change: impl FnOnce(&mut AdmissionRecord)) {
        if let Some(record) = &mut self.record {
            change(record);
        }
    }

    fn evidence(&mut self, change: impl FnOnce(&mut Evidence)) {
        self.record(|record| {
            if let Some(evidence) = &mut record.evidence {
                change(evidence);
            }
        });
    }

    fn hold(&mut self, kind: HoldKind) {
        self.record(|record| {
            record.holds = record.holds.iter().cloned().chain([fixture::hold(kind, Scope::All)]).collect();
        });
    }
}

/// Something that goes wrong in a world.
pub(crate) type Fault = fn(&mut World);

/// What can be wrong, by name.
pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("nothing", |_| {}),
    ("version unknown", |world| world.record = None),
    ("no evidence", |world| world.record(|record| record.evidence = None)),
    ("evidence not yet", |world| world.evidence(|evidence| evidence.verified_at = now() + hours(1))),
    ("evidence expired", |world| world.evidence(|evidence| evidence.expires_at = now())),
    ("profile expired", |world| {
        world.evidence(|evidence| evidence.profiles.iter_mut().for_each(|grant| grant.expires_at = now()));
    }),
    ("evidence called in", |world| world.evidence(|evidence| evidence.stale = true)),
    ("newest result FAIL", |world| world.evidence(|evidence| evidence.failed = true)),
    ("signature invalid", |world| world.evidence(|evidence| evidence.signature = SignatureStatus::Invalid)),
    ("key revoked", |world| world.evidence(|evidence| evidence.signature = SignatureStatus::KeyRevoked)),
    ("card left out", |world| world.query.card_digest = Observed::Omitted),
    ("another card", |world| world.query.card_digest = Observed::Digest(Digest::of(b"other"))),
    ("unreadable card", |world| world.query.card_digest = Observed::read("latest")),
    ("another contract", |world| world.query.contract_digest = Observed::Digest(Digest::of(b"other"))),
    ("unreadable contract", |world| world.query.contract_digest = Observed::read("sha256:")),
    ("another producer", |world| world.query.producer_digest = Observed::Digest(Digest::of(b"other"))),
    ("profile left out", |world| world.query.profile = None),
    ("profile empty", |world| world.query.profile = Some("")),
    ("another profile", |world| world.query.profile = Some("a2a-jsonrpc-1.0")),
    ("no profile granted", |world| world.evidence(|evidence| evidence.profiles = Box::default())),
    ("revalidating, same card", |world| world.hold(HoldKind::Revalidating)),
    ("revalidating for all", |world| world.hold(HoldKind::RevalidatingForAll)),
    ("route disabled", |world| world.hold(HoldKind::RouteDisabled)),
    ("canary stopped", |world| world.hold(HoldKind::CanaryStopped)),
    ("outside the cohort", |world| world.record(|record| record.canary_weight = 0)),
    ("no cohort key", |world| world.query.cohort_key = None),
    ("past its sunset", |world| {
        world.record(|record| record.sunset.iter_mut().for_each(|sunset| sunset.until = now()));
    }),
    ("no sunset", |world| world.record(|record| record.sunset = None)),
    ("consumer not registered", |world| world.query.consumer = Some("stranger")),
    ("consumer left out", |world| world.query.consumer = None),
    ("revision not reached", |world| world.freshness.at_least = Some(Revision(43))),
    ("view stale", |world| world.freshness.lease_until = now()),
    ("contract left out", |world| world.query.contract_digest = Observed::Omitted),
    ("producer left out", |world| world.query.producer_digest = Observed::Omitted),
];

/// One row for each fault, in their order. DRAFT to REGISTRY_ADMITTED share a column; `.` is the state's own answer, as
/// in the first row.
const TABLE: &str = "
DRAFT…REGISTRY_ADMITTED | CANARY                   | ACTIVE                   | QUARANTINED              | DEPRECATED               | REJECTED
NOT_ADMITTED            | ALLOWED                  | ALLOWED                  | QUARANTINED              | ALLOWED                  | REJECTED
VERSION_UNKNOWN         | VERSION_UNKNOWN          | VERSION_UNKNOWN          | VERSION_UNKNOWN          | VERSION_UNKNOWN          | VERSION_UNKNOWN
.                       | EVIDENCE_MISSING         | EVIDENCE_MISSING         | .                        | EVIDENCE_MISSING         | .
.                       | EVIDENCE_MISSING         | EVIDENCE_MISSING         | .                        | EVIDENCE_MISSING         | .
.                       | EVIDENCE_EXPIRED         | EVIDENCE_EXPIRED         | .                        | EVIDENCE_EXPIRED         | .
.                       | EVIDENCE_EXPIRED         | EVIDENCE_EXPIRED         | .                        | EVIDENCE_EXPIRED         | .
.                       | EVIDENCE_STALE           | EVIDENCE_STALE           | .                        | EVIDENCE_STALE           | .
.                       | EVIDENCE_FAILED          | EVIDENCE_FAILED          | .                        | EVIDENCE_FAILED          | .
.                       | SIGNATURE_INVALID        | SIGNATURE_INVALID        | .                        | SIGNATURE_INVALID        | .
.                       | KEY_REVOKED              | KEY_REVOKED              | .                        | KEY_REVOKED              | .
.                       | OBSERVED_DIGEST_MISSING  | OBSERVED_DIGEST_MISSING  | OBSERVED_DIGEST_MISSING  | OBSERVED_DIGEST_MISSING  | OBSERVED_DIGEST_MISSING
.                       | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH
.                       | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH     | CARD_DIGEST_MISMATCH
.                       | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH
.                       | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH | CONTRACT_DIGEST_MISMATCH
.                       | PRODUCER_DIGEST_MISMATCH | PRODUCER_DIGEST_MISMATCH | PRODUCER_DIGEST_MISMATCH | PRODUCER_DIGEST_MISMATCH | PRODUCER_DIGEST_MISMATCH
.                       | PROFILE_MISSING          | PROFILE_MISSING          | PROFILE_MISSING          | PROFILE_MISSING          | PROFILE_MISSING
.                       | PROFILE_MISSING          | PROFILE_MISSING          | PROFILE_MISSING          | PROFILE_MISSING          | PROFILE_MISSING
.                       | PROFILE_NOT_VERIFIED     | PROFILE_NOT_VERIFIED     | .                        | PROFILE_NOT_VERIFIED     | .
.                       | PROFILE_NOT_VERIFIED     | PROFILE_NOT_VERIFIED     | .                        | PROFILE_NOT_VERIFIED     | .
.                       | .                        | .                        | .                        | .                        | .
.                       | REVALIDATING             | REVALIDATING             | .                        | REVALIDATING             | .
.                       | ROUTE_DISABLED           | ROUTE_DISABLED           | .                        | ROUTE_DISABLED           | .
.                       | CANARY_STOPPED           | .                        | .                        | .                        | .
.                       | CANARY_COHORT_EXCLUDED   | .                        | .                        | .                        | .
.                       | CANARY_COHORT_EXCLUDED   | .                        | .                        | .                        | .
.                       | .                        | .                        | .                        | DEPRECATED               | .
.                       | .                        | .                        | .                        | DEPRECATED               | .
.                       | .                        | .                        | .                        | DEPRECATED               | .
.                       | .                        | .                        | .                        | DEPRECATED               | .
.                       | REVISION_NOT_REACHED     | REVISION_NOT_REACHED     | .                        | REVISION_NOT_REACHED     | .
.                       | VIEW_STALE               | VIEW_STALE               | .                        | VIEW_STALE               | .
.                       | .                        | .                        | .                        | .                        | .
.                       | .                        | .                        | .                        | .                        | .
";

fn column(state: State) -> usize {
    match state {
        State::Draft
        | State::StaticValidated
        | State::ConformanceVerified
        | State::SecurityVerified
        | State::RegistryAdmitted => 0,
        State::Canary => 1,
        State::Active => 2,
        State::Quarantined => 3,
        State::Deprecated => 4,
        State::Rejected => 5,
    }
}

/// All cells: state, fault, expected reason in `enforce`.
pub(crate) fn cells() -> Vec<(State, &'static str, World, DecisionReason)> {
    let rows: Vec<Vec<&str>> =
        TABLE.trim().lines().skip(1).map(|line| line.split('|').map(str::trim).collect()).collect();
    assert_eq!(rows.len(), FAULTS.len(), "one row for each fault");
    let mut cells = Vec::new();
    for state in State::ALL {
        let at = column(state);
        for ((fault, apply), row) in FAULTS.iter().zip(&rows) {
            let mut world = World::new(state);
            apply(&mut world);
            let text = if row[at] == "." { rows[0][at] } else { row[at] };
            cells.push((state, *fault, world, text.parse().unwrap()));
        }
    }
    cells
}

#[test]
fn each_cell_gives_its_reason() {
    for (state, fault, world, expected) in cells() {
        let decision = world.decide(Enforcement::Enforce);
        assert_eq!(decision.reason, expected, "{state}, {fault}");
        assert_eq!(decision.allows(), expected == DecisionReason::Allowed, "{state}, {fault}");
        assert_eq!(decision.would_deny, None, "{state}, {fault}");
        assert_eq!(decision.state, world.record.as_ref().map(|_| state), "{state}, {fault}");
    }
}

#[test]
fn every_reason_has_a_cell() {
    let answered: BTreeSet<_> = cells().into_iter().map(|(.., reason)| reason).collect();
    // One needs a lenient mode, the other is answered before anything is looked up.
    let elsewhere = [DecisionReason::AllowedWouldDeny, DecisionReason::NamespaceForbidden];
    let missing: Vec<_> =
        DecisionReason::ALL.into_iter().filter(|r| !answered.contains(r) && !elsewhere.contains(r)).collect();
    assert_eq!(missing, []);
}

#[test]
fn of_two_faults_the_earlier_in_the_published_order_is_answered() {
    for state in State::ALL {
        for (one, apply_one) in FAULTS {
            for (two, apply_two) in FAULTS {
                let mut world = World::new(state);
                apply_one(&mut world);
                apply_two(&mut world);
                let all = explain_dispatch(&world.query, world.record.as_ref(), &world.freshness, now());
                let answered = world.decide(Enforcement::Enforce).reason;
                assert_eq!(answered, all.iter().min().unwrap_or(DecisionReason::Allowed), "{state}: {one}, {two}");
            }
        }
    }
}

#[test]
fn who_sees_another_card_while_it_is_revalidated_is_denied_and_nobody_else() {
    let mut world = World::new(State::Active);
    world.hold(HoldKind::Revalidating);
    assert!(world.decide(Enforcement::Enforce).allows());
    world.query.card_digest = Observed::Digest(Digest::of(b"other"));
    let all = explain_dispatch(&world.query, world.record.as_ref(), &world.freshness, now());
    let expected = [DecisionReason::CardDigestMismatch, DecisionReason::Revalidating];
    assert_eq!(all.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn a_caller_who_may_not_ask_learns_nothing() {
    let decision = Decision::forbidden(Revision(42), now());
    assert!(!decision.allows());
    assert_eq!(decision.reason, DecisionReason::NamespaceForbidden);
    assert_eq!((decision.state, decision.class, decision.evidence_digest, decision.waived), (None, None, None, None));
}
