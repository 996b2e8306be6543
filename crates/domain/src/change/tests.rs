//! What follows from judged gates and acts, and what is written for it.

use jiff::SignedDuration;
use ostiary_canon::Revision;
use ostiary_record::{Gate, Layer, Outcome};

use super::{Changes, Loaded, Undone, gate, operate};
use crate::{
    consequence::{Consequence, Judged, consequence},
    evidence::NewEvidence,
    gate::{GateDecision, GateOutcome, GateReason},
    hold::{Hold, HoldKind, Scope},
    job::{Lease, NewJob},
    lifecycle::StateName,
    names::{Actor, HoldId, JobId, Moment, VersionRef},
    policy::Policy,
    ports::{Action, Baseline, Conflict, GateCommit, Guard, HoldRequest, Ids, Operate, Refusal},
    route::{Previous, Route, RouteError},
    sample::{
        self, authorization, evidence, hour, judge, key, moment, operator, other_profile, profile, publisher, states,
    },
    version::Version,
};

#[derive(Debug)]
struct OneId;

impl Ids for OneId {
    fn next(&self, kind: &'static str) -> String {
        format!("{kind}-1")
    }

    fn secret(&self) -> String {
        "secret".into()
    }
}

/// Version `label` in the `state`-th state, alone or on the road with `peers`.
fn world(label: &str, state: usize, peers: Vec<Version>) -> Loaded {
    let version = sample::version(label, states(label).swap_remove(state));
    let mut route = Route::empty(sample::agent());
    for v in peers.iter().chain([&version]) {
        match v.state.name() {
            StateName::Active => route.active = Some(v.key.clone()),
            StateName::Canary => route.canary = Some(v.key.clone()),
            StateName::RegistryAdmitted if v.key.label.as_str().starts_with("0.") => {
                route.previous = Some(Previous { version: v.key.clone(), until: hour(24) });
            }
            _ => {}
        }
    }
    Loaded { version, route, peers, policy: Policy::one().digest() }
}

const ADMITTED: usize = 4;
const CANARY: usize = 5;
const ACTIVE: usize = 6;
const QUARANTINED: usize = 7;

fn peer(label: &str, state: usize) -> Version {
    sample::version(label, states(label).swap_remove(state))
}

fn at(revision: u64) -> Moment {
    moment(1, revision)
}

fn decision(outcome: GateOutcome, reasons: Vec<GateReason>) -> GateDecision {
    GateDecision { outcome, reasons, profiles_passed: vec![profile()], profiles_failed: vec![], waived: vec![] }
}

fn failure(profile: Option<ostiary_canon::Profile>) -> GateReason {
    let finding = sample::finding(Layer::Protocol, Outcome::Fail, profile.clone());
    GateReason::Finding {
        check: finding.check,
        layer: finding.layer,
        profile,
        failed: true,
        code: ostiary_record::ReasonCode::TerminalStateReopened,
        message: "reopened".into(),
    }
}

fn follows(version: &Version, decision: &GateDecision, evidence: &NewEvidence) -> Consequence {
    let (policy, author, word) = (Policy::one(), judge(), authorization());
    let judged = Judged { version, decision, evidence, authorization: Some(&word), policy: &policy, author: &author };
    consequence(&judged, &OneId, hour(1))
}

fn commit_of(loaded: &Loaded, consequence: Consequence, evidence: NewEvidence) -> GateCommit {
    GateCommit {
        lease: Lease { job: JobId("j".into()), token: "t".into(), epoch: 1, until: hour(2) },
        version: loaded.version.key.clone(),
        guard: Guard {
            state: loaded.version.state.name(),
            row: loaded.version.row,
            policy: loaded.policy,
            baseline: Baseline::Against(loaded.route.active.clone()),
        },
        consequence,
        evidence,
        report: None,
        actor: judge(),
    }
}

/// Judges `gate_name` as `outcome` in `loaded` and answers what is written.
fn judged(loaded: &Loaded, gate_name: Gate, outcome: Outcome, reasons: Vec<GateReason>) -> Result<Changes, Undone> {
    let label = loaded.version.key.label.as_str();
    let evidence = NewEvidence { run_started: Revision(8), ..evidence(label, gate_name, outcome, 1) };
    let how = if outcome == Outcome::Pass { GateOutcome::Pass } else { GateOutcome::Fail };
    let what = follows(&loaded.version, &decision(how, reasons), &evidence);
    gate(loaded.clone(), &commit_of(loaded, what, evidence), None, at(9))
}

fn state_of(changes: &Changes, key: &VersionRef) -> StateName {
    changes.versions.iter().find(|v| v.key == *key).expect("it changed").state.name()
}

