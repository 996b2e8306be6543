//! Each rule of the gates with the facts that break it, and the honest twin that passes.

use ostiary_canon::{Digest, Revision};
use ostiary_record::{
    Finding, Gate, Layer,
    Outcome::{Fail, Inconclusive, NotApplicable, Pass},
    Severity,
};

use super::{GateDecision, GateFacts, GateOutcome, GateReason, GateRun, LiveCard, judge_gate};
use crate::{
    approval::{Approval, Edge},
    evidence::{EvidenceRecord, Standing},
    hold::{Hold, HoldKind, Scope},
    lifecycle::State,
    names::{Actor, ApprovalId, HoldId},
    policy::Policy,
    sample::{self, finding, hour, judge, key, moment, other_profile, profile, publisher, states, subject},
    subject::Subject,
    version::Version,
    waiver::Waiver,
};

mod waivers;

/// The facts of a test, owned.
struct Case {
    gate: Gate,
    version: Version,
    subject: Subject,
    findings: Option<Vec<Finding>>,
    verified_at: jiff::Timestamp,
    started: Revision,
    evidence: Vec<EvidenceRecord>,
    live_card: Option<LiveCard>,
    approvals: Vec<Approval>,
    waivers: Vec<Waiver>,
    policy: Policy,
}

impl Case {
    /// All that `gate` wants, so that it passes one hour after the start.
    fn honest(gate: Gate) -> Self {
        let at = Gate::ALL.into_iter().position(|g| g == gate).unwrap();
        let state = states("1.0.0").swap_remove(at);
        let mut policy = Policy::one();
        policy.gates.values_mut().for_each(|rule| rule.checks.clear());
        let evidence = [Gate::Static, Gate::Conformance, Gate::Security].map(|gate| {
            let new =
                crate::evidence::NewEvidence { policy: policy.digest(), ..sample::evidence("1.0.0", gate, Pass, 0) };
            new.recorded(key("1.0.0"), Standing::Decided, Revision(3))
        });
        let findings = Layer::ALL.map(|layer| finding(layer, Pass, Some(profile())));
        Self {
            gate,
            version: sample::version("1.0.0", state),
            subject: subject("1.0.0"),
            findings: Some(findings.into()),
            verified_at: hour(1),
            started: Revision(8),
            evidence: evidence.into(),
            live_card: Some(LiveCard { digest: subject("1.0.0").card, fetched_at: hour(1) }),
            approvals: Vec::new(),
            waivers: Vec::new(),
            policy,
        }
    }

    fn with(gate: Gate, change: impl FnOnce(&mut Self)) -> GateDecision {
        let mut case = Self::honest(gate);
        change(&mut case);
        case.judge()
    }

    fn judge(&self) -> GateDecision {
        let findings = self.findings.as_deref();
        let facts = GateFacts {
            gate: self.gate,
            version: &self.version,
            subject: self.subject,
            run: findings.map(|findings| GateRun { findings, verified_at: self.verified_at, started: self.started }),
            evidence: &self.evidence,
            live_card: self.live_card,
            approvals: &self.approvals,
            waivers: &self.waivers,
        };
        judge_gate(&facts, &self.policy, hour(1))
    }

    fn approved(&mut self, edge: Edge, actor: Actor) {
        self.approvals.push(Approval {
            id: ApprovalId("a".into()),
            version: key("1.0.0"),
            edge,
            actor,
            manifest: subject("1.0.0").manifest,
            policy: self.policy.digest(),
            reason: "looked at it".into(),
            at: moment(1, 7),
            expires_at: hour(2),
        });
    }

    fn held(&mut self, kind: HoldKind) {
        self.version.holds.push(Hold {
            id: HoldId("h".into()),
            kind,
            scope: Scope::Everything,
            reason: "it lied".into(),
            author: judge(),
            evidence: None,
            set: moment(0, 6),
        });
    }
}

fn check(decision: &GateDecision, outcome: GateOutcome, codes: &[&str]) {
    let mut found: Vec<&str> = decision.reasons.iter().map(GateReason::code).collect();
    found.sort_unstable();
    found.dedup();
    assert_eq!((decision.outcome, found.as_slice()), (outcome, codes), "{decision:#?}");
}

fn only(findings: &mut Option<Vec<Finding>>, layer: Layer, with: Vec<Finding>) {
    let findings = findings.as_mut().unwrap();
    findings.retain(|f| f.layer != layer);
    findings.extend(with);
}

#[test]
fn every_gate_opens_on_honest_facts() {
    for gate in Gate::ALL {
        let decision = Case::honest(gate).judge();
        check(&decision, GateOutcome::Pass, &[]);
        assert_eq!((decision.profiles_passed, decision.profiles_failed), (vec![profile()], vec![]), "{gate}");
    }
}

