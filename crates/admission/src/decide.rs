//! The decision: total, synchronous, without allocation.
//!
//! Which reasons are looked at in which state:
//!
//! | state | its own reason | request (digests, profile given) | evidence, profile, holds |
//! | --- | --- | --- | --- |
//! | DRAFT … REGISTRY_ADMITTED | NOT_ADMITTED | yes | no: nothing is dispatched on it |
//! | CANARY | CANARY_COHORT_EXCLUDED outside its cohort | yes | yes |
//! | ACTIVE | – | yes | yes |
//! | QUARANTINED | QUARANTINED | yes | no: what led there does not matter to a router |
//! | DEPRECATED | DEPRECATED from its sunset on, and for consumers not registered | yes | before its sunset |
//! | REJECTED | REJECTED | yes | no |
//!
//! All that apply are gathered; the first in the published order is answered. So a decision can only get stricter when
//! a fact gets worse, and adding a rule can never turn a deny into an allow.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use ostiary_canon::{Digest, Revision, intoto::AdmissionClass};
use serde::{Serialize, Serializer};

use crate::{
    cohort::in_cohort,
    mode::{Enforcement, Freshness, Mode},
    query::{Observed, Query},
    reason::{DecisionReason, Reasons},
    record::{AdmissionRecord, Evidence, Hold, HoldKind, Scope, SignatureStatus, State},
};

/// How long a deny may be repeated without asking again: long enough to spare the server, too short to be noticed.
const DENY_REUSE: SignedDuration = SignedDuration::from_secs(1);

/// May it be dispatched?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// Yes.
    Allow,
    /// No.
    Deny,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Decision {
    /// May it be dispatched?
    pub outcome: Outcome,
    /// Why.
    pub reason: DecisionReason,
    /// The version's state; `None` where it is unknown or not the caller's to know.
    pub state: Option<State>,
    /// The mode that was applied.
    pub mode: Mode,
    /// What would have denied in `enforce`, where the mode made it an allow.
    pub would_deny: Option<DecisionReason>,
    /// How complete the evidence is, where there is any.
    pub class: Option<AdmissionClass>,
    /// The waived checks; `None` is none.
    #[serde(serialize_with = "listed")]
    pub waived: Option<Arc<[Box<str>]>>,
    /// How long the answer may be reused for an equal question.
    pub valid_until: Timestamp,
    /// The view's revision.
    pub revision: Revision,
    /// The signed authorization that it rests on.
    pub evidence_digest: Option<Digest>,
}

/// Decides one dispatch.
///
/// `record` is what the view knows of the asked version; the caller looked it up by the query's own agent and version.
#[must_use]
pub fn decide_dispatch(
    query: &Query<'_>,
    record: Option<&AdmissionRecord>,
    enforcement: Enforcement,
    freshness: &Freshness,
    now: Timestamp,
) -> Decision {
    let found = gather(query, record, freshness, now);
    let mode = enforcement.at(now);
    let (outcome, reason, would_deny) = match (found.against.first(), found.in_every_mode.first(), mode) {
        (None, ..) => (Outcome::Allow, DecisionReason::Allowed, None),
        (Some(first), _, Mode::Enforce) => (Outcome::Deny, first, None),
        (Some(_), Some(first), Mode::Observe | Mode::Warn) => (Outcome::Deny, first, None),
        (Some(first), None, Mode::Observe | Mode::Warn) => {
            (Outcome::Allow, DecisionReason::AllowedWouldDeny, Some(first))
        }
    };
    let evidence = record.and_then(|record| record.evidence.as_ref());
    Decision {
        outcome,
        reason,
        state: record.map(|record| record.state),
        mode,
        would_deny,
        class: evidence.map(|evidence| evidence.class),
        waived: record.and_then(|record| record.waived.clone()),
        valid_until: match outcome {
            Outcome::Deny => reusable_deny(now),
            Outcome::Allow => reusable_allow(query, record, enforcement, freshness, now),
        },
        revision: freshness.revision,
        evidence_digest: evidence.map(|evidence| evidence.evidence_digest),
    }
}

/// All reasons that speak against a dispatch, for people who ask why.
#[must_use]
pub fn explain_dispatch(
    query: &Query<'_>,
    record: Option<&AdmissionRecord>,
    freshness: &Freshness,
    now: Timestamp,
) -> Reasons {
    gather(query, record, freshness, now).against
}

// === impl Decision ===

