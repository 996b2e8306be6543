//! Judging: verdicts by layer, profile and gate, and what can never become a PASS.

use std::collections::{BTreeMap, BTreeSet};

use ostiary_contract::Bundle;
use ostiary_record::{
    Axes, EventRef, Finding, Gate, Layer, Outcome, ReasonCode, Report, Run, Seq, Severity, Strength, Verdict,
    ports::{BoxFuture, CouldNotRun},
};
use ostiary_verify::{
    Check, CheckSpec, Control, Harness, JudgeOptions, PlanInput, Reads, Role, Scenario, ScenarioSpec, Stage, judge,
    judge_check,
};

use crate::support::{
    Answer, OK, PROFILE, ask, ask_as, bundle, declared, outbound, request, run, says, spec, wants_200, world,
};

/// A harness of two live layers besides the declaration; `more` are further checks.
fn harness(more: Vec<Box<dyn Check>>) -> Harness {
    let mut checks = vec![
        declared(),
        wants_200("t.schema", Layer::Schema, Reads::Each(&["s.one"])),
        wants_200("t.protocol", Layer::Protocol, Reads::Each(&["s.one"])),
        wants_200("t.authorization", Layer::Authorization, Reads::Each(&["s.one"])),
    ];
    checks.extend(more);
    Harness::of(vec![ask("s.one", |_| {})], checks)
}

fn judged(harness: &Harness, bundle: &Bundle, answer: Answer) -> (Run, Report) {
    let run = run(harness, &request(bundle), &world(move |_, _| answer.clone()).ports);
    let report = judge(harness, &run, bundle, &JudgeOptions::default());
    (run, report)
}

fn layers(report: &Report) -> String {
    let text = |o: &Option<Outcome>| o.map_or("null", Outcome::as_str);
    let all: Vec<String> = report.layers.iter().map(|(l, o)| format!("{l}={}", text(o))).collect();
    all.join(" ")
}

fn of<'r>(report: &'r Report, check: &str) -> &'r Finding {
    &report.findings.iter().find(|f| f.finding.check.0 == check).unwrap().finding
}

fn reason(finding: &Finding) -> Option<ReasonCode> {
    finding.verdict.reason()
}

#[test]
fn an_honest_candidate_passes_and_what_was_not_asked_is_null() {
    let bundle = bundle(&[]);
    let (_, report) = judged(&harness(Vec::new()), &bundle, OK);
    assert_eq!(report.verdict, Outcome::Pass);
    assert_eq!(
        layers(&report),
        "declaration=PASS schema=PASS protocol=PASS authorization=PASS behavior=null temporal=null"
    );
    assert_eq!(report.profiles_passed.len(), 1);
    assert_eq!(report.profiles_passed[0].to_string(), PROFILE);
    assert!(report.evaluation_eligible);
    assert_eq!(report.counts.pass, 4);
    assert_eq!(report.bundle_digest, Some(bundle.digest.to_string()));
    assert!(report.card_digest.is_some());
}

#[test]
fn the_same_run_gives_the_same_report_byte_for_byte() {
    let bundle = bundle(&[]);
    let harness = harness(Vec::new());
    let (run, report) = judged(&harness, &bundle, Answer::Whole(500, Vec::new(), ""));
    let stored: Run = serde_json::from_slice(&serde_json::to_vec(&run).unwrap()).unwrap();
    let again = judge(&harness, &stored, &bundle, &JudgeOptions::default());
    assert_eq!(serde_json::to_vec(&report).unwrap(), serde_json::to_vec(&again).unwrap());
    assert_eq!(report.verdict, Outcome::Fail);
}

#[test]
fn a_failure_names_layer_gate_profile_and_evidence() {
    let bundle = bundle(&[]);
    let (run, report) = judged(&harness(Vec::new()), &bundle, Answer::Whole(418, Vec::new(), ""));
    let line = report.findings.iter().find(|f| f.finding.check.0 == "t.protocol").unwrap();
    assert_eq!((line.gate, line.reason_code), (Gate::Conformance, Some(ReasonCode::ErrorNotRefused)));
    assert_eq!(line.finding.profile.as_ref().unwrap().to_string(), PROFILE);
    let Verdict::Fail { at, observed, strength, .. } = &line.finding.verdict else { panic!("no FAIL") };
    assert_eq!((observed.as_str(), *strength), ("Some(418)", Strength::Proven));
    let cited = &run.recordings[at.first().recording as usize];
    assert_eq!(cited.scenario.0, "s.one");
    assert_eq!(report.profiles_failed.len(), 1);
    assert!(report.profiles_passed.is_empty() && !report.evaluation_eligible);
    assert_eq!(report.counts.schema_violations, 1);
}

