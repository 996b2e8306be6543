//! Planning: who plays whom, what cannot be driven, in which order.

use ostiary_contract::Bundle;
use ostiary_record::{Axes, EnvironmentFacts, Gate, Layer, ReasonCode};
use ostiary_verify::{
    Allowance, Control, Harness, Isolation, Plan, PlanInput, Reads, Role, ScenarioSpec, discover, plan,
    scenario::{Clearance, Needs},
};

use crate::support::{CARD, PROFILE, ask, bundle, declared, environment, wants_200};

fn planned(harness: &Harness, bundle: &Bundle, environment: &EnvironmentFacts, gate: Option<Gate>, card: &str) -> Plan {
    let clock = std::sync::Arc::new(Still);
    let recording = discover::of_card(clock, card.to_owned().into());
    let discovered = discover::Discovered::read(recording);
    let calls = Allowance::default().calls;
    plan(harness, &PlanInput { gate, only: &[], bundle, discovered: &discovered, environment, seed: 7, calls })
}

struct Still;

impl ostiary_record::Monotonic for Still {
    fn now(&self) -> ostiary_record::MonoNanos {
        ostiary_record::MonoNanos(0)
    }
}

fn reads(ids: &'static [&'static str]) -> Box<dyn ostiary_verify::Check> {
    wants_200("t.reads", Layer::Protocol, Reads::Each(ids))
}

fn names(plan: &Plan) -> Vec<&str> {
    plan.steps.iter().map(|s| s.scenario).collect()
}

#[test]
fn the_same_input_gives_the_same_plan_and_another_seed_other_values() {
    let harness = Harness::of(vec![ask("s.one", |_| {})], vec![reads(&["s.one"])]);
    let bundle = bundle(&[]);
    let first = planned(&harness, &bundle, &environment(), None, CARD);
    assert_eq!(first, planned(&harness, &bundle, &environment(), None, CARD));
    assert_eq!(first.steps.len(), 1);
    let clock = std::sync::Arc::new(Still);
    let discovered = discover::Discovered::read(discover::of_card(clock, CARD.into()));
    let environment = environment();
    let input = PlanInput {
        gate: None,
        only: &[],
        bundle: &bundle,
        discovered: &discovered,
        environment: &environment,
        seed: 8,
        calls: 10,
    };
    assert_ne!(first.steps[0].seed, plan(&harness, &input).steps[0].seed);
}

#[test]
fn controls_come_before_what_they_control_and_destruction_last() {
    let by = |control: &'static str| move |s: &mut ScenarioSpec| s.control = Control::By(control);
    let harness = Harness::of(
        vec![
            ask("s.destroys", |s| s.isolation = Isolation::Destructive),
            ask("s.alone", |s| s.isolation = Isolation::Exclusive),
            ask("s.negative", by("s.control")),
            ask("s.control", |_| {}),
        ],
        vec![reads(&["s.destroys", "s.alone", "s.negative"])],
    );
    let plan = planned(&harness, &bundle(&[]), &environment(), None, CARD);
    assert_eq!(names(&plan), ["s.control", "s.negative", "s.alone", "s.destroys"], "the control is added unasked");
}

#[test]
fn a_gate_drives_only_what_its_checks_read() {
    let harness = Harness::of(
        vec![ask("s.conformance", |_| {}), ask("s.security", |s| s.gate = Gate::Security)],
        vec![
            declared(),
            wants_200("t.protocol", Layer::Protocol, Reads::Each(&["s.conformance"])),
            wants_200("t.security", Layer::Authorization, Reads::Each(&["s.security"])),
        ],
    );
    let at = |gate| names(&planned(&harness, &bundle(&[]), &environment(), gate, CARD)).join(",");
    assert_eq!(at(Some(Gate::Static)), "");
    assert_eq!(at(Some(Gate::Conformance)), "s.conformance");
    assert_eq!(at(Some(Gate::Security)), "s.security");
    assert_eq!(at(Some(Gate::Admission)), "");
    assert_eq!(at(Some(Gate::Canary)), "s.conformance,s.security", "nothing is promoted on yesterday's answers");
    assert_eq!(at(None), "s.conformance,s.security");
}

