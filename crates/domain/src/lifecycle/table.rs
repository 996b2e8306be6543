//! The lifecycle's table, made from the machine itself, and what holds for every sequence of events.

use std::{fmt::Write as _, path::Path};

use ostiary_canon::Revision;
use ostiary_record::{Gate, NonEmpty};
use proptest::prelude::*;

use super::{EarlyGate, Event, NewPass, Refused, State, StateName};
use crate::{
    gate::GateReason,
    names::EvidenceId,
    sample::{authorization, hour, moment, operator, states, subject},
};

/// One event of each name, with facts that carry it from any state that has an edge for it.
fn events() -> Vec<Event> {
    let (subject, evidence) = (subject("1.0.0"), EvidenceId("ev-new".into()));
    let pass = NewPass { evidence: evidence.clone(), expires_at: hour(200) };
    let passed = EarlyGate::ALL.map(|gate| Event::GatePassed { gate, subject, pass: pass.clone() });
    let (reason, by) = (String::from("why"), operator());
    let mut events = Vec::from(passed);
    events.extend([
        Event::Admitted { subject, authorization: authorization() },
        Event::CanaryStarted { subject, evidence: evidence.clone(), weight: 1_000 },
        Event::CanaryAborted,
        Event::Promoted { subject, evidence: evidence.clone() },
        Event::Superseded { rollback_until: hour(48) },
        Event::RollbackWindowClosed,
        Event::RolledBackTo,
        Event::RolledBackFrom,
        Event::Renewed { subject, authorization: authorization() },
        Event::Quarantined { reason: reason.clone(), by: by.clone() },
        Event::Released { subject, evidence: evidence.clone(), run_started: Revision(6), weight: 1_000 },
        Event::Deprecated { sunset: None, reason: reason.clone(), by: by.clone() },
        Event::GateFailed { gate: Gate::Static, reasons: NonEmpty::one(GateReason::RunMissing), evidence },
        Event::Withdrawn { by, reason },
    ]);
    events
}