impl Decision {
    /// The answer to a caller who may not ask about this namespace: it learns nothing of the version.
    #[must_use]
    pub fn forbidden(revision: Revision, now: Timestamp) -> Self {
        Self {
            outcome: Outcome::Deny,
            reason: DecisionReason::NamespaceForbidden,
            state: None,
            mode: Mode::Enforce,
            would_deny: None,
            class: None,
            waived: None,
            valid_until: reusable_deny(now),
            revision,
            evidence_digest: None,
        }
    }

    /// Whether it may be dispatched.
    #[must_use]
    pub fn allows(&self) -> bool {
        self.outcome == Outcome::Allow
    }
}

/// What speaks against a dispatch.
#[derive(Default)]
struct Found {
    against: Reasons,
    /// The part of `against` that also denies where the namespace only observes or warns.
    in_every_mode: Reasons,
}

// === impl Found ===

impl Found {
    fn add_in_every_mode(&mut self, reason: DecisionReason) {
        self.against.add(reason);
        self.in_every_mode.add(reason);
    }
}

fn gather(query: &Query<'_>, record: Option<&AdmissionRecord>, freshness: &Freshness, now: Timestamp) -> Found {
    let mut found = Found::default();
    // A view that may have missed a quarantine decides nothing, in no mode.
    if freshness.at_least.is_some_and(|wanted| wanted > freshness.revision) {
        found.add_in_every_mode(DecisionReason::RevisionNotReached);
    }
    if now >= freshness.lease_until {
        found.add_in_every_mode(DecisionReason::ViewStale);
    }
    match record {
        Some(record) => {
            judge_request(&mut found, query, record.evidence.as_ref());
            judge_state(&mut found, query, record, now);
        }
        None => found.against.add(DecisionReason::VersionUnknown),
    }
    found
}

/// What is wrong with the question itself.
fn judge_request(found: &mut Found, query: &Query<'_>, evidence: Option<&Evidence>) {
    let against = &mut found.against;
    against.add_if(query.card_digest == Observed::Omitted, DecisionReason::ObservedDigestMissing);
    against.add_if(query.profile.is_none_or(str::is_empty), DecisionReason::ProfileMissing);
    if let Some(evidence) = evidence {
        against.add_if(query.card_digest.differs_from(&evidence.card_digest), DecisionReason::CardDigestMismatch);
        against.add_if(
            query.contract_digest.differs_from(&evidence.contract_digest),
            DecisionReason::ContractDigestMismatch,
        );
        against.add_if(
            query.producer_digest.differs_from(&evidence.producer_digest),
            DecisionReason::ProducerDigestMismatch,
        );
    }
}

fn judge_state(found: &mut Found, query: &Query<'_>, record: &AdmissionRecord, now: Timestamp) {
    match record.state {
        State::Draft
        | State::StaticValidated
        | State::ConformanceVerified
        | State::SecurityVerified
        | State::RegistryAdmitted => off_road(found, query, record, DecisionReason::NotAdmitted),
        State::Canary => {
            let served =
                query.cohort_key.is_some_and(|key| in_cohort(query.agent, query.version, key, record.canary_weight));
            found.against.add_if(!served, DecisionReason::CanaryCohortExcluded);
            judge_road(found, query, record, now);
        }
        State::Active => judge_road(found, query, record, now),
        State::Quarantined => found.add_in_every_mode(DecisionReason::Quarantined),
        State::Deprecated if still_served(query, record, now) => judge_road(found, query, record, now),
        State::Deprecated => off_road(found, query, record, DecisionReason::Deprecated),
        State::Rejected => off_road(found, query, record, DecisionReason::Rejected),
    }
}

/// A version that is not on the road: evidence does not matter, but a person's hold denies in every mode all the same, or
/// a namespace on trial would dispatch to what somebody stopped.
fn off_road(found: &mut Found, query: &Query<'_>, record: &AdmissionRecord, reason: DecisionReason) {
    found.against.add(reason);
    for hold in record.holds.iter().filter(|hold| hold.by_person) {
        judge_hold(found, query, record, hold);
    }
}

fn still_served(query: &Query<'_>, record: &AdmissionRecord, now: Timestamp) -> bool {
    record.sunset.as_ref().is_some_and(|sunset| {
        now < sunset.until
            && query.consumer.is_some_and(|consumer| sunset.consumers.iter().any(|served| **served == *consumer))
    })
}

