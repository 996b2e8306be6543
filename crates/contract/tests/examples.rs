//! The files that users already have load unchanged.

use std::{collections::BTreeMap, fs, path::PathBuf};

use bytes::Bytes;
use ostiary_contract::{
    Bundle, CaseKind, CaseSet, Code, Files, Probe,
    decode::{Decode, from_yaml},
    file::{
        case::{CaseFile, ExpectedResult},
        coverage::CoverageFile,
        drift::DriftFile,
        error::ErrorsFile,
        evidence::EvidenceSummary,
        invariants::{InvariantsFile, KNOWN},
        machine::MachineFile,
        skill::SkillsFile,
        temporal::TemporalFile,
        tools::Tool,
    },
};

fn example(name: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/examples").join(name);
    fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn load<T: Decode>(name: &str) -> T {
    from_yaml(name, &example(name)).unwrap_or_else(|problems| panic!("{problems}"))
}

const CARD: &str = r#"{
  "name": "planning", "description": "plans", "version": "3.4.1",
  "supportedInterfaces": [{"url": "https://planning.example.test/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
  "capabilities": {"streaming": true}, "defaultInputModes": ["application/json"], "defaultOutputModes": ["application/json"],
  "skills": [{"id": "work-planning", "name": "Work planning", "description": "Plans work.", "tags": ["plan"]}]
}"#;

const LOOKUP: &str =
    r#"{"name":"work_plan_lookup","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}"#;

/// The examples at their places, with the few files that they refer to.
fn example_bundle() -> Files {
    let at = |path: &str, name: &str| (path.to_owned(), Bytes::from(example(name)));
    let own = |path: &str, text: &str| (path.to_owned(), Bytes::from(text.to_owned()));
    let tool = String::from_utf8(example("tool-work_plan_create_draft.json")).expect("UTF-8");
    BTreeMap::from([
        at("contract.yaml", "contract.yaml"),
        at("a2a-task-machine.yaml", "a2a-task-machine.yaml"),
        at("behavior-invariants.yaml", "behavior-invariants.yaml"),
        at("skills.yaml", "skills.yaml"),
        at("errors.yaml", "errors.yaml"),
        at("temporal.yaml", "temporal.yaml"),
        at("coverage.yaml", "coverage.yaml"),
        at("drift.yaml", "drift.yaml"),
        at("cases/negative/cross-tenant.yaml", "case-cross-tenant.yaml"),
        at("cases/negative/output-mismatch.yaml", "case-output-mismatch.yaml"),
        at("cases/positive/readonly-claim.yaml", "case-readonly-claim.yaml"),
        at("cases/negative/required-extension.yaml", "case-required-extension.yaml"),
        at("cases/negative/standard.yaml", "negative-cases.yaml"),
        own("mcp-tools.snapshot.json", &format!("{{\"tools\":[{tool},{LOOKUP}]}}")),
        own("agent-card.json", CARD),
        own("reason-codes.yaml", "reason_codes: [OUTPUT_SCHEMA_VIOLATION, REQUIRED_EXTENSION_UNSUPPORTED]\n"),
        own("fixtures/work-request-valid.json", "{}"),
        own("schemas/work-plan.schema.json", r#"{"type":"object"}"#),
        own("schemas/a2a-error-data.schema.json", r#"{"type":"array"}"#),
    ])
}

#[test]
fn every_example_file_loads_by_its_kind() {
    assert_eq!(load::<InvariantsFile>("behavior-invariants.yaml").invariants.len(), KNOWN.len());
    assert_eq!(load::<MachineFile>("a2a-task-machine.yaml").task_machine.terminal.len(), 4);
    assert_eq!(load::<SkillsFile>("skills.yaml").skill_contract[0].skill_id.as_str(), "work-planning");
    assert_eq!(load::<ErrorsFile>("errors.yaml").error_contract[0].sensitive_fields_forbidden.len(), 3);
    assert_eq!(load::<TemporalFile>("temporal.yaml").temporal_contract.duplicate_event_window, Some(10));
    assert!(load::<CoverageFile>("coverage.yaml").coverage_policy.is_some());
    assert!(load::<DriftFile>("drift.yaml").drift_policy.unknown_error_code_rate.is_some());
    assert_eq!(load::<EvidenceSummary>("evidence.json").profiles_passed, ["a2a-jsonrpc-1.0", "mcp-2026-07-28"]);
    let CaseFile::Negatives(names) = load("negative-cases.yaml") else { panic!("not a list of negatives") };
    assert_eq!(names.negative_cases.len(), 14);
    let tool = serde_json::from_slice(&example("tool-work_plan_create_draft.json")).expect("JSON");
    assert_eq!(Tool::list(&tool).expect("one tool")[0].name, "work_plan_create_draft");
}

#[test]
fn the_examples_form_a_bundle_and_their_cases_are_told_apart() {
    let bundle = Bundle::load(&example_bundle()).unwrap_or_else(|problems| panic!("{problems}"));
    let kind = |id: &str| &bundle.cases.iter().find(|c| c.id == id).unwrap_or_else(|| panic!("no case {id}")).kind;
    let CaseKind::Judge(judge) = kind("output-contract-mismatch") else { panic!("no judge case") };
    assert_eq!(judge.expect.result, Some(ExpectedResult::Fail));
    assert_eq!(judge.expect.detail.as_deref(), Some("plan_id_must_be_string"));
    assert_eq!(judge.when.tool_name().map(|t| t.as_str()), Some("work_plan_create_draft"));
    assert_eq!(judge.observed.tool_result().expect("a result")["structuredContent"]["plan_id"], 12345);
    let probe = |id: &str| match kind(id) {
        CaseKind::Live(live) => live.probe.clone(),
        other => panic!("{id} is no live case: {other:?}"),
    };
    assert!(matches!(probe("cross-tenant-task-probe"), Probe::Access { .. }));
    assert!(matches!(probe("readonly-claim-verification"), Probe::Call(_)));
    assert_eq!(probe("agent-card-required-extension"), Probe::Declaration);
    let negatives = bundle.cases.iter().filter(|c| matches!(c.kind, CaseKind::Negative(_))).count();
    assert_eq!((negatives, bundle.cases.len()), (14, 18));
    assert!(bundle.cases.iter().all(|c| c.set != CaseSet::Regression));
}

#[test]
fn a_placeholder_digest_loads_and_is_no_pin() {
    let bundle = Bundle::load(&example_bundle()).unwrap_or_else(|problems| panic!("{problems}"));
    let pins: Vec<String> = bundle.pins().into_iter().map(|p| p.what).collect();
    assert_eq!(pins, ["producer.artifact_digest"]);
    let mut files = example_bundle();
    let text = String::from_utf8(example("contract.yaml")).expect("UTF-8");
    let digest = format!("sha256:{}", "ab".repeat(32));
    let pinned = text.replace("sha256:fixture-producer-digest", &digest);
    files.insert("contract.yaml".into(), Bytes::from(pinned.clone()));
    assert_eq!(Bundle::load(&files).expect("pinned").pins(), []);
    let zeros = pinned.replace(&digest, &format!("sha256:{}", "0".repeat(64)));
    files.insert("contract.yaml".into(), Bytes::from(zeros));
    let pins: Vec<String> = Bundle::load(&files).expect("loads").pins().into_iter().map(|p| p.what).collect();
    assert_eq!(pins, ["producer.artifact_digest"], "a digest that nobody computed");
    let draft = pinned.replace("\"2020-12\"", "draft-07");
    files.insert("contract.yaml".into(), Bytes::from(draft));
    assert_eq!(Bundle::load(&files).expect("an older dialect").pins(), []);
    let unpinned = pinned.replace("3.4.0", "latest").replace("\"1.0\"", "latest").replace(&digest, "\"\"");
    files.insert("contract.yaml".into(), Bytes::from(unpinned));
    let pins: Vec<String> = Bundle::load(&files).expect("loads").pins().into_iter().map(|p| p.what).collect();
    assert_eq!(pins, ["contract_version", "producer.artifact_digest", "protocol.a2a"]);
}

#[test]
fn a_case_that_expects_nothing_or_runs_nothing_is_refused() {
    let mut files = example_bundle();
    let mut codes = |text: &str| {
        files.insert("cases/negative/x.yaml".into(), Bytes::from(text.to_owned()));
        let problems = Bundle::load(&files).expect_err("refused").0;
        problems.into_iter().map(|p| (p.code, p.file)).collect::<Vec<_>>()
    };
    let at = |code| vec![(code, "cases/negative/x.yaml".to_owned())];
    assert_eq!(codes("case: x\nwhen: {tool: work_plan_lookup}\n"), at(Code::MissingKey));
    assert_eq!(codes("case: x\nexpect: {result: PASS}\n"), at(Code::MissingKey));
    assert_eq!(codes("case: x\nwhen: {tool: nope}\nexpect: {result: PASS}\n"), at(Code::ToolUnknown));
    assert_eq!(
        codes("case: x\nwhen: {tool: work_plan_lookup}\nexpect: {result: FAIL, reason_code: NO_SUCH}\n"),
        at(Code::ReasonUnknown)
    );
    assert_eq!(
        codes("case: cross-tenant-task-probe\nwhen: {tool: work_plan_lookup}\nexpect: {result: PASS}\n"),
        at(Code::DuplicateId)
    );
}

#[test]
fn a_producer_that_speaks_mcp_only_needs_no_card() {
    let tool = String::from_utf8(example("tool-work_plan_create_draft.json")).expect("UTF-8");
    let path = "mcp/plan-store/harness.user.standard.snapshot.json";
    let contract = format!(
        "contract_bundle:\n  contract_id: c\n  contract_version: 1.0.0\n  protocol: {{mcp: \"2026-07-28\", json_schema: \
         \"2020-12\"}}\n  producer: {{agent_id: store, artifact_digest: \"sha256:{}\"}}\n  declarations:\n    mcp_tools:\n      \
         - {{server: plans, profile: harness.user.standard, path: {path}, artifact_digest: latest}}\n",
        "ab".repeat(32)
    );
    let undeclared = "mcp/files/harness.agent.standard.snapshot.json";
    let files = Files::from([
        ("contract.yaml".to_owned(), Bytes::from(contract)),
        (path.to_owned(), Bytes::from(tool)),
        (undeclared.to_owned(), Bytes::from(format!("{{\"result\":{{\"tools\":[{LOOKUP}]}}}}"))),
    ]);
    let bundle = Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(bundle.card.is_none());
    let servers: Vec<(&str, Option<&str>)> =
        bundle.tools.iter().map(|s| (s.server.as_str(), s.profile.as_deref())).collect();
    assert_eq!(servers, [("files", Some("harness.agent.standard")), ("plans", Some("harness.user.standard"))]);
    let pins: Vec<String> = bundle.pins().into_iter().map(|p| p.what).collect();
    assert_eq!(pins, ["declarations.mcp_tools[plans].artifact_digest"]);
}

#[test]
fn a_public_agent_says_so_at_the_root_or_under_its_key() {
    let mut files = example_bundle();
    for text in ["public: true\n", "authorization: { public: true }\n"] {
        files.insert("authorization.yaml".into(), Bytes::from(text));
        let bundle = Bundle::load(&files).unwrap_or_else(|problems| panic!("{problems}"));
        assert!(bundle.authorization.is_some_and(|policy| policy.public));
    }
    assert!(Bundle::load(&example_bundle()).is_ok_and(|bundle| bundle.authorization.is_none()));
}