#[test]
fn a_pass_that_cites_what_does_not_exist_is_a_fault_of_the_harness() {
    let bundle = bundle(&[]);
    let nowhere = EventRef { recording: 1, seq: Seq(9_999) };
    let liar =
        says(spec("t.liar", Layer::Protocol, Reads::Each(&["s.one"])), move |f| vec![f.pass(vec![nowhere.clone()])]);
    let (_, report) = judged(&harness(vec![liar]), &bundle, OK);
    assert_eq!(reason(of(&report, "t.liar")), Some(ReasonCode::HarnessFault));
    assert_eq!(report.verdict, Outcome::Inconclusive);
}

#[test]
fn a_check_that_says_nothing_or_breaks_its_own_specification_is_inconclusive() {
    let bundle = bundle(&[]);
    let reads = Reads::Each(&["s.one"]);
    let silent = says(spec("t.silent", Layer::Protocol, reads), |_| Vec::new());
    let empty = says(spec("t.empty", Layer::Protocol, reads), |f| vec![f.pass(Vec::new())]);
    let layer = says(spec("t.layer", Layer::Protocol, reads), |f| {
        let seen = f.exchanges().iter().flat_map(|(t, x)| t.cite_exchange(x)).collect();
        vec![Finding { layer: Layer::Temporal, ..f.pass(seen) }]
    });
    let code = says(spec("t.code", Layer::Protocol, reads), |f| {
        let at = f.exchanges().iter().flat_map(|(t, x)| t.cite_exchange(x)).collect();
        vec![f.fail(ReasonCode::DeadlineMissed, at, "a", "b")]
    });
    let graver = says(CheckSpec { severity: Severity::Warning, ..spec("t.graver", Layer::Protocol, reads) }, |f| {
        let at = f.exchanges().iter().flat_map(|(t, x)| t.cite_exchange(x)).collect();
        vec![f.fail(ReasonCode::ErrorNotRefused, at, "a", "b").as_severity(Severity::Error)]
    });
    let panics = says(spec("t.panics", Layer::Protocol, reads), |_| panic!("a bug of ours"));
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (_, report) = judged(&harness(vec![silent, empty, layer, code, graver, panics]), &bundle, OK);
    std::panic::set_hook(hook);
    for check in ["t.silent", "t.layer", "t.code", "t.graver", "t.panics"] {
        assert_eq!(reason(of(&report, check)), Some(ReasonCode::HarnessFault), "{check}");
    }
    assert_eq!(reason(of(&report, "t.empty")), Some(ReasonCode::ObservationIncomplete));
    assert_eq!(report.verdict, Outcome::Inconclusive);
}

#[test]
fn a_scenario_that_was_not_driven_is_never_a_pass() {
    let bundle = bundle(&[]);
    let generous = |id, reads| says(spec(id, Layer::Protocol, reads), |f| vec![f.pass(f.discovery_event())]);
    let more =
        vec![generous("t.each", Reads::Each(&["s.one", "s.never"])), generous("t.any", Reads::Any(&["s.never"]))];
    let (_, report) = judged(&harness(more), &bundle, OK);
    assert_eq!(reason(of(&report, "t.each")), Some(ReasonCode::ScenarioNotRun));
    assert_eq!(reason(of(&report, "t.any")), Some(ReasonCode::ScenarioNotRun));
}

#[test]
fn why_a_scenario_was_not_driven_is_the_reason_of_its_checks() {
    let bundle = bundle(&[]);
    let (_, report) = judged(&harness(Vec::new()), &bundle, Answer::Whole(429, Vec::new(), ""));
    assert_eq!(reason(of(&report, "t.protocol")), Some(ReasonCode::TargetRateLimited));
    assert_eq!(report.verdict, Outcome::Inconclusive, "a rate limit is never a failure of the agent");
}