/// V-09: nothing opens on nothing.
#[test]
fn a_layer_without_a_pass_keeps_the_gate_shut() {
    for with in [vec![], vec![finding(Layer::Protocol, NotApplicable, Some(profile()))]] {
        let decision = Case::with(Gate::Conformance, |c| only(&mut c.findings, Layer::Protocol, with));
        check(&decision, GateOutcome::Inconclusive, &["LAYER_WITHOUT_PASS"]);
        assert!(decision.profiles_passed.is_empty());
    }
    check(&Case::with(Gate::Static, |c| c.findings = Some(vec![])), GateOutcome::Inconclusive, &["LAYER_WITHOUT_PASS"]);
    check(&Case::with(Gate::Static, |c| c.findings = None), GateOutcome::Inconclusive, &["RUN_MISSING"]);
}

/// V-03.
#[test]
fn an_inconclusive_finding_beside_passes_keeps_the_gate_shut() {
    let decision = Case::with(Gate::Conformance, |c| {
        c.findings.as_mut().unwrap().push(finding(Layer::Schema, Inconclusive, Some(profile())));
    });
    check(&decision, GateOutcome::Inconclusive, &["OBSERVER_MISSING"]);
}

#[test]
fn a_fail_bound_to_no_profile_fails_and_all_reasons_are_told() {
    let decision = Case::with(Gate::Conformance, |c| {
        let findings = c.findings.as_mut().unwrap();
        findings.push(finding(Layer::Schema, Fail, None));
        findings.push(finding(Layer::Protocol, Fail, Some(profile())));
    });
    check(&decision, GateOutcome::Fail, &["TERMINAL_STATE_REOPENED"]);
    assert_eq!(decision.reasons.len(), 2);
    assert_eq!(decision.profiles_failed, [profile()]);
}

#[test]
fn a_fail_in_a_profile_that_is_not_activated_is_listed_and_does_not_fail() {
    let decision = Case::with(Gate::Conformance, |c| {
        c.findings.as_mut().unwrap().push(finding(Layer::Protocol, Fail, Some(other_profile())));
    });
    check(&decision, GateOutcome::Pass, &[]);
    assert_eq!((decision.profiles_passed, decision.profiles_failed), (vec![profile()], vec![other_profile()]));
}

/// Z-05, V-08: what was tried with one privilege level holds for no other.
#[test]
fn a_pass_of_another_profile_does_not_stand_in() {
    let decision = Case::with(Gate::Security, |c| {
        only(&mut c.findings, Layer::Authorization, vec![finding(Layer::Authorization, Pass, Some(other_profile()))]);
    });
    check(&decision, GateOutcome::Inconclusive, &["LAYER_WITHOUT_PASS"]);
    let unbound = Case::with(Gate::Security, |c| {
        only(&mut c.findings, Layer::Authorization, vec![finding(Layer::Authorization, Pass, None)]);
    });
    check(&unbound, GateOutcome::Inconclusive, &["LAYER_WITHOUT_PASS"]);
}

/// Behaviour is not asked for by policy 1; a lie about it that was seen fails all the same, what could not be told does not.
#[test]
fn a_layer_that_nobody_asked_for_can_fail_and_cannot_hold_up() {
    let beside = |outcome| {
        Case::with(Gate::Security, |c| {
            only(&mut c.findings, Layer::Behavior, vec![finding(Layer::Behavior, outcome, Some(profile()))]);
        })
    };
    check(&beside(Fail), GateOutcome::Fail, &["TERMINAL_STATE_REOPENED"]);
    check(&beside(Inconclusive), GateOutcome::Pass, &[]);
}

#[test]
fn a_warning_neither_fails_nor_passes_a_layer() {
    let warning = |outcome| Finding { severity: Severity::Warning, ..finding(Layer::Schema, outcome, Some(profile())) };
    let beside = Case::with(Gate::Conformance, |c| c.findings.as_mut().unwrap().push(warning(Fail)));
    check(&beside, GateOutcome::Pass, &[]);
    let alone = Case::with(Gate::Conformance, |c| only(&mut c.findings, Layer::Schema, vec![warning(Pass)]));
    check(&alone, GateOutcome::Inconclusive, &["LAYER_WITHOUT_PASS"]);
}

#[test]
fn a_required_check_that_was_not_run_keeps_the_gate_shut() {
    let decision = Case::with(Gate::Static, |c| {
        let rule = c.policy.gates.get_mut(&Gate::Static).unwrap();
        rule.checks.push(ostiary_record::CheckId("a2a.card.required_fields".into()));
    });
    check(&decision, GateOutcome::Inconclusive, &["CHECK_NOT_RUN"]);
}