/// Evidence and holds of a version that is on the road.
fn judge_road(found: &mut Found, query: &Query<'_>, record: &AdmissionRecord, now: Timestamp) {
    match &record.evidence {
        Some(evidence) => judge_evidence(&mut found.against, query, evidence, now),
        None => found.against.add(DecisionReason::EvidenceMissing),
    }
    for hold in &record.holds {
        judge_hold(found, query, record, hold);
    }
}

fn judge_evidence(against: &mut Reasons, query: &Query<'_>, evidence: &Evidence, now: Timestamp) {
    against.add_if(now < evidence.verified_at, DecisionReason::EvidenceMissing);
    against.add_if(now >= evidence.expires_at, DecisionReason::EvidenceExpired);
    against.add_if(evidence.stale, DecisionReason::EvidenceStale);
    against.add_if(evidence.failed, DecisionReason::EvidenceFailed);
    match evidence.signature {
        SignatureStatus::Verified => {}
        SignatureStatus::Invalid => against.add(DecisionReason::SignatureInvalid),
        SignatureStatus::KeyRevoked => against.add(DecisionReason::KeyRevoked),
    }
    match query.profile.map(|text| evidence.grant(text)) {
        Some(Some(grant)) => against.add_if(now >= grant.expires_at, DecisionReason::EvidenceExpired),
        // Also when it was left out: nothing is verified for a profile that nobody named.
        Some(None) | None => against.add(DecisionReason::ProfileNotVerified),
    }
}

fn judge_hold(found: &mut Found, query: &Query<'_>, record: &AdmissionRecord, hold: &Hold) {
    if !hits(&hold.scope, query) {
        return;
    }
    let sees_another =
        record.evidence.as_ref().is_none_or(|evidence| query.card_digest.differs_from(&evidence.card_digest))
            || query.card_digest == Observed::Omitted;
    let reason = match hold.kind {
        HoldKind::RouteDisabled => DecisionReason::RouteDisabled,
        HoldKind::CanaryStopped if record.state == State::Canary => DecisionReason::CanaryStopped,
        HoldKind::Revalidating if sees_another => DecisionReason::Revalidating,
        HoldKind::RevalidatingForAll => DecisionReason::Revalidating,
        HoldKind::CanaryStopped | HoldKind::Revalidating => return,
    };
    if hold.by_person {
        found.add_in_every_mode(reason);
    } else {
        found.against.add(reason);
    }
}

/// Whether a hold keeps a canary from whoever asks and holds the admitted card.
pub(crate) fn stops_canary(hold: &Hold, query: &Query<'_>) -> bool {
    hold.kind != HoldKind::Revalidating && hits(&hold.scope, query)
}

/// Whether a hold's scope hits the caller; a caller who does not say is hit.
fn hits(scope: &Scope, query: &Query<'_>) -> bool {
    match scope {
        Scope::All => true,
        Scope::Interface(interface) => query.interface.is_none_or(|asked| asked == &**interface),
        Scope::Profile(profile) => query.profile.is_none_or(|asked| profile.is(asked)),
        Scope::Consumer(consumer) => query.consumer.is_none_or(|asked| asked == &**consumer),
    }
}

fn reusable_deny(now: Timestamp) -> Timestamp {
    now.saturating_add(DENY_REUSE).unwrap_or(now)
}

/// The earliest instant at which anything that the allow rests on may change by itself.
fn reusable_allow(
    query: &Query<'_>,
    record: Option<&AdmissionRecord>,
    enforcement: Enforcement,
    freshness: &Freshness,
    now: Timestamp,
) -> Timestamp {
    let evidence = record.and_then(|record| record.evidence.as_ref());
    let sunset = record.and_then(|record| record.sunset.as_ref()).map(|sunset| sunset.until);
    let grant = evidence.zip(query.profile).and_then(|(evidence, text)| evidence.grant(text));
    [evidence.map(|evidence| evidence.expires_at), grant.map(|grant| grant.expires_at), sunset, enforcement.until()]
        .into_iter()
        .flatten()
        // What is past already changed nothing: the namespace only observes.
        .filter(|end| *end > now)
        .fold(freshness.lease_until, Timestamp::min)
}

fn listed<S: Serializer>(waived: &Option<Arc<[Box<str>]>>, s: S) -> Result<S::Ok, S::Error> {
    waived.as_deref().unwrap_or_default().serialize(s)
}
