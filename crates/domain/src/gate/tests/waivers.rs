//! What a waiver opens and what it does not, and what the reduced class may lack (L-09, V-09).

use ostiary_canon::intoto::AdmissionClass;
use ostiary_record::{
    CheckId, Finding, Gate, Layer,
    Outcome::{Fail, Inconclusive, NotApplicable, Pass},
};

use super::Case;
use crate::{
    approval::Edge,
    gate::{GateOutcome, GateReason},
    policy::Policy,
    sample::{self, approver, finding, hour, operator, profile, publisher},
    waiver::{Revocation, Waiver},
};

const BROKEN: &str = "sample.broken";

fn broken(outcome: ostiary_record::Outcome) -> Finding {
    Finding { check: CheckId(BROKEN.into()), ..finding(Layer::Protocol, outcome, Some(profile())) }
}

/// The conformance gate with one finding against the version, and a waiver for it.
fn case(change: impl FnOnce(&mut Waiver)) -> Case {
    let mut case = Case::honest(Gate::Conformance);
    case.findings.as_mut().expect("findings").push(broken(Fail));
    let mut waiver = sample::waiver("1.0.0", BROKEN);
    waiver.request.policy = case.policy.digest();
    change(&mut waiver);
    case.waivers.push(waiver);
    case
}

fn outcome(change: impl FnOnce(&mut Waiver)) -> GateOutcome {
    case(change).judge().outcome
}

#[test]
fn a_waived_failure_opens_the_gate_and_stands_beside_the_result() {
    let decision = case(|_| {}).judge();
    assert_eq!((decision.outcome, decision.reasons), (GateOutcome::Pass, vec![]));
    assert_eq!(decision.profiles_passed, [profile()]);
    let waived = &decision.waived[0];
    assert_eq!((waived.check.0.as_str(), waived.failed, waived.until), (BROKEN, true, hour(24)));
}

#[test]
fn what_could_not_be_told_can_be_waived_as_well() {
    let mut case = case(|_| {});
    *case.findings.as_mut().expect("findings").last_mut().expect("one") = broken(Inconclusive);
    let decision = case.judge();
    assert_eq!((decision.outcome, decision.waived[0].failed), (GateOutcome::Pass, false));
}

#[test]
fn nobody_waives_alone() {
    assert_eq!(outcome(|w| w.granted = None), GateOutcome::Fail, "asked for only");
    assert_eq!(outcome(|w| w.granted.as_mut().unwrap().by = operator()), GateOutcome::Fail, "by who asked");
    assert_eq!(outcome(|w| w.granted.as_mut().unwrap().by = publisher()), GateOutcome::Fail, "by who submitted");
    assert_eq!(outcome(|w| w.granted.as_mut().unwrap().by = sample::judge()), GateOutcome::Fail, "by a machine");
}

#[test]
fn a_waiver_ends() {
    assert_eq!(outcome(|w| w.request.expires_at = hour(1)), GateOutcome::Fail, "at its expiry");
    let at = sample::moment(1, 9);
    let revoked = Revocation { by: approver(), reason: "no longer".into(), at };
    assert_eq!(outcome(|w| w.revoked = Some(revoked)), GateOutcome::Fail, "revoked");
}

#[test]
fn a_waiver_is_for_one_check_one_manifest_one_policy_and_its_profile() {
    assert_eq!(outcome(|w| w.request.check = CheckId("sample.other".into())), GateOutcome::Fail);
    assert_eq!(outcome(|w| w.request.manifest = sample::subject("2.0.0").manifest), GateOutcome::Fail);
    assert_eq!(outcome(|w| w.request.policy = sample::subject("2.0.0").card), GateOutcome::Fail);
    assert_eq!(outcome(|w| w.request.label = "2.0.0".parse().unwrap()), GateOutcome::Fail);
    assert_eq!(outcome(|w| w.request.profile = Some(sample::other_profile())), GateOutcome::Fail);
    assert_eq!(outcome(|w| w.request.profile = Some(profile())), GateOutcome::Pass);
}

/// V-09: a layer in which nothing but the waived check was tried has no PASS.
#[test]
fn a_waived_finding_is_no_pass() {
    let mut case = case(|_| {});
    case.findings.as_mut().expect("findings").retain(|f| f.layer != Layer::Protocol || f.check.0 == BROKEN);
    let decision = case.judge();
    assert_eq!(decision.outcome, GateOutcome::Inconclusive);
    assert!(matches!(&decision.reasons[..], [GateReason::LayerWithoutPass { layer: Layer::Protocol, .. }]));
    assert_eq!(decision.profiles_passed, []);
}