#[test]
fn a_declaration_can_exempt_what_was_not_driven() {
    let bundle = bundle(&[]);
    let exempt = says(spec("t.exempt", Layer::Protocol, Reads::Each(&["s.never"])), |f| {
        vec![f.not_applicable("agent-card.json", "/capabilities/pushNotifications")]
    });
    let (_, report) = judged(&harness(vec![exempt]), &bundle, OK);
    assert_eq!(of(&report, "t.exempt").verdict.outcome(), Outcome::NotApplicable);
    assert_eq!((report.verdict, report.counts.not_applicable), (Outcome::Pass, 1));
}

#[test]
fn everything_not_applicable_is_inconclusive() {
    let bundle = bundle(&[]);
    let exempt = says(spec("t.exempt", Layer::Protocol, Reads::Each(&["s.one"])), |f| {
        vec![f.not_applicable("agent-card.json", "/capabilities")]
    });
    let harness = Harness::of(vec![ask("s.one", |_| {})], vec![declared(), exempt]);
    let run = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    let asked = BTreeSet::from([Layer::Declaration, Layer::Protocol, Layer::Temporal]);
    let report = judge(&harness, &run, &bundle, &JudgeOptions { layers: Some(asked), ..JudgeOptions::default() });
    assert_eq!(report.layers[&Layer::Protocol], Some(Outcome::Inconclusive));
    assert_eq!(report.layers[&Layer::Temporal], Some(Outcome::Inconclusive), "no check at all is no PASS either");
    assert_eq!(report.verdict, Outcome::Inconclusive);
    assert!(report.profiles_passed.is_empty());
}

fn negative(control: Control) -> (Vec<Box<dyn Scenario>>, Box<dyn Check>) {
    let scenarios: Vec<Box<dyn Scenario>> =
        vec![ask_as("s.negative", Role::Anonymous, move |s| s.control = control), ask("s.control", |_| {})];
    let refused = says(spec("t.refused", Layer::Authorization, Reads::Each(&["s.negative"])), |f| {
        let all = f.exchanges();
        vec![f.pass(all.iter().flat_map(|(t, x)| t.cite_exchange(x)).collect())]
    });
    (scenarios, refused)
}

#[test]
fn a_refusal_without_a_working_control_proves_nothing() {
    let bundle = bundle(&[]);
    let answer = |control_works: bool| {
        move |actor: &str, _: &_| {
            let fine = actor != "anonymous" && control_works;
            if fine { OK } else { Answer::Whole(401, Vec::new(), "") }
        }
    };
    for (works, expected) in [(true, None), (false, Some(ReasonCode::ControlFailed))] {
        let (scenarios, check) = negative(Control::By("s.control"));
        let harness = Harness::of(scenarios, vec![check]);
        let run = run(&harness, &request(&bundle), &world(answer(works)).ports);
        let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
        assert_eq!(reason(of(&report, "t.refused")), expected);
    }
}

#[test]
fn a_stored_negative_whose_control_is_not_in_the_run_proves_nothing() {
    let bundle = bundle(&[]);
    let (scenarios, check) = negative(Control::By("s.control"));
    let harness = Harness::of(scenarios, Vec::new());
    let everything = Harness::of(negative(Control::NotNeeded).0, vec![negative(Control::NotNeeded).1]);
    let run = run(&everything, &request(&bundle), &world(|_, _| Answer::Whole(401, Vec::new(), "")).ports);
    let findings = judge_check(&harness, check.as_ref(), &run, &bundle, &JudgeOptions::default());
    assert_eq!(reason(&findings[0]), Some(ReasonCode::ControlFailed));
}

#[test]
fn a_control_within_the_scenario_must_have_worked() {
    let bundle = bundle(&[]);
    let (scenarios, check) = negative(Control::Within);
    let harness = Harness::of(scenarios, vec![check]);
    let run = run(&harness, &request(&bundle), &world(|_, _| Answer::Whole(401, Vec::new(), "")).ports);
    let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
    assert_eq!(reason(of(&report, "t.refused")), Some(ReasonCode::ControlFailed));
}