#[test]
fn each_early_gate_queues_the_next_up_to_admission() {
    let gates = [Gate::Static, Gate::Conformance, Gate::Security, Gate::Admission];
    for (state, gate) in gates.into_iter().enumerate() {
        let loaded = world("1.0.0", state, vec![]);
        let what =
            follows(&loaded.version, &decision(GateOutcome::Pass, vec![]), &evidence("1.0.0", gate, Outcome::Pass, 1));
        assert_eq!(what.next, gates.get(state + 1).copied(), "after {gate}");
        let changes = judged(&loaded, gate, Outcome::Pass, vec![]).unwrap();
        assert_eq!(state_of(&changes, &key("1.0.0")), StateName::ALL[state + 1]);
    }
}

#[test]
fn an_older_gate_that_passes_again_queues_the_one_that_waits() {
    let loaded = world("1.0.0", 3, vec![]);
    let again = evidence("1.0.0", Gate::Static, Outcome::Pass, 1);
    let what = follows(&loaded.version, &decision(GateOutcome::Pass, vec![]), &again);
    assert_eq!((what.event, what.next), (None, Some(Gate::Admission)));
}

#[test]
fn a_failure_before_admission_rejects_with_every_reason() {
    let loaded = world("1.0.0", 1, vec![]);
    let reasons = vec![failure(None), failure(Some(profile()))];
    let changes = judged(&loaded, Gate::Conformance, Outcome::Fail, reasons).unwrap();
    let crate::State::Rejected { cause: crate::lifecycle::Rejection::Gate { reasons, .. }, .. } =
        &changes.versions[0].state
    else {
        panic!("{:?}", changes.versions[0].state)
    };
    assert_eq!(reasons.as_slice().len(), 2);
}

#[test]
fn an_inconclusive_gate_moves_nothing_and_holds_nothing() {
    for state in 0..8 {
        let loaded = world("1.0.0", state, vec![]);
        let evidence = evidence("1.0.0", Gate::Conformance, Outcome::Inconclusive, 1);
        let what =
            follows(&loaded.version, &decision(GateOutcome::Inconclusive, vec![GateReason::RunMissing]), &evidence);
        assert_eq!(what, Consequence::default());
    }
}

#[test]
fn a_promotion_moves_the_active_version_to_previous_and_closes_the_older_window() {
    let loaded = world("2.0.0", CANARY, vec![peer("1.0.0", ACTIVE), peer("0.9.0", ADMITTED)]);
    let changes = judged(&loaded, Gate::Active, Outcome::Pass, vec![]).unwrap();
    assert_eq!(state_of(&changes, &key("2.0.0")), StateName::Active);
    assert_eq!(state_of(&changes, &key("1.0.0")), StateName::RegistryAdmitted);
    let route = changes.route.expect("the route changed");
    assert_eq!((route.active, route.canary), (Some(key("2.0.0")), None));
    let previous = route.previous.expect("there is a previous version");
    assert_eq!((previous.version, previous.until), (key("1.0.0"), hour(1) + SignedDuration::from_hours(7 * 24)));
    let oldest = changes.versions.iter().find(|v| v.key == key("0.9.0")).expect("its window closed");
    assert!(matches!(oldest.state, crate::State::RegistryAdmitted { rollback: None, .. }));
}

#[test]
fn a_second_canary_is_refused() {
    let loaded = world("2.0.0", ADMITTED, vec![peer("1.0.0", CANARY)]);
    let undone = judged(&loaded, Gate::Canary, Outcome::Pass, vec![]).expect_err("there is one canary at most");
    assert_eq!(undone, Undone::Refused(Refusal::Route(RouteError::CanaryTaken(key("1.0.0")))));
}

#[test]
fn the_first_failure_after_admission_holds_and_the_second_quarantines() {
    for (state, kind) in
        [(ADMITTED, HoldKind::RouteDisabled), (CANARY, HoldKind::CanaryStopped), (ACTIVE, HoldKind::RouteDisabled)]
    {
        let mut loaded = world("1.0.0", state, vec![]);
        let first = judged(&loaded, Gate::Conformance, Outcome::Fail, vec![failure(None)]).unwrap();
        let (_, hold) = first.set.first().expect("a hold is set").clone();
        assert_eq!((hold.kind, &hold.scope, first.set.len()), (kind, &Scope::Everything, 1));
        assert_eq!(state_of(&first, &key("1.0.0")), loaded.version.state.name());
        assert!(first.versions[0].failing.contains_key(&Gate::Conformance));

        loaded.version.holds.push(Hold { set: moment(1, 9), ..hold.clone() });
        let same_run = judged(&loaded, Gate::Security, Outcome::Fail, vec![failure(None)]).unwrap();
        assert_eq!(state_of(&same_run, &key("1.0.0")), loaded.version.state.name(), "the run began before the hold");
        assert!(same_run.set.is_empty(), "the hold stands already");

        loaded.version.holds[0].set = moment(1, 8);
        let second = judged(&loaded, Gate::Conformance, Outcome::Fail, vec![failure(None)]).unwrap();
        assert_eq!(state_of(&second, &key("1.0.0")), StateName::Quarantined);
        assert!(second.route.is_none_or(|r| r.versions().count() == 0), "a quarantined version is on no route");
    }
}

