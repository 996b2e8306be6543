//! What is taken for a lowering step never allows anything that was not allowed before (L-04).

use ostiary_admission::{
    AdmissionRecord, Enforcement, Freshness, Hold, HoldKind, Query, Scope, State, Sunset, decide_dispatch, lowers,
    lowers_enforcement,
};
use ostiary_canon::Revision;
use proptest::prelude::*;

use crate::{
    fixture::{self, hours, now},
    generate,
};

fn allows(query: &Query<'_>, record: Option<&AdmissionRecord>, enforcement: Enforcement, now: jiff::Timestamp) -> bool {
    let freshness = Freshness { revision: Revision(1), lease_until: jiff::Timestamp::MAX, at_least: None };
    decide_dispatch(query, record, enforcement, &freshness, now).allows()
}

/// A version's next record: often nearly the one before, sometimes quite another, sometimes none.
fn next(old: Option<AdmissionRecord>) -> BoxedStrategy<(Option<AdmissionRecord>, Option<AdmissionRecord>)> {
    let other = prop::option::weighted(0.9, generate::record()).boxed();
    let Some(record) = old else { return other.prop_map(|new| (None, new)).boxed() };
    let kept = record.clone();
    let near = (generate::record(), 0_u8..8).prop_map(move |(drawn, which)| {
        let mut new = record.clone();
        match which {
            0 => new.state = drawn.state,
            1 => new.holds = drawn.holds,
            2 => new.holds = new.holds.iter().cloned().chain(drawn.holds).collect(),
            3 => new.evidence = drawn.evidence,
            4 => new.sunset = drawn.sunset,
            5 => new.canary_weight = drawn.canary_weight,
            6 => {
                if let (Some(mine), Some(theirs)) = (&mut new.evidence, drawn.evidence) {
                    (mine.verified_at, mine.expires_at) = (theirs.verified_at, theirs.expires_at);
                }
            }
            _ => {
                if let (Some(mine), Some(theirs)) = (&mut new.evidence, drawn.evidence) {
                    mine.profiles = theirs.profiles;
                }
            }
        }
        Some(new)
    });
    prop_oneof![4 => near.boxed(), 1 => other].prop_map(move |new| (Some(kept.clone()), new)).boxed()
}

fn pair() -> impl Strategy<Value = (Option<AdmissionRecord>, Option<AdmissionRecord>)> {
    prop::option::weighted(0.9, generate::record()).prop_flat_map(next)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_lowering_step_allows_nothing_new(
        (old, new) in pair(),
        questions in prop::collection::vec((generate::query(), generate::enforcement(), generate::time()), 16),
    ) {
        for (query, mode, now) in questions.into_iter().filter(|_| lowers(old.as_ref(), new.as_ref())) {
            if allows(&query, new.as_ref(), mode, now) {
                prop_assert!(allows(&query, old.as_ref(), mode, now), "{:?} at {} under {:?}", query, now, mode);
            }
        }
    }

    #[test]
    fn a_lowered_enforcement_allows_nothing_new(
        record in prop::option::weighted(0.9, generate::record()),
        (old, new) in (generate::enforcement(), generate::enforcement()),
        questions in prop::collection::vec((generate::query(), generate::time()), 16),
    ) {
        for (query, now) in questions.into_iter().filter(|_| lowers_enforcement(old, new)) {
            if allows(&query, record.as_ref(), new, now) {
                prop_assert!(allows(&query, record.as_ref(), old, now), "{:?} at {}", query, now);
            }
        }
    }

    #[test]
    fn what_stays_as_it_is_lowers(record in prop::option::weighted(0.9, generate::record())) {
        // Quarantined and off the road included: whoever sends the same again sends no raise.
        prop_assert!(lowers(record.as_ref(), record.as_ref()));
    }
}

fn person(kind: HoldKind, scope: Scope) -> Hold {
    Hold { kind, scope, by_person: true }
}

fn with(record: &AdmissionRecord, change: impl FnOnce(&mut AdmissionRecord)) -> AdmissionRecord {
    let mut record = record.clone();
    change(&mut record);
    record
}