fn flaky(coverage: &str, failures: &'static [u64]) -> Finding {
    let bundle = bundle(&[("coverage.yaml", coverage)]);
    let harness = harness(Vec::new());
    let calls = std::sync::atomic::AtomicU64::new(0);
    let world = world(move |_, _| {
        let n = calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        if failures.contains(&n) { Answer::Whole(500, Vec::new(), "") } else { OK }
    });
    let mut request = request(&bundle);
    request.allowance.concurrency = 1;
    let run = run(&harness, &request, &world.ports);
    let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
    of(&report, "t.protocol").clone()
}

#[test]
fn what_flips_is_never_pass_by_its_last_try() {
    let strict = "coverage_policy: {}\ntolerance: { repetitions: 3 }\n";
    let finding = flaky(strict, &[0]);
    assert_eq!((finding.verdict.outcome(), reason(&finding)), (Outcome::Fail, Some(ReasonCode::Nondeterministic)));
    let Verdict::Fail { strength, .. } = finding.verdict else { panic!("no FAIL") };
    assert_eq!(strength, Strength::Repeated { k: 1, n: 3 });

    let tolerant = "coverage_policy: {}\ntolerance: { repetitions: 3, may_differ: 1 }\n";
    let finding = flaky(tolerant, &[0]);
    assert_eq!(
        (finding.verdict.outcome(), reason(&finding)),
        (Outcome::Inconclusive, Some(ReasonCode::Nondeterministic))
    );

    let unsure = "coverage_policy: {}\ntolerance: { repetitions: 5, may_differ: 1, beyond: inconclusive }\n";
    assert_eq!(flaky(unsure, &[0, 3]).verdict.outcome(), Outcome::Inconclusive);
    assert_eq!(flaky(strict, &[]).verdict.outcome(), Outcome::Pass);
}

#[test]
fn what_fails_every_time_says_how_often() {
    let finding = flaky("coverage_policy: {}\ntolerance: { repetitions: 2 }\n", &[0, 1]);
    let Verdict::Fail { reason, strength, .. } = finding.verdict else { panic!("no FAIL") };
    assert_eq!((reason, strength), (ReasonCode::ErrorNotRefused, Strength::Repeated { k: 2, n: 2 }));
}

#[test]
fn warnings_are_counted_and_change_nothing() {
    let bundle = bundle(&[]);
    let warns = says(
        CheckSpec { severity: Severity::Warning, ..spec("t.warns", Layer::Protocol, Reads::Each(&["s.one"])) },
        |f| {
            let at = f.exchanges().iter().flat_map(|(t, x)| t.cite_exchange(x)).collect();
            vec![f.fail(ReasonCode::ErrorNotRefused, at, "a", "b")]
        },
    );
    let (_, report) = judged(&harness(vec![warns]), &bundle, OK);
    assert_eq!((report.verdict, report.counts.fail, report.counts.warnings), (Outcome::Pass, 0, 1));
    assert_eq!(report.profiles_passed.len(), 1);
}

#[test]
fn a_layer_with_nothing_but_warnings_has_no_pass() {
    let bundle = bundle(&[]);
    let warns = says(
        CheckSpec { severity: Severity::Warning, ..spec("t.warns", Layer::Protocol, Reads::Each(&["s.one"])) },
        |f| vec![f.pass(f.exchanges().iter().flat_map(|(t, x)| t.cite_exchange(x)).collect())],
    );
    let harness = Harness::of(vec![ask("s.one", |_| {})], vec![declared(), warns]);
    let (_, report) = judged(&harness, &bundle, OK);
    assert_eq!(report.layers[&Layer::Protocol], Some(Outcome::Inconclusive));
}

#[test]
fn a_failure_in_a_layer_nobody_asked_for_is_not_hidden() {
    let bundle = bundle(&[]);
    let behaves = wants_200("t.behavior", Layer::Behavior, Reads::Each(&["s.bad"]));
    let mut request = request(&bundle);
    request.gate = None;
    let harness = Harness::of(vec![ask("s.bad", |_| {})], vec![declared(), behaves]);
    let run = run(&harness, &request, &world(|_, _| Answer::Whole(500, Vec::new(), "")).ports);
    let asked = BTreeSet::from([Layer::Declaration]);
    let report = judge(&harness, &run, &bundle, &JudgeOptions { layers: Some(asked), ..JudgeOptions::default() });
    assert_eq!(report.layers[&Layer::Behavior], Some(Outcome::Fail));
    assert_eq!(report.verdict, Outcome::Fail);
}