fn table() -> String {
    let mut page = String::from(
        "# Lifecycle of a version\n\n\
         Generated from `crates/domain/src/lifecycle.rs` by its test: `BLESS=1 cargo nextest run -p ostiary-domain`.\n\
         Every pair of state and event that is not listed is refused. An edge also checks the facts that its event brings:\n\
         evidence must be about the version's own manifest, an authorization must be valid at that moment, a rollback must\n\
         lie within its window, and a run that leads out of quarantine must have started after it.\n\n\
         | from | event | to |\n| --- | --- | --- |\n",
    );
    for from in states("1.0.0") {
        for event in events() {
            let name = event.name();
            if let Ok(to) = from.clone().apply(event, moment(1, 9)) {
                writeln!(page, "| {} | {name} | {} |", from.name(), to.name()).unwrap();
            }
        }
    }
    page
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test that writes the page when it is asked to")]
fn the_generated_page_says_what_the_machine_does() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/lifecycle.md");
    let page = table();
    if std::env::var_os("BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &page).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), page, "run with BLESS=1");
}

#[test]
fn states_cover_all_names_in_order() {
    let names: Vec<StateName> = states("1.0.0").iter().map(State::name).collect();
    assert_eq!(names, StateName::ALL);
}

#[test]
fn the_straight_road_leads_from_draft_to_active() {
    let (subject, evidence) = (subject("1.0.0"), EvidenceId("e".into()));
    let pass = NewPass { evidence: evidence.clone(), expires_at: hour(100) };
    let mut road: Vec<Event> =
        EarlyGate::ALL.map(|gate| Event::GatePassed { gate, subject, pass: pass.clone() }).into();
    road.push(Event::Admitted { subject, authorization: authorization() });
    road.push(Event::CanaryStarted { subject, evidence: evidence.clone(), weight: 1_000 });
    road.push(Event::Promoted { subject, evidence });
    let mut state = State::Draft;
    let mut seen = vec![state.name()];
    for (event, revision) in road.into_iter().zip(2..) {
        state = state.apply(event, moment(1, revision)).unwrap();
        seen.push(state.name());
    }
    assert_eq!(seen, StateName::ALL[..7]);
}

fn refused(state: &State, event: Event) -> Refused {
    state.clone().apply(event, moment(1, 9)).expect_err("must be refused").why
}

#[test]
fn evidence_for_other_digests_moves_nothing() {
    let states = states("1.0.0");
    let (other, evidence) = (subject("2.0.0"), EvidenceId("e".into()));
    let pass = NewPass { evidence: evidence.clone(), expires_at: hour(100) };
    let conformance = Event::GatePassed { gate: EarlyGate::Conformance, subject: other, pass };
    assert_eq!(refused(&states[1], conformance), Refused::OtherSubject);
    let admitted = Event::Admitted { subject: other, authorization: authorization() };
    assert_eq!(refused(&states[3], admitted), Refused::OtherSubject);
    let canary = Event::CanaryStarted { subject: other, evidence: evidence.clone(), weight: 1 };
    assert_eq!(refused(&states[4], canary), Refused::OtherSubject);
    assert_eq!(refused(&states[5], Event::Promoted { subject: other, evidence }), Refused::OtherSubject);
}

#[test]
fn an_expired_authorization_carries_nobody_onto_the_road() {
    let late = moment(8 * 24, 9);
    for (state, event) in [
        (4, Event::CanaryStarted { subject: subject("1.0.0"), evidence: EvidenceId("e".into()), weight: 1 }),
        (5, Event::Promoted { subject: subject("1.0.0"), evidence: EvidenceId("e".into()) }),
    ] {
        let error = states("1.0.0")[state].clone().apply(event, late).expect_err("must be refused");
        assert_eq!(error.why, Refused::NotAuthorized);
    }
}

#[test]
fn a_rollback_after_its_window_is_refused_and_one_within_it_is_not() {
    let previous = &states("1.0.0")[4];
    assert!(previous.clone().apply(Event::RolledBackTo, moment(23, 9)).is_ok());
    let late = previous.clone().apply(Event::RolledBackTo, moment(24, 9)).expect_err("the window is exclusive");
    assert_eq!(late.why, Refused::NoRollbackWindow);
}

#[test]
fn a_run_from_before_the_quarantine_does_not_lead_out_of_it() {
    let quarantined = &states("1.0.0")[7];
    let release = |revision| Event::Released {
        subject: subject("1.0.0"),
        evidence: EvidenceId("e".into()),
        run_started: Revision(revision),
        weight: 1_000,
    };
    assert_eq!(refused(quarantined, release(4)), Refused::RunBeforeQuarantine);
    assert!(quarantined.clone().apply(release(5), moment(1, 9)).is_ok());
}

#[test]
fn a_quarantined_version_has_no_sunset() {
    let event = Event::Deprecated { sunset: Some(hour(99)), reason: "old".into(), by: operator() };
    assert_eq!(refused(&states("1.0.0")[7], event), Refused::SunsetInQuarantine);
}

proptest! {
    #[test]
    fn no_sequence_of_events_breaks_what_a_state_promises(picks in prop::collection::vec(0..17_usize, 0..60)) {
        let mut state = State::Draft;
        let mut seen = vec![StateName::Draft];
        for (pick, revision) in picks.into_iter().zip(6..) {
            let (before, event) = (state.clone(), events().swap_remove(pick % events().len()));
            match state.apply(event, moment(1, revision)) {
                Ok(after) => state = after,
                Err(_) => { state = before; continue }
            }
            prop_assert!(!before.name().is_terminal(), "{} was left", before.name());
            if let (Some(then), Some(now)) = (before.subject(), state.subject()) {
                prop_assert_eq!(then, now, "the manifest changed");
            }
            seen.push(state.name());
        }
        let first = |name| seen.iter().position(|s| *s == name);
        if let Some(active) = first(StateName::Active) {
            prop_assert!(first(StateName::Canary).is_some_and(|canary| canary < active), "ACTIVE without CANARY");
        }
        if let Some(canary) = first(StateName::Canary) {
            for gate in [StateName::StaticValidated, StateName::ConformanceVerified, StateName::SecurityVerified] {
                prop_assert!(first(gate).is_some_and(|at| at < canary), "CANARY without {gate}");
            }
        }
    }
}