#[test]
fn what_is_not_cleared_or_has_no_subject_is_not_driven_and_says_why() {
    let foreign = Needs { roles: &[Role::Foreign], ..Needs::USUAL };
    let harness = Harness::of(
        vec![ask("s.writes", |s| s.clearance = Clearance::Write), ask("s.foreign", move |s| s.needs = foreign)],
        vec![reads(&["s.writes", "s.foreign"])],
    );
    let plan = planned(&harness, &bundle(&[]), &environment(), None, CARD);
    assert!(plan.steps.is_empty());
    let reasons: Vec<ReasonCode> = plan.not_run.iter().map(|n| n.reason).collect();
    assert_eq!(reasons, [ReasonCode::CallNotCleared, ReasonCode::SubjectMissing]);
    let mut cleared = environment();
    cleared.cleared_effects.push("write".to_owned());
    assert_eq!(names(&planned(&harness, &bundle(&[]), &cleared, None, CARD)), ["s.writes"]);
}

#[test]
fn roles_are_played_by_subjects_of_the_profile_and_never_by_another_privilege_level() {
    let harness = Harness::of(vec![ask("s.one", |_| {})], vec![reads(&["s.one"])]);
    let plan = planned(&harness, &bundle(&[]), &environment(), None, CARD);
    let cast = &plan.steps[0].cast;
    assert_eq!(cast[&Role::Primary].0, "user-a");
    assert_eq!(cast[&Role::OtherTenant].0, "user-b");
    assert_eq!(cast[&Role::Expired].0, "expired-a");
    assert!(!cast.contains_key(&Role::Foreign));

    let secured =
        CARD.replace("\"skills\"", "\"securityRequirements\": [{\"schemes\": {\"b\": {\"list\": []}}}], \"skills\"");
    let wanted = bundle(&[("coverage.yaml", "coverage_policy: {}\nactivate: [a2a-jsonrpc-1.0/agent/standard]\n")]);
    let plan = planned(&harness, &wanted, &environment(), None, &secured);
    assert!(plan.steps.is_empty(), "no subject has the profile `agent`, and `user-a` does not stand in");
    assert_eq!(plan.not_run[0].reason, ReasonCode::SubjectMissing);
}

#[test]
fn a_public_card_is_called_as_nobody_where_no_subject_has_the_profile() {
    let harness = Harness::of(vec![ask("s.one", |_| {})], vec![reads(&["s.one"])]);
    let nobody = EnvironmentFacts { subjects: std::collections::BTreeMap::new(), ..environment() };
    let plan = planned(&harness, &bundle(&[]), &nobody, None, CARD);
    assert_eq!(plan.steps[0].cast[&Role::Primary].0, "anonymous");
}

#[test]
fn bindings_that_the_harness_cannot_drive_are_not_driven() {
    let harness = Harness::of(vec![ask("s.one", |_| {})], vec![reads(&["s.one"])]);
    for other in ["grpc", "urn:example:binding"] {
        let card = CARD.replace("JSONRPC", other);
        let plan = planned(&harness, &bundle(&[]), &environment(), None, &card);
        assert!(plan.steps.is_empty(), "{other}");
    }
    let old = CARD.replace("\"protocolVersion\": \"1.0\"", "\"protocolVersion\": \"0.3\"");
    assert!(planned(&harness, &bundle(&[]), &environment(), None, &old).steps.is_empty());
}

