//! What routers are told about a version: the admission record, without the facts that only we need.

use std::sync::Arc;

use ostiary_admission as admission;
use ostiary_admission::{AdmissionClass, AdmissionRecord, Evidence, ProfileGrant, SignatureStatus, Sunset};

use crate::{
    hold::{Hold, HoldKind, Scope},
    lifecycle::{Admitted, State},
    version::Version,
};

/// The admission record of `version`, whose authorization's signature was found to be `signature`.
#[must_use]
pub fn project(version: &Version, signature: SignatureStatus) -> AdmissionRecord {
    let (state, canary_weight, sunset) = place(&version.state);
    AdmissionRecord {
        agent: version.key.agent.clone(),
        version: version.key.label.clone(),
        state,
        canary_weight,
        evidence: version.state.admitted().map(|admitted| evidence(version, admitted, signature)),
        holds: version.holds.iter().map(hold).collect(),
        // Nobody is registered as a consumer yet, so a sunset serves nobody: the empty list denies.
        sunset: sunset.map(|until| Box::new(Sunset { until, consumers: Box::default() })),
        waived: None,
        revision: version.revision,
    }
}

fn place(state: &State) -> (admission::State, u16, Option<jiff::Timestamp>) {
    use admission::State as Told;
    match state {
        State::Draft => (Told::Draft, 0, None),
        State::StaticValidated { .. } => (Told::StaticValidated, 0, None),
        State::ConformanceVerified { .. } => (Told::ConformanceVerified, 0, None),
        State::SecurityVerified { .. } => (Told::SecurityVerified, 0, None),
        State::RegistryAdmitted { .. } => (Told::RegistryAdmitted, 0, None),
        State::Canary { weight, .. } => (Told::Canary, *weight, None),
        State::Active { .. } => (Told::Active, 0, None),
        State::Quarantined { .. } => (Told::Quarantined, 0, None),
        State::Rejected { .. } => (Told::Rejected, 0, None),
        State::Deprecated { sunset, .. } => (Told::Deprecated, 0, *sunset),
    }
}

fn evidence(version: &Version, admitted: &Admitted, signature: SignatureStatus) -> Evidence {
    let word = &admitted.authorization;
    let grant = |profile: &ostiary_canon::Profile| ProfileGrant {
        profile: Arc::new(profile.clone()),
        expires_at: word.expires_at,
    };
    Evidence {
        card_digest: admitted.subject.card,
        contract_digest: admitted.subject.contract,
        producer_digest: admitted.subject.producer,
        evidence_digest: word.evidence_digest,
        verified_at: word.not_before,
        expires_at: word.expires_at,
        profiles: word.profiles.iter().map(grant).collect(),
        class: AdmissionClass::Full,
        signature,
        stale: false,
        failed: fails_everywhere(version),
    }
}

/// A failure that a hold confines to a profile speaks through that hold; any other one speaks for all.
fn fails_everywhere(version: &Version) -> bool {
    version.failing.values().any(|evidence| {
        let mut holds = version.holds.iter().filter(|h| h.evidence.as_ref() == Some(evidence)).peekable();
        holds.peek().is_none() || holds.any(|h| !matches!(h.scope, Scope::Profile(_)))
    })
}

fn hold(hold: &Hold) -> admission::Hold {
    let kind = match hold.kind {
        HoldKind::RouteDisabled => admission::HoldKind::RouteDisabled,
        HoldKind::CanaryStopped => admission::HoldKind::CanaryStopped,
        HoldKind::Revalidating => admission::HoldKind::Revalidating,
    };
    let scope = match &hold.scope {
        // A revalidation already hits only who sees another card; which one was reported is for people.
        Scope::Everything | Scope::Digest(_) => admission::Scope::All,
        Scope::Interface(url) => admission::Scope::Interface(url.as_str().into()),
        Scope::Profile(profile) => admission::Scope::Profile(Arc::new(profile.clone())),
        Scope::Consumer(consumer) => admission::Scope::Consumer(consumer.as_str().into()),
    };
    admission::Hold { kind, scope, by_person: hold.author.is_person() }
}