#[test]
fn a_gate_asks_for_its_own_layers_only() {
    let bundle = bundle(&[]);
    let harness = harness(Vec::new());
    let at = |gate| {
        let mut request = request(&bundle);
        request.gate = Some(gate);
        let run = run(&harness, &request, &world(|_, _| OK).ports);
        layers(&judge(&harness, &run, &bundle, &JudgeOptions::default()))
    };
    assert_eq!(
        at(Gate::Static),
        "declaration=PASS schema=null protocol=null authorization=null behavior=null temporal=null"
    );
    assert_eq!(
        at(Gate::Conformance),
        "declaration=PASS schema=PASS protocol=PASS authorization=null behavior=null temporal=null"
    );
    assert_eq!(
        at(Gate::Security),
        "declaration=PASS schema=null protocol=null authorization=PASS behavior=null temporal=null"
    );
}

#[test]
fn profiles_are_judged_apart() {
    let two = "coverage_policy: {}\nactivate: [a2a-jsonrpc-1.0, a2a-jsonrpc-1.0/agent/standard]\n";
    let bundle = bundle(&[("coverage.yaml", two)]);
    let harness = harness(Vec::new());
    let mut request = request(&bundle);
    let agent = ostiary_record::SubjectFacts {
        profile: Some("agent".to_owned()),
        tenant_class: Some("standard".to_owned()),
        ..ostiary_record::SubjectFacts::default()
    };
    request.environment.subjects.insert("workload".to_owned(), agent);
    let world = world(|actor, _| if actor == "workload" { Answer::Whole(500, Vec::new(), "") } else { OK });
    let report = judge(&harness, &run(&harness, &request, &world.ports), &bundle, &JudgeOptions::default());
    let names = |list: &[ostiary_canon::Profile]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&report.profiles_passed), [PROFILE]);
    assert_eq!(names(&report.profiles_failed), ["a2a-jsonrpc-1.0/agent/standard"]);
    assert_eq!(report.verdict, Outcome::Fail, "both are to be activated");
}

#[test]
fn the_statement_says_what_was_and_what_was_not_verified() {
    let bundle = bundle(&[]);
    let task = Answer::Whole(
        200,
        Vec::new(),
        r#"{"status": {"state": "TASK_STATE_COMPLETED"}, "mediaType": "application/json"}"#,
    );
    let (_, report) = judged(&harness(Vec::new()), &bundle, task);
    for part in [
        "Verified: provider fixture version 1.2.3 (artifact sha256:",
        "declared; model unknown, SDK unknown",
        "contract fixture-contract 1.0.0",
        "Profiles: a2a-jsonrpc-1.0.",
        "operations s.one.",
        "States: TASK_STATE_COMPLETED.",
        "Of declaration, structure, invocation and effect: declaration, structure, invocation.",
        "Of the levels declaration, implementation, meaning and operation: declaration, implementation.",
        "Not verified: effect; layer behavior (not asked for); layer temporal (not asked for)",
        "which artifact runs (its digest is declared)",
        "effects (no observer watched)",
        "conversion by consumers' SDKs",
        "images, audio and documents",
        "tasks that run longer than 1 s",
    ] {
        assert!(report.statement.contains(part), "`{part}` is missing in: {}", report.statement);
    }
    assert!(!report.statement.contains("media type application/json"), "it was seen");
}

#[test]
fn the_statement_of_a_failure_claims_no_invocation() {
    let bundle = bundle(&[]);
    let (_, report) = judged(&harness(Vec::new()), &bundle, Answer::Whole(500, Vec::new(), ""));
    assert!(report.statement.contains("Of declaration, structure, invocation and effect: declaration."));
    assert!(report.statement.contains("layer protocol (FAIL)"));
    assert!(report.statement.contains(&format!("profile {PROFILE}")));
}

#[test]
fn a_run_without_discovery_is_inconclusive() {
    let bundle = bundle(&[]);
    let harness = harness(Vec::new());
    let (mut run, _) = judged(&harness, &bundle, OK);
    run.recordings.remove(0);
    let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
    assert_eq!(reason(of(&report, "t.declared")), Some(ReasonCode::ScenarioNotRun));
    assert_ne!(report.verdict, Outcome::Pass);
}

/// Two variants, of which the second cannot be driven.
struct Half;