/// An admission on evidence that rests on a waiver needs the waiver to be in force still, and tells routers of it.
#[test]
fn an_admission_does_not_outlive_the_waivers_under_it() {
    let mut case = Case::honest(Gate::Admission);
    let mut waiver = sample::waiver("1.0.0", BROKEN);
    waiver.request.policy = case.policy.digest();
    case.evidence[1].waived = Vec::from_iter(waiver.waives(&broken(Fail)));
    let ended = case.judge();
    assert!(matches!(&ended.reasons[..], [GateReason::WaiverEnded { gate: Gate::Conformance, .. }]), "{ended:?}");
    case.waivers.push(waiver);
    let admitted = case.judge();
    assert_eq!((admitted.outcome, admitted.waived.len()), (GateOutcome::Pass, 1));
}

/// Routers have the registry's word already; what it does not tell them of is not excused behind their backs.
#[test]
fn after_admission_only_what_routers_were_told_of_is_excused() {
    let run = |told: bool| {
        let mut case = Case::honest(Gate::Conformance);
        case.version.state = sample::states("1.0.0").swap_remove(6);
        case.findings.as_mut().expect("findings").push(broken(Fail));
        let mut waiver = sample::waiver("1.0.0", BROKEN);
        waiver.request.policy = case.policy.digest();
        if told && let Some(word) = case.version.state.word_mut() {
            word.waived = Vec::from_iter(waiver.waives(&broken(Fail)));
        }
        case.waivers.push(waiver);
        case.judge().outcome
    };
    assert_eq!((run(false), run(true)), (GateOutcome::Fail, GateOutcome::Pass));
}

// === the reduced class ===

/// The security gate of a policy that requires behaviour, of which `findings` is all that there is.
fn security(class: AdmissionClass, findings: Vec<Finding>) -> Vec<GateReason> {
    let mut case = Case::honest(Gate::Security);
    case.policy.gates.get_mut(&Gate::Security).unwrap().layers.push(Layer::Behavior);
    case.version.class = class;
    case.findings = Some(findings);
    case.judge().reasons
}

fn authorization() -> Finding {
    finding(Layer::Authorization, Pass, Some(profile()))
}

#[test]
fn the_reduced_class_may_lack_what_nobody_observes_and_the_full_one_may_not() {
    let unseen = || vec![authorization(), finding(Layer::Behavior, Inconclusive, None)];
    assert_eq!(security(AdmissionClass::Reduced, unseen()), []);
    assert_eq!(security(AdmissionClass::Full, unseen()).len(), 2, "no PASS, and could not tell");
}

#[test]
fn what_was_seen_to_be_broken_counts_in_the_reduced_class_as_well() {
    let reasons = security(AdmissionClass::Reduced, vec![authorization(), finding(Layer::Behavior, Fail, None)]);
    assert!(matches!(&reasons[..], [GateReason::Finding { failed: true, .. }]));
}

/// V-09: a class that takes every required layer away does not open a gate on nothing.
#[test]
fn no_gate_opens_on_nothing_in_the_reduced_class() {
    let gate = |findings| {
        let mut case = Case::honest(Gate::Security);
        case.policy.gates.get_mut(&Gate::Security).unwrap().layers = vec![Layer::Behavior];
        case.policy.gates.get_mut(&Gate::Security).unwrap().bound_layers.clear();
        case.version.class = AdmissionClass::Reduced;
        case.findings = Some(findings);
        case.judge()
    };
    let nothing = gate(vec![finding(Layer::Behavior, NotApplicable, None)]);
    assert_eq!((nothing.outcome, nothing.profiles_passed.len()), (GateOutcome::Inconclusive, 0));
    assert_eq!(gate(vec![finding(Layer::Behavior, Pass, None)]).outcome, GateOutcome::Pass);
}

#[test]
fn somebody_answers_for_a_reduced_admission() {
    let mut case = Case::honest(Gate::Admission);
    case.version.class = AdmissionClass::Reduced;
    assert_eq!(case.judge().outcome, GateOutcome::Blocked);
    case.approved(Edge::Admission, approver());
    assert_eq!(case.judge().outcome, GateOutcome::Pass);
    assert_eq!(Policy::one().approvals_for(Edge::Admission, AdmissionClass::Full), 0);
}