#[test]
fn steps_that_take_away_are_known_as_such() {
    let active = fixture::record(State::Active);
    let canary = fixture::record(State::Canary);
    let disabled = Hold { by_person: false, ..person(HoldKind::RouteDisabled, Scope::All) };
    let evidence = |change: fn(&mut ostiary_admission::Evidence)| {
        with(&active, |record| change(record.evidence.as_mut().unwrap()))
    };
    for (what, old, new) in [
        ("quarantine", &active, fixture::record(State::Quarantined)),
        ("a hold of the control plane", &active, with(&active, |record| record.holds = [disabled].into())),
        (
            "a person's hold",
            &active,
            with(&active, |record| {
                record.holds = [person(HoldKind::RouteDisabled, Scope::Consumer("billing".into()))].into();
            }),
        ),
        (
            "revalidation",
            &active,
            with(&active, |record| record.holds = [person(HoldKind::Revalidating, Scope::All)].into()),
        ),
        ("evidence called in", &active, evidence(|evidence| evidence.stale = true)),
        ("a failed renewal", &active, evidence(|evidence| evidence.failed = true)),
        ("a shorter window", &active, evidence(|evidence| evidence.expires_at = now() + hours(1))),
        ("a profile less", &active, evidence(|evidence| evidence.profiles = Box::default())),
        ("evidence lost", &active, with(&active, |record| record.evidence = None)),
        ("taken back to admitted", &active, fixture::record(State::RegistryAdmitted)),
        ("deprecated with a sunset", &active, fixture::record(State::Deprecated)),
        ("a smaller cohort", &canary, with(&canary, |record| record.canary_weight = 100)),
        (
            "a stopped canary",
            &canary,
            with(&canary, |record| {
                record.holds = [fixture::hold(HoldKind::CanaryStopped, Scope::All)].into();
            }),
        ),
    ] {
        assert!(lowers(Some(old), Some(&new)), "{what}");
        assert!(!lowers(Some(&new), Some(old)), "{what}, undone");
    }
    assert!(lowers(Some(&active), None));
    assert!(!lowers(None, Some(&active)));
    assert!(lowers(None, Some(&fixture::record(State::Draft))), "a new submission");
}

#[test]
fn steps_that_only_look_harmless_are_raises() {
    let active = fixture::record(State::Active);
    let consumer = |name: &str| person(HoldKind::RouteDisabled, Scope::Consumer(name.into()));
    let held = |holds: &[Hold]| with(&active, |record| record.holds = holds.into());
    for (what, old, new) in [
        ("a hold moves to somebody else", held(&[consumer("billing")]), held(&[consumer("ledger")])),
        (
            "a person's hold becomes ours",
            held(&[consumer("billing")]),
            held(&[Hold { by_person: false, ..consumer("billing") }]),
        ),
        (
            "a stopped canary becomes ACTIVE",
            with(&fixture::record(State::Canary), |record| {
                record.holds = [person(HoldKind::CanaryStopped, Scope::All)].into();
            }),
            held(&[person(HoldKind::CanaryStopped, Scope::All)]),
        ),
        (
            "revalidation of another card",
            held(&[person(HoldKind::Revalidating, Scope::All)]),
            with(&active, |record| {
                record.holds = [person(HoldKind::Revalidating, Scope::All)].into();
                record.evidence.as_mut().unwrap().card_digest = ostiary_canon::Digest::of(b"new");
            }),
        ),
        (
            "quarantine becomes a draft: a trial would dispatch",
            fixture::record(State::Quarantined),
            fixture::record(State::Draft),
        ),
        (
            "another card",
            active.clone(),
            with(&active, |record| {
                record.evidence.as_mut().unwrap().card_digest = ostiary_canon::Digest::of(b"new");
            }),
        ),
        (
            "one consumer more before the sunset",
            fixture::record(State::Deprecated),
            with(&fixture::record(State::Deprecated), |record| {
                record.sunset = Some(Box::new(Sunset {
                    until: now() + hours(1),
                    consumers: ["billing".into(), "ledger".into()].into(),
                }));
            }),
        ),
    ] {
        assert!(!lowers(Some(&old), Some(&new)), "{what}");
    }
    assert!(!lowers(Some(&fixture::record(State::Quarantined)), None), "a trial would dispatch to what is unknown");
    assert!(!lowers(Some(&held(&[consumer("billing")])), None));
}
