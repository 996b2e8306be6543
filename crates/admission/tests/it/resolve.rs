//! Which version is called: sticky, by weight, and never a canary without a key (L-06).

use ostiary_admission::{AdmissionRecord, HoldKind, Query, Scope, State, in_cohort, resolve};
use ostiary_canon::Revision;

use crate::fixture::{self, AGENT, hold, query};

fn version(label: &str, state: State, weight: u16) -> AdmissionRecord {
    AdmissionRecord { version: label.parse().unwrap(), canary_weight: weight, ..fixture::record(state) }
}

fn chosen<'r>(versions: &'r [AdmissionRecord], query: &Query<'_>) -> Option<(&'r str, bool)> {
    resolve(versions, query).map(|resolved| (resolved.record.version.as_str(), resolved.canary))
}

#[test]
fn the_cohort_gets_the_canary_and_everybody_else_the_active_version() {
    let versions = [version("1", State::Active, 0), version("2", State::Canary, 2_500)];
    let mut canaries = 0;
    for n in 0..2_000 {
        let key = format!("conversation-{n}");
        let asked = Query { cohort_key: Some(&key), ..query() };
        let expected = if in_cohort(AGENT, "2", &key, 2_500) { ("2", true) } else { ("1", false) };
        assert_eq!(chosen(&versions, &asked), Some(expected));
        canaries += usize::from(expected.1);
        // The same key and weight, the same version, whatever order they stand in.
        let [active, canary] = &versions;
        assert_eq!(chosen(&[canary.clone(), active.clone()], &asked), Some(expected));
    }
    assert!((400..600).contains(&canaries), "{canaries}");
}

#[test]
fn a_raised_weight_keeps_those_who_were_there() {
    for n in 0..500 {
        let key = n.to_string();
        let asked = Query { cohort_key: Some(&key), ..query() };
        let at =
            |weight| chosen(&[version("1", State::Active, 0), version("2", State::Canary, weight)], &asked).unwrap().1;
        let served: Vec<bool> = (0..=20).map(|step| at(step * 500)).collect();
        assert!(served.is_sorted(), "{key}");
    }
}

#[test]
fn without_a_key_a_canary_is_never_chosen() {
    let asked = Query { cohort_key: None, ..query() };
    assert_eq!(chosen(&[version("2", State::Canary, 10_000)], &asked), None);
    let versions = [version("1", State::Active, 0), version("2", State::Canary, 10_000)];
    assert_eq!(chosen(&versions, &asked), Some(("1", false)));
    assert_eq!(chosen(&versions, &query()), Some(("2", true)));
}

#[test]
fn a_hold_that_stops_the_canary_sends_its_cohort_to_the_active_version() {
    for (kind, scope, stopped) in [
        (HoldKind::CanaryStopped, Scope::All, true),
        (HoldKind::RouteDisabled, Scope::All, true),
        (HoldKind::RevalidatingForAll, Scope::All, true),
        (HoldKind::RouteDisabled, Scope::Consumer("billing".into()), true),
        (HoldKind::RouteDisabled, Scope::Consumer("ledger".into()), false),
        // It stops who holds another card; the card that is answered here is the admitted one.
        (HoldKind::Revalidating, Scope::All, false),
    ] {
        let mut canary = version("2", State::Canary, 10_000);
        canary.holds = [hold(kind, scope.clone())].into();
        let expected = if stopped { ("1", false) } else { ("2", true) };
        assert_eq!(chosen(&[version("1", State::Active, 0), canary], &query()), Some(expected), "{kind:?} {scope:?}");
    }
}

#[test]
fn what_is_not_on_the_road_is_not_chosen() {
    for state in State::ALL {
        let expected = match state {
            State::Active => Some(("1", false)),
            State::Canary => Some(("1", true)),
            _ => None,
        };
        assert_eq!(chosen(&[version("1", state, 10_000)], &query()), expected, "{state}");
    }
    assert_eq!(chosen(&[], &query()), None);
    let stranger = AdmissionRecord { agent: "acme/other".parse().unwrap(), ..version("1", State::Active, 0) };
    assert_eq!(chosen(&[stranger], &query()), None);
}

#[test]
fn of_two_that_should_be_one_every_view_chooses_the_newer() {
    let older = AdmissionRecord { revision: Revision(1), ..version("1", State::Active, 0) };
    let newer = AdmissionRecord { revision: Revision(2), ..version("0", State::Active, 0) };
    let both = [older, newer];
    assert_eq!(chosen(&both, &query()), Some(("0", false)));
    let [older, newer] = both;
    assert_eq!(chosen(&[newer, older], &query()), Some(("0", false)));
}