#[test]
fn a_failure_in_one_profile_holds_that_profile_only() {
    let loaded = world("1.0.0", ACTIVE, vec![]);
    let reasons = vec![failure(Some(other_profile())), failure(Some(profile())), failure(Some(profile()))];
    let changes = judged(&loaded, Gate::Conformance, Outcome::Fail, reasons).unwrap();
    let scopes: Vec<Scope> = changes.set.into_iter().map(|(_, hold)| hold.scope).collect();
    assert_eq!(scopes, [Scope::Profile(other_profile()), Scope::Profile(profile())]);
    let mixed = judged(&loaded, Gate::Conformance, Outcome::Fail, vec![failure(Some(profile())), failure(None)]);
    assert_eq!(mixed.unwrap().set[0].1.scope, Scope::Everything);
}

#[test]
fn a_pass_lifts_no_hold() {
    let mut loaded = world("1.0.0", ACTIVE, vec![]);
    let failed = judged(&loaded, Gate::Conformance, Outcome::Fail, vec![failure(None)]).unwrap();
    loaded.version.holds = vec![failed.set[0].1.clone()];
    let passed = judged(&loaded, Gate::Conformance, Outcome::Pass, vec![]).unwrap();
    assert_eq!((passed.lifted, passed.versions[0].holds.len()), (vec![], 1));
    assert!(passed.versions[0].failing.is_empty(), "and the older failure does not speak any more");
}

#[test]
fn the_guard_sees_every_change_of_the_world() {
    let loaded = world("1.0.0", 1, vec![]);
    let fresh = evidence("1.0.0", Gate::Conformance, Outcome::Pass, 1);
    let what = follows(&loaded.version, &decision(GateOutcome::Pass, vec![]), &fresh);
    let commit = commit_of(&loaded, what, fresh);
    let undone = |change: fn(&mut Loaded)| {
        let mut world = loaded.clone();
        change(&mut world);
        gate(world, &commit, None, at(9)).expect_err("the world changed")
    };
    assert!(matches!(undone(|w| w.version.state = crate::State::Draft), Undone::Conflict(Conflict::State { .. })));
    assert!(matches!(undone(|w| w.version.row = w.version.row.next()), Undone::Conflict(Conflict::Row(_))));
    assert_eq!(undone(|w| w.policy = ostiary_canon::Digest::of(b"other")), Undone::Conflict(Conflict::Policy));
    assert_eq!(undone(|w| w.route.active = Some(key("0.1.0"))), Undone::Conflict(Conflict::Baseline));
    assert!(gate(loaded.clone(), &commit, None, at(9)).is_ok());
}

fn act(loaded: &Loaded, actor: Actor, action: Action) -> Result<Changes, Undone> {
    let act = Operate {
        version: loaded.version.key.clone(),
        row: None,
        actor,
        reason: "because".into(),
        action,
        idempotency: None,
    };
    operate(loaded.clone(), &act, at(9))
}

#[test]
fn a_rollback_is_one_step_and_takes_the_replaced_version_off_the_road() {
    let loaded = world("1.0.0", ACTIVE, vec![peer("0.9.0", ADMITTED)]);
    let rollback = || Action::Rollback { hold: HoldId("h".into()) };
    let changes = act(&loaded, operator(), rollback()).unwrap();
    assert_eq!(state_of(&changes, &key("0.9.0")), StateName::Active);
    assert_eq!(state_of(&changes, &key("1.0.0")), StateName::RegistryAdmitted);
    assert_eq!((changes.set[0].0.clone(), changes.set[0].1.kind), (key("1.0.0"), HoldKind::RouteDisabled));
    let route = changes.route.unwrap();
    assert_eq!((route.active, route.previous), (Some(key("0.9.0")), None));

    let nothing_before = act(&world("1.0.0", ACTIVE, vec![]), operator(), rollback());
    assert_eq!(nothing_before, Err(Undone::Refused(Refusal::Route(RouteError::NoPrevious))));
    let mut expired = loaded.clone();
    expired.peers = vec![sample::version("0.9.0", states("0.9.0").swap_remove(ADMITTED))];
    if let crate::State::RegistryAdmitted { admitted, .. } = &mut expired.peers[0].state {
        admitted.authorization.expires_at = hour(1);
    }
    assert!(matches!(act(&expired, operator(), rollback()), Err(Undone::Refused(Refusal::Transition(_)))));
    let mut held = loaded;
    held.peers[0].holds.push(changes.set[0].1.clone());
    assert_eq!(act(&held, operator(), rollback()), Err(Undone::Refused(Refusal::PreviousHeld(key("0.9.0")))));
}