/// P-04.
#[test]
fn what_was_measured_must_be_what_the_evidence_names() {
    let decision = Case::with(Gate::Conformance, |c| c.subject = subject("2.0.0"));
    check(&decision, GateOutcome::Fail, &["SUBJECT_CHANGED"]);
}

#[test]
fn a_gate_out_of_order_is_blocked() {
    let decision = Case::with(Gate::Security, |c| c.version.state = State::Draft);
    check(&decision, GateOutcome::Blocked, &["GATE_OUT_OF_ORDER"]);
}

#[test]
fn a_gate_that_the_policy_does_not_know_never_opens() {
    let decision = Case::with(Gate::Security, |c| drop(c.policy.gates.remove(&Gate::Security)));
    check(&decision, GateOutcome::Inconclusive, &["GATE_NOT_IN_POLICY"]);
}

#[test]
fn no_activated_profile_opens_no_gate() {
    for gate in Gate::ALL {
        let decision = Case::with(gate, |c| c.version.activated.clear());
        assert!(decision.reasons.contains(&GateReason::NoProfileActivated), "{gate}");
        assert_ne!(decision.outcome, GateOutcome::Pass, "{gate}");
    }
}

/// L-02, L-05: admission rests on whole, unexpired evidence about these digests under this policy.
#[test]
fn admission_wants_every_earlier_gate_for_these_digests_and_this_policy() {
    let admission = |change: fn(&mut Vec<EvidenceRecord>)| Case::with(Gate::Admission, |c| change(&mut c.evidence));
    check(&admission(|e| drop(e.remove(1))), GateOutcome::Inconclusive, &["EVIDENCE_MISSING"]);
    check(&admission(|e| e[1].subject = subject("2.0.0")), GateOutcome::Inconclusive, &["EVIDENCE_MISSING"]);
    check(&admission(|e| e[1].policy = Digest::of(b"old")), GateOutcome::Inconclusive, &["EVIDENCE_MISSING"]);
    check(&admission(|e| e[1].standing = Standing::Kept), GateOutcome::Inconclusive, &["EVIDENCE_MISSING"]);
    check(&admission(|e| e[1].expires_at = hour(1)), GateOutcome::Inconclusive, &["EVIDENCE_EXPIRED"]);
    check(&admission(|e| e[1].outcome = Fail), GateOutcome::Fail, &["EVIDENCE_FAILED"]);
    check(&admission(|e| e[1].profiles_passed.clear()), GateOutcome::Inconclusive, &["PROFILE_NOT_VERIFIED"]);
    let other_try = admission(|e| e[1].version.attempt = e[1].version.attempt.next());
    check(&other_try, GateOutcome::Inconclusive, &["EVIDENCE_MISSING"]);
}

#[test]
fn the_newest_telling_result_of_a_gate_counts() {
    let newer = |outcome| {
        let mut record = Case::honest(Gate::Admission).evidence.remove(1);
        (record.outcome, record.recorded) = (outcome, Revision(9));
        record
    };
    let failed = Case::with(Gate::Admission, |c| c.evidence.push(newer(Fail)));
    check(&failed, GateOutcome::Fail, &["EVIDENCE_FAILED"]);
    let untold = Case::with(Gate::Admission, |c| c.evidence.push(newer(Inconclusive)));
    check(&untold, GateOutcome::Pass, &[]);
}

/// L-02: admission fetches the card live.
#[test]
fn admission_looks_at_the_card_that_is_served_now() {
    let card = |live| Case::with(Gate::Admission, |c| c.live_card = live);
    check(&card(None), GateOutcome::Inconclusive, &["CARD_NOT_FETCHED"]);
    let (digest, other) = (subject("1.0.0").card, Digest::of(b"other"));
    check(&card(Some(LiveCard { digest, fetched_at: hour(0) })), GateOutcome::Inconclusive, &["CARD_NOT_FETCHED"]);
    check(&card(Some(LiveCard { digest, fetched_at: hour(2) })), GateOutcome::Inconclusive, &["CARD_NOT_FETCHED"]);
    check(&card(Some(LiveCard { digest: other, fetched_at: hour(1) })), GateOutcome::Fail, &["CARD_DIGEST_MISMATCH"]);
}

#[test]
fn a_promotion_wants_a_fresh_run_of_its_own() {
    for gate in [Gate::Canary, Gate::Active] {
        check(&Case::with(gate, |c| c.verified_at = hour(-1)), GateOutcome::Inconclusive, &["RUN_STALE"]);
        check(&Case::with(gate, |c| c.verified_at = hour(2)), GateOutcome::Inconclusive, &["RUN_STALE"]);
        check(&Case::with(gate, |c| c.started = Revision(4)), GateOutcome::Inconclusive, &["RUN_TOO_EARLY"]);
    }
}