static HALF: ScenarioSpec = ScenarioSpec::new("s.half", "two variants");

impl Scenario for Half {
    fn spec(&self) -> &'static ScenarioSpec {
        &HALF
    }

    fn variants(&self, input: &PlanInput<'_>) -> Vec<Axes> {
        let with = |axes: &Axes, value: &str| {
            let values = BTreeMap::from([("probe".to_owned(), value.to_owned())]);
            Axes { values, ..axes.clone() }
        };
        input.each_profile().iter().flat_map(|axes| ["first", "second"].map(|v| with(axes, v))).collect()
    }

    fn drive<'s>(&'s self, stage: &'s mut Stage<'_>) -> BoxFuture<'s, Result<(), CouldNotRun>> {
        Box::pin(async move {
            if stage.axes().values["probe"] == "second" {
                return Err(CouldNotRun::Budget { calls: 0 });
            }
            let channel = stage.open(Role::Primary).await?;
            stage.exchange(channel, outbound("half", "x")).await.map(drop)
        })
    }
}

#[test]
fn a_pass_does_not_hold_for_variants_that_were_not_driven() {
    let bundle = bundle(&[]);
    let check = || wants_200("t.half", Layer::Protocol, Reads::Each(&["s.half"]));
    let harness = Harness::of(vec![Box::new(Half)], vec![declared(), check()]);
    let (_, report) = judged(&harness, &bundle, OK);
    assert_eq!(reason(of(&report, "t.half")), Some(ReasonCode::BudgetExceeded));
    let Verdict::Inconclusive { missing, .. } = &of(&report, "t.half").verdict else { panic!("a verdict") };
    assert_eq!(missing.first().what, "scenario:s.half probe=second");
    let (_, report) = judged(&harness, &bundle, Answer::Whole(500, Vec::new(), ""));
    assert_eq!(of(&report, "t.half").verdict.outcome(), Outcome::Fail, "a failure holds all the same");
}

#[test]
fn checks_that_were_named_are_asked_for_alone() {
    let bundle = bundle(&[]);
    let harness = harness(Vec::new());
    let run = run(&harness, &request(&bundle), &world(|_, _| OK).ports);
    let options = JudgeOptions { only: vec!["t.protocol".to_owned()], ..JudgeOptions::default() };
    let report = judge(&harness, &run, &bundle, &options);
    assert_eq!(report.findings.len(), 1);
    assert_eq!((report.verdict, report.evaluation_eligible), (Outcome::Pass, false));
    assert!(report.statement.contains("all checks but those asked for (t.protocol)"));
}

#[test]
fn a_stored_run_with_absurd_repetitions_is_judged_in_bounded_time() {
    let bundle = bundle(&[]);
    let harness = harness(Vec::new());
    let (mut run, _) = judged(&harness, &bundle, OK);
    run.recordings[1].axes.repetition = u32::MAX;
    let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
    assert_eq!(report.verdict, Outcome::Pass);
}

#[test]
fn adding_a_bad_recording_never_helps() {
    let bundle = bundle(&[]);
    let harness = harness(Vec::new());
    let (honest, _) = judged(&harness, &bundle, OK);
    let (lying, _) = judged(&harness, &bundle, Answer::Whole(500, Vec::new(), ""));
    for at in 1..=2 {
        for repetition in [0, 1] {
            let mut run = honest.clone();
            let mut bad = lying.recordings[1].clone();
            bad.axes.repetition = repetition;
            run.recordings.insert(at, bad);
            let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
            assert_eq!(report.verdict, Outcome::Fail, "at {at}, repetition {repetition}");
        }
    }
}

#[test]
fn the_version_of_the_harness_changes_with_its_checks() {
    let one = harness(Vec::new()).version();
    assert_eq!(one, harness(Vec::new()).version());
    let raised = CheckSpec { version: 2, ..spec("t.more", Layer::Protocol, Reads::Everything) };
    let more = |spec: CheckSpec| harness(vec![says(spec, |_| Vec::new())]).version();
    let first = more(spec("t.more", Layer::Protocol, Reads::Everything));
    assert!(first != one && more(raised) != first);
    let bundle = bundle(&[]);
    let (run, report) = judged(&harness(Vec::new()), &bundle, OK);
    assert_eq!((run.harness_version, report.harness_version), (one.clone(), one));
}
