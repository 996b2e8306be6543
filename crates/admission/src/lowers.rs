//! Whether a change only takes away: then a router applies it at once, before it has verified anything.
//!
//! `lowers(old, new)` promises: whatever the question, the enforcement mode and the time, what is allowed after the change
//! was allowed before it. It may say no where that holds; it never says yes where it does not.

use crate::{
    mode::Enforcement,
    record::{AdmissionRecord, Evidence, Hold, HoldKind, Scope, SignatureStatus, State, Sunset},
};

/// Whether a version's record changing from `old` to `new` can only turn allows into denials; `None` is a version that is
/// not known.
#[must_use]
pub fn lowers(old: Option<&AdmissionRecord>, new: Option<&AdmissionRecord>) -> bool {
    match (old, new) {
        (None, None) => true,
        (_, Some(new)) if denies_in_every_mode(new) => true,
        // An unknown version is denied under `enforce`, and by nothing else.
        (None, Some(new)) => denies_under_enforce(new),
        (Some(old), None) => old.state != State::Quarantined && !old.holds.iter().any(|hold| hold.by_person),
        (Some(old), Some(new)) => {
            keeps_the_denials_of_every_mode(old, new) && (denies_under_enforce(new) || is_narrower(old, new))
        }
    }
}

/// Whether a namespace's enforcement changing from `old` to `new` can only turn allows into denials.
#[must_use]
pub fn lowers_enforcement(old: Enforcement, new: Enforcement) -> bool {
    match (old.until(), new.until()) {
        (_, None) => true,
        (Some(old), Some(new)) => new <= old,
        (None, Some(_)) => false,
    }
}

/// Denied for everybody, always, in every mode.
fn denies_in_every_mode(record: &AdmissionRecord) -> bool {
    record.state == State::Quarantined
        || record.holds.iter().any(|hold| hold.by_person && unconditional(hold.kind) && hold.scope == Scope::All)
}

/// Denied for everybody, always, where the namespace is enforced.
fn denies_under_enforce(record: &AdmissionRecord) -> bool {
    let off_road = match record.state {
        State::Draft
        | State::StaticValidated
        | State::ConformanceVerified
        | State::SecurityVerified
        | State::RegistryAdmitted
        | State::Quarantined
        | State::Rejected => true,
        State::Canary => record.canary_weight == 0,
        State::Active => false,
        State::Deprecated => record.sunset.as_ref().is_none_or(|sunset| sunset.consumers.is_empty()),
    };
    let stops = |hold: &Hold| {
        hold.scope == Scope::All
            && (unconditional(hold.kind) || (hold.kind == HoldKind::CanaryStopped && record.state == State::Canary))
    };
    off_road || !record.evidence.as_ref().is_some_and(counts) || record.holds.iter().any(stops)
}

fn counts(evidence: &Evidence) -> bool {
    !evidence.stale && !evidence.failed && evidence.signature == SignatureStatus::Verified
}

/// A hold of these kinds denies whoever it hits, whatever the state and the card.
const fn unconditional(kind: HoldKind) -> bool {
    matches!(kind, HoldKind::RouteDisabled | HoldKind::RevalidatingForAll)
}

/// Whoever was denied in every mode still is: quarantine and the holds of people stay, or something wider came.
fn keeps_the_denials_of_every_mode(old: &AdmissionRecord, new: &AdmissionRecord) -> bool {
    old.state != State::Quarantined
        && old
            .holds
            .iter()
            .filter(|hold| hold.by_person)
            .all(|hold| new.holds.iter().any(|other| other.by_person && covers(other, new, hold, old)))
}

/// Where both are enforced: whoever `new` allows, `old` allowed too.
fn is_narrower(old: &AdmissionRecord, new: &AdmissionRecord) -> bool {
    let state = match (old.state, new.state) {
        (State::Active, State::Active | State::Canary | State::Deprecated) => true,
        (State::Canary, State::Canary) => new.canary_weight <= old.canary_weight,
        (State::Deprecated, State::Deprecated) => {
            old.sunset.as_ref().zip(new.sunset.as_ref()).is_some_and(|(old, new)| shorter(old, new))
        }
        _ => false,
    };
    let evidence = old.evidence.as_ref().zip(new.evidence.as_ref()).is_some_and(|(old, new)| weaker(old, new));
    let holds = old.holds.iter().all(|hold| new.holds.iter().any(|other| covers(other, new, hold, old)));
    state && evidence && holds
}

fn shorter(old: &Sunset, new: &Sunset) -> bool {
    new.until <= old.until && new.consumers.iter().all(|consumer| old.consumers.contains(consumer))
}

/// The same digests, a window within the other, and no profile more or longer.
fn weaker(old: &Evidence, new: &Evidence) -> bool {
    counts(old)
        && (old.card_digest, old.contract_digest, old.producer_digest)
            == (new.card_digest, new.contract_digest, new.producer_digest)
        && old.verified_at <= new.verified_at
        && new.expires_at <= old.expires_at
        && new.profiles.iter().all(|grant| {
            // Of two grants of one profile the first counts, as it does in a decision.
            let end = |evidence: &Evidence| evidence.grant(grant.profile.as_str()).map(|grant| grant.expires_at);
            end(old).is_some_and(|until| end(new) <= Some(until))
        })
}

/// Whether `hold` of `record` denies whomever `was` of `old` denied.
fn covers(hold: &Hold, record: &AdmissionRecord, was: &Hold, old: &AdmissionRecord) -> bool {
    let scope = hold.scope == Scope::All || hold.scope == was.scope;
    let card = |record: &AdmissionRecord| record.evidence.as_ref().map(|evidence| evidence.card_digest);
    let kind = match (hold.kind, was.kind) {
        (kind, _) if unconditional(kind) => true,
        (HoldKind::CanaryStopped, HoldKind::CanaryStopped) => {
            record.state == State::Canary || old.state != State::Canary
        }
        // Who sees another card than the admitted one: only the same card makes the same people.
        (HoldKind::Revalidating, HoldKind::Revalidating) => card(record) == card(old),
        _ => false,
    };
    scope && kind
}