/// L-10: a hold stays in the way of a promotion until a person lifts it.
#[test]
fn a_hold_blocks_a_promotion() {
    check(&Case::with(Gate::Active, |c| c.held(HoldKind::CanaryStopped)), GateOutcome::Blocked, &["HELD"]);
    check(&Case::with(Gate::Canary, |c| c.held(HoldKind::RouteDisabled)), GateOutcome::Blocked, &["HELD"]);
}

#[test]
fn an_expired_authorization_blocks_a_promotion() {
    let expired = Case::with(Gate::Active, |c| {
        if let State::Canary { admitted, .. } = &mut c.version.state {
            admitted.authorization.expires_at = hour(1);
        }
    });
    check(&expired, GateOutcome::Blocked, &["AUTHORIZATION_EXPIRED"]);
}

fn release(change: impl FnOnce(&mut Case)) -> GateDecision {
    Case::with(Gate::Canary, |c| {
        c.version.state = states("1.0.0").swap_remove(7);
        c.evidence.iter_mut().for_each(|e| (e.run_started, e.recorded) = (Revision(6), Revision(7)));
        change(c);
    })
}

#[test]
fn a_release_wants_an_approval_and_runs_that_follow_the_quarantine() {
    let operator = Actor::person("ops@acme");
    check(&release(|c| c.approved(Edge::Release, operator.clone())), GateOutcome::Pass, &[]);
    check(&release(|_| ()), GateOutcome::Blocked, &["APPROVAL_MISSING"]);
    let early = release(|c| {
        c.approved(Edge::Release, operator.clone());
        c.started = Revision(4);
    });
    check(&early, GateOutcome::Inconclusive, &["RUN_TOO_EARLY"]);
    let old_evidence = release(|c| {
        c.approved(Edge::Release, operator.clone());
        c.evidence[2].run_started = Revision(4);
    });
    check(&old_evidence, GateOutcome::Inconclusive, &["EVIDENCE_MISSING"]);
}

#[test]
fn approvals_that_do_not_count() {
    let operator = Actor::person("ops@acme");
    type Spoil = fn(&mut Approval);
    let not_counted: [(&str, Spoil); 6] = [
        ("the submitter's own", |a| a.actor = publisher()),
        ("a machine's", |a| a.actor = judge()),
        ("for another manifest", |a| a.manifest = Digest::of(b"other")),
        ("under another policy", |a| a.policy = Digest::of(b"other")),
        ("expired", |a| a.expires_at = hour(1)),
        ("from before the quarantine", |a| a.at = moment(0, 5)),
    ];
    for (name, spoil) in not_counted {
        let decision = release(|c| {
            c.approved(Edge::Release, operator.clone());
            spoil(&mut c.approvals[0]);
        });
        assert_eq!(decision.outcome, GateOutcome::Blocked, "{name}");
    }
}

#[test]
fn one_person_who_approves_twice_is_one_person() {
    let decision = release(|c| {
        c.policy.approvals.insert(Edge::Release, 2);
        let digest = c.policy.digest();
        c.evidence.iter_mut().for_each(|e| e.policy = digest);
        c.approved(Edge::Release, Actor::person("ops@acme"));
        c.approved(Edge::Release, Actor::person("ops@acme"));
    });
    check(&decision, GateOutcome::Blocked, &["APPROVAL_MISSING"]);
}

proptest::proptest! {
    /// The judge is monotone in bad evidence: no further FAIL or INCONCLUSIVE ever opens a gate or improves its outcome.
    #[test]
    fn bad_evidence_never_helps(gate in 0..6_usize, layer in 0..6_usize, failed: bool, bound in 0..3_u8, drop_one in 0..8_usize) {
        let gate = Gate::ALL[gate];
        let mut case = Case::honest(gate);
        let findings = case.findings.as_mut().unwrap();
        if drop_one < findings.len() {
            findings.remove(drop_one);
        }
        let before = case.judge();
        let profile = [None, Some(profile()), Some(other_profile())][usize::from(bound)].clone();
        let bad = finding(Layer::ALL[layer], if failed { Fail } else { Inconclusive }, profile);
        case.findings.as_mut().unwrap().push(bad);
        let after = case.judge();
        proptest::prop_assert!(after.outcome >= before.outcome);
        proptest::prop_assert!(after.profiles_passed.iter().all(|p| before.profiles_passed.contains(p)));
    }
}
