//! What routers are told about a version: the admission record, without the facts that only we need.

use std::{collections::BTreeSet, sync::Arc};

use ostiary_admission as admission;
use ostiary_admission::{AdmissionRecord, Evidence, ProfileGrant, SignatureStatus, Sunset};

use crate::{
    hold::{Hold, HoldKind, Scope},
    lifecycle::{Admitted, State},
    subject::Authorization,
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
        holds: version.holds.iter().map(hold).chain(kept_off(&version.state)).collect(),
        // Nobody is registered as a consumer yet, so a sunset serves nobody: the empty list denies.
        sunset: sunset.map(|until| Box::new(Sunset { until, consumers: Box::default() })),
        waived: version.state.admitted().and_then(|admitted| waived(&admitted.authorization)),
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
        class: version.class,
        signature,
        stale: word.called_in.is_some(),
        failed: fails_everywhere(version),
    }
}

/// The names of the waived checks, each once; `None` for none.
fn waived(word: &Authorization) -> Option<Arc<[Box<str>]>> {
    let names: BTreeSet<&str> = word.waived.iter().map(|w| w.check.0.as_str()).collect();
    (!names.is_empty()).then(|| names.into_iter().map(Box::from).collect())
}

/// A failure that a hold confines to a profile speaks through that hold; any other one speaks for all.
fn fails_everywhere(version: &Version) -> bool {
    version.failing.values().any(|evidence| {
        let mut holds = version.holds.iter().filter(|h| h.evidence.as_ref() == Some(evidence)).peekable();
        holds.peek().is_none() || holds.any(|h| !matches!(h.scope, Scope::Profile(_)))
    })
}

/// What was taken off the road stays off it: to retire it must not turn a denial in every mode into one that a namespace
/// on trial only counts.
fn kept_off(state: &State) -> Option<admission::Hold> {
    let retired = matches!(state, State::Deprecated { quarantined: true, .. });
    let stop =
        admission::Hold { kind: admission::HoldKind::RouteDisabled, scope: admission::Scope::All, by_person: true };
    retired.then_some(stop)
}

fn hold(hold: &Hold) -> admission::Hold {
    let kind = match hold.kind {
        HoldKind::RouteDisabled => admission::HoldKind::RouteDisabled,
        HoldKind::CanaryStopped => admission::HoldKind::CanaryStopped,
        HoldKind::Revalidating => admission::HoldKind::Revalidating,
        HoldKind::RevalidatingForAll => admission::HoldKind::RevalidatingForAll,
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

#[cfg(test)]
mod tests {
    use ostiary_admission::SignatureStatus;
    use ostiary_record::{Gate, Outcome};

    use super::project;
    use crate::{
        hold::{Hold, HoldKind, Scope},
        lifecycle::State,
        names::{EvidenceId, HoldId},
        sample::{self, authorization, judge, moment, profile, states, subject},
        version::Version,
    };

    fn active() -> Version {
        sample::version("1.0.0", states("1.0.0").swap_remove(6))
    }

    #[test]
    fn every_state_has_its_name_and_evidence_only_from_admission_on() {
        for state in states("1.0.0") {
            let (name, admitted) = (state.name(), state.admitted().is_some());
            let record = project(&sample::version("1.0.0", state), SignatureStatus::Verified);
            assert_eq!((record.state.as_str(), record.evidence.is_some()), (name.as_str(), admitted));
            assert_eq!(record.canary_weight > 0, name == crate::StateName::Canary);
        }
    }

    /// L-08, L-10: retired out of QUARANTINED, it denies in every mode; retired from the road, a trial lets it through.
    #[test]
    fn what_was_quarantined_denies_in_every_mode_after_its_retirement() {
        for (quarantined, holds) in [(true, 1), (false, 0)] {
            let mut retired = states("1.0.0").pop().expect("the last state");
            match &mut retired {
                State::Deprecated { quarantined: flag, .. } => *flag = quarantined,
                other => panic!("the last state is DEPRECATED, not {other:?}"),
            }
            let record = project(&sample::version("1.0.0", retired), SignatureStatus::Verified);
            assert_eq!(record.holds.iter().filter(|hold| hold.by_person).count(), holds);
        }
    }

    #[test]
    fn routers_compare_with_the_admitted_digests() {
        let evidence = project(&active(), SignatureStatus::Verified).evidence.expect("it is admitted");
        let (subject, word) = (subject("1.0.0"), authorization());
        assert_eq!(
            (evidence.card_digest, evidence.contract_digest, evidence.producer_digest, evidence.evidence_digest),
            (subject.card, subject.contract, subject.producer, word.evidence_digest)
        );
        assert_eq!(evidence.expires_at, word.expires_at);
        assert!(
            evidence.grant("a2a-jsonrpc-1.0/user/standard").is_some() && evidence.grant("a2a-jsonrpc-1.0").is_none()
        );
    }

    #[test]
    fn a_failure_speaks_for_all_unless_its_hold_confines_it() {
        let failed = |scope: Option<Scope>| {
            let mut version = active();
            version.note(Gate::Conformance, Outcome::Fail, EvidenceId("ev-fail".into()));
            version.holds = Vec::from_iter(scope.map(|scope| Hold {
                id: HoldId("h".into()),
                kind: HoldKind::RouteDisabled,
                scope,
                reason: "r".into(),
                author: judge(),
                evidence: Some(EvidenceId("ev-fail".into())),
                set: moment(0, 9),
            }));
            project(&version, SignatureStatus::Verified).evidence.expect("it is admitted").failed
        };
        assert!(failed(Some(Scope::Everything)));
        assert!(failed(None), "a person lifted the hold, and no fresh PASS is there");
        assert!(!failed(Some(Scope::Profile(profile()))));
        assert!(!project(&active(), SignatureStatus::Verified).evidence.expect("it is admitted").failed);
    }
}