/// L-10: machines only lower trust.
#[test]
fn a_machine_may_lower_trust_and_never_raise_it() {
    let loaded = world("1.0.0", ACTIVE, vec![peer("0.9.0", ADMITTED)]);
    let hold = HoldRequest { id: HoldId("h".into()), kind: HoldKind::RouteDisabled, scope: Scope::Everything };
    assert!(act(&loaded, judge(), Action::Quarantine).is_ok());
    assert!(act(&loaded, judge(), Action::SetHold(hold)).is_ok());
    let job = JobId("j".into());
    for action in [
        Action::Deprecate { sunset: None },
        Action::Rollback { hold: HoldId("h".into()) },
        Action::RequestGate { gate: Gate::Active, job: job.clone() },
    ] {
        let refused = act(&loaded, judge(), action.clone());
        assert!(matches!(refused, Err(Undone::Refused(Refusal::PersonOnly(_)))), "{action:?}");
        assert!(act(&loaded, operator(), action).is_ok());
    }
    assert!(act(&loaded, judge(), Action::RequestGate { gate: Gate::Conformance, job }).is_ok());
}

#[test]
fn a_machine_lifts_only_its_own_revalidation() {
    let lift = |kind, author: Actor, who: Actor| {
        let mut loaded = world("1.0.0", ACTIVE, vec![]);
        let id = HoldId("h".into());
        loaded.version.holds = vec![Hold {
            id: id.clone(),
            kind,
            scope: Scope::Everything,
            reason: "r".into(),
            author,
            evidence: None,
            set: moment(0, 6),
        }];
        act(&loaded, who, Action::LiftHold(id))
    };
    assert!(lift(HoldKind::Revalidating, judge(), judge()).is_ok());
    assert!(lift(HoldKind::RouteDisabled, judge(), operator()).is_ok());
    for (kind, author, who) in [
        (HoldKind::RouteDisabled, judge(), judge()),
        (HoldKind::Revalidating, operator(), judge()),
        (HoldKind::Revalidating, judge(), Actor::machine("another")),
    ] {
        assert!(matches!(lift(kind, author, who), Err(Undone::Refused(Refusal::Hold(_)))), "{kind:?}");
    }
}

#[test]
fn an_act_has_a_reason() {
    let loaded = world("1.0.0", ACTIVE, vec![]);
    let act = Operate {
        version: loaded.version.key.clone(),
        row: None,
        actor: operator(),
        reason: "  ".into(),
        action: Action::Quarantine,
        idempotency: None,
    };
    assert_eq!(operate(loaded, &act, at(9)), Err(Undone::Refused(Refusal::ReasonMissing)));
}

#[test]
fn a_gate_can_be_asked_for_only_where_it_follows() {
    let ask = |state, gate| {
        let action = Action::RequestGate { gate, job: JobId("j".into()) };
        act(&world("1.0.0", state, vec![]), operator(), action)
    };
    let wanted = NewJob { id: JobId("j".into()), version: key("1.0.0"), gate: Gate::Canary };
    assert_eq!(ask(ADMITTED, Gate::Canary).unwrap().jobs, std::slice::from_ref(&wanted));
    assert_eq!(ask(QUARANTINED, Gate::Canary).unwrap().jobs, [wanted]);
    for (state, gate) in [
        (0, Gate::Conformance),
        (3, Gate::Canary),
        (ADMITTED, Gate::Active),
        (QUARANTINED, Gate::Active),
        (8, Gate::Static),
        (9, Gate::Canary),
    ] {
        assert!(matches!(ask(state, gate), Err(Undone::Refused(Refusal::NotNext { .. }))), "{state} {gate}");
    }
}

#[test]
fn a_withdrawal_ends_a_submission_that_is_not_admitted() {
    let changes = act(&world("1.0.0", 0, vec![]), publisher(), Action::Withdraw).unwrap();
    assert_eq!(state_of(&changes, &key("1.0.0")), StateName::Rejected);
    let admitted = act(&world("1.0.0", ACTIVE, vec![]), publisher(), Action::Withdraw);
    assert!(matches!(admitted, Err(Undone::Refused(Refusal::Transition(_)))));
}

#[test]
fn quarantine_and_deprecation_leave_the_route() {
    for action in [Action::Quarantine, Action::Deprecate { sunset: Some(hour(99)) }] {
        for state in [CANARY, ACTIVE] {
            let changes = act(&world("1.0.0", state, vec![]), operator(), action.clone()).unwrap();
            assert_eq!(changes.route.expect("it was on the route").versions().count(), 0);
        }
    }
}