#[test]
fn the_contract_can_want_repetitions_but_not_of_what_must_be_alone() {
    let harness = Harness::of(
        vec![ask("s.shared", |_| {}), ask("s.alone", |s| s.isolation = Isolation::Exclusive)],
        vec![reads(&["s.shared", "s.alone"])],
    );
    let three = bundle(&[("coverage.yaml", "coverage_policy: {}\ntolerance: { repetitions: 3 }\n")]);
    let plan = planned(&harness, &three, &environment(), None, CARD);
    let axes: Vec<(&str, &Axes)> = plan.steps.iter().map(|s| (s.scenario, &s.axes)).collect();
    let repetitions: Vec<(&str, u32)> = axes.iter().map(|(id, a)| (*id, a.repetition)).collect();
    assert_eq!(repetitions, [("s.shared", 0), ("s.shared", 1), ("s.shared", 2), ("s.alone", 0)]);
    assert!(axes.iter().all(|(_, a)| a.profile.as_deref() == Some(PROFILE)));
    let seeds: std::collections::BTreeSet<u64> = plan.steps.iter().map(|s| s.seed).collect();
    assert_eq!(seeds.len(), 4, "each drive has values of its own");
}

#[test]
fn what_the_budget_has_no_calls_for_is_said_once_and_never_laid_out() {
    let mut bundle = bundle(&[("coverage.yaml", "coverage_policy: {}\ntolerance: { repetitions: 3 }\n")]);
    let by = |s: &mut ScenarioSpec| s.control = Control::By("s.control");
    let harness = Harness::of(vec![ask("s.negative", by), ask("s.control", |_| {})], vec![reads(&["s.negative"])]);
    let clock = std::sync::Arc::new(Still);
    let discovered = discover::Discovered::read(discover::of_card(clock, CARD.into()));
    let with = |bundle: &Bundle, calls| {
        let environment = &environment();
        let seed = 7;
        plan(&harness, &PlanInput { gate: None, only: &[], bundle, discovered: &discovered, environment, seed, calls })
    };
    let enough = with(&bundle, 6);
    assert_eq!((enough.steps.len(), enough.not_run.len()), (6, 0));
    let short = with(&bundle, 5);
    assert_eq!(names(&short), ["s.control"; 3], "controls are paid for first");
    let [skipped] = &short.not_run[..] else { panic!("{:?}", short.not_run) };
    assert_eq!((&*skipped.scenario.0, skipped.reason), ("s.negative", ReasonCode::BudgetExceeded));
    // a contract that came past the reader, and an environment without bound: still nothing is laid out
    bundle.coverage.tolerance.as_mut().expect("written above").value.repetitions = 4_000_000_000;
    let absurd = with(&bundle, u32::MAX);
    assert_eq!((absurd.steps.len(), absurd.not_run.len()), (0, 2), "{:?}", absurd.not_run);
}

/// Two calls are enough for one ordinary scenario, and the incident gets them (O-03).
#[test]
fn past_incidents_are_driven_before_the_budget_is_spent_on_others() {
    let incident =
        "case: once-lost\nincident: INC-0001\nwhen: { operation: a2a.send_message }\nexpect: { result: PASS }\n";
    let bundle = bundle(&[("cases/regression/once-lost.yaml", incident)]);
    let discovered = discover::Discovered::read(discover::of_card(std::sync::Arc::new(Still), CARD.into()));
    let mut environment = environment();
    environment.cleared_effects.push("write".to_owned());
    let harness = Harness::standard();
    let input = |calls| PlanInput {
        gate: None,
        only: &[],
        bundle: &bundle,
        discovered: &discovered,
        environment: &environment,
        seed: 7,
        calls,
    };
    let all = plan(&harness, &input(2000));
    let few = plan(&harness, &input(2));
    let case = |plan: &Plan| plan.steps.iter().filter(|s| s.axes.case.is_some()).count();
    assert_eq!((few.steps.len(), case(&few), case(&all)), (2, 1, 1), "{:?}", names(&few));
    let spent = few.not_run.iter().filter(|n| n.reason == ReasonCode::BudgetExceeded).count();
    assert!(spent > 5, "what the budget did not last for is told: {spent}");
    // the order of driving is that of isolation and controls, as ever
    let rank: Vec<Isolation> = all.steps.iter().map(|s| s.isolation).collect();
    assert!(rank.is_sorted(), "{rank:?}");
}
