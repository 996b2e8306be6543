//! Every example case is executed, yields its own expectation, and fails when the expectation is altered.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use ostiary_contract::Bundle;
use ostiary_record::{EnvironmentFacts, Finding, Gate, Outcome, ReasonCode, Report, Verdict, ports::Outbound};
use ostiary_verify::{Harness, JudgeOptions, judge};
use serde_json::{Value, json};

use crate::support::{Answer, bundle, environment, request, run, world};

const OUTPUT_MISMATCH: &str = include_str!("../examples/case-output-mismatch.yaml");
const REQUIRED_EXTENSION: &str = include_str!("../examples/case-required-extension.yaml");
const READONLY_CLAIM: &str = include_str!("../examples/case-readonly-claim.yaml");
const CROSS_TENANT: &str = include_str!("../examples/case-cross-tenant.yaml");
const NEGATIVES: &str = include_str!("../examples/negative-cases.yaml");
const ERRORS: &str = include_str!("../examples/errors.yaml");

/// The example tool with the output schema that the shipped bundle adds.
fn tool() -> String {
    let mut tool: Value = serde_json::from_str(include_str!("../examples/tool-work_plan_create_draft.json")).unwrap();
    tool["outputSchema"] = json!({
        "type": "object", "required": ["plan_id"], "additionalProperties": false,
        "properties": {"plan_id": {"type": "string"}, "status": {"enum": ["draft", "ready"]}}
    });
    let lookup = json!({"name": "work_plan_lookup", "description": "Looks", "inputSchema": {"type": "object"},
        "annotations": {"readOnlyHint": true}});
    json!({"tools": [tool, lookup]}).to_string()
}

/// A bundle with one case and everything that the example cases refer to.
fn with_case(case: &str) -> Bundle {
    with(&[("cases/negative/case.yaml", case)])
}

fn with(more: &[(&str, &str)]) -> Bundle {
    let contract = "contract_bundle:
  contract_id: fixture-contract
  contract_version: 1.0.0
  protocol: { a2a: \"1.0\", mcp: \"2026-07-28\", json_schema: \"2020-12\" }
  producer:
    agent_id: fixture
    artifact_digest: sha256:0000000000000000000000000000000000000000000000000000000000000001
  declarations: { agent_card: agent-card.json, mcp_tools: mcp-tools.snapshot.json }
  examples: { negative_cases: cases/negative/ }
  expected_results: { reason_codes: reason-codes.yaml }
";
    let tools = tool();
    let mut files = vec![
        ("contract.yaml", contract),
        ("mcp-tools.snapshot.json", tools.as_str()),
        ("reason-codes.yaml", "reason_codes: [TASK_NOT_ACCESSIBLE]\n"),
    ];
    if !more.iter().any(|(path, _)| path.starts_with("cases/negative")) {
        files.push(("cases/negative/nothing.yaml", OUTPUT_MISMATCH));
    }
    files.extend_from_slice(more);
    bundle(&files)
}

fn tenants() -> EnvironmentFacts {
    let mut environment = environment();
    environment.cleared_effects.push("write".to_owned());
    for subject in environment.subjects.values_mut() {
        subject.tenant = subject.tenant.as_ref().map(|t| format!("tenant-fixture-{t}"));
    }
    environment
}

/// Judges a bundle against an agent, at all gates.
fn report(bundle: &Bundle, environment: EnvironmentFacts, agent: Agent) -> Report {
    let harness = Harness::standard();
    let mut request = request(bundle);
    request.environment = environment;
    let agent = Arc::new(agent);
    let run = run(&harness, &request, &world(move |actor, out| agent.answer(actor, out)).ports);
    judge(&harness, &run, bundle, &JudgeOptions::default())
}

/// The findings of one case.
fn of_case(report: &Report, case: &str) -> Vec<Finding> {
    let mine = report.findings.iter().map(|f| &f.finding);
    mine.filter(|f| f.case.as_ref().is_some_and(|c| c.0 == case)).cloned().collect()
}

fn executed(text: &str, case: &str) -> Finding {
    let findings = of_case(&report(&with_case(text), tenants(), Agent::default()), case);
    assert_eq!(findings.len(), 1, "{case}: {findings:#?}");
    findings.into_iter().next().unwrap()
}

#[track_caller]
fn passes(finding: &Finding) {
    assert_eq!(finding.verdict.outcome(), Outcome::Pass, "{}", finding.message);
}

#[track_caller]
fn differs(finding: &Finding, member: &str) {
    assert_eq!(finding.verdict.reason(), Some(ReasonCode::CaseExpectationFailed), "{}", finding.message);
    assert!(finding.message.contains(member), "`{member}` is not in: {}", finding.message);
}

/// The text with one thing exchanged, which must be in it.
fn altered(text: &str, from: &str, to: &str) -> String {
    assert!(text.contains(from), "`{from}` is not in the case");
    text.replace(from, to)
}

/// An agent with tasks that belong to somebody.
#[derive(Default)]
struct Agent {
    tasks: Mutex<BTreeMap<String, String>>,
    /// Serves everybody every task.
    open: bool,
    /// Says of a foreign task that it is there.
    tells: bool,
    /// Shows a stack trace.
    leaks: bool,
    /// Accepts messages to tasks that are over.
    reopens: bool,
}

impl Agent {
    fn answer(&self, actor: &str, out: &Outbound) -> Answer {
        let body: Value = serde_json::from_slice(&out.body).unwrap_or_default();
        let (method, params) = (body["method"].as_str().unwrap_or_default(), &body["params"]);
        let reply = match method {
            "SendMessage" => self.send(actor, params),
            "GetTask" | "CancelTask" => self.get(actor, params["id"].as_str().unwrap_or_default()),
            _ => Err((-32601, "METHOD_NOT_FOUND", "no such method")),
        };
        let text = match reply {
            Ok(result) => json!({"jsonrpc": "2.0", "id": body["id"], "result": result}),
            Err((code, reason, message)) => {
                let mut info = json!({"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "a2a-protocol.org", "reason": reason});
                if self.leaks {
                    info["metadata"] = json!({"stack_trace": "at handler (/srv/app.js:10:3)"});
                }
                json!({"jsonrpc": "2.0", "id": body["id"], "error": {"code": code, "message": message, "data": [info]}})
            }
        };
        Answer::Whole(200, vec![("Content-Type", "application/json")], Box::leak(text.to_string().into_boxed_str()))
    }

    fn send(&self, actor: &str, params: &Value) -> Result<Value, (i64, &'static str, &'static str)> {
        if params["message"]["taskId"].is_string() && !self.reopens {
            return Err((-32004, "UNSUPPORTED_OPERATION", "the task is over"));
        }
        let mut tasks = self.tasks.lock().unwrap();
        let id = format!("00000000-0000-4000-8000-{:012}", tasks.len() + 1);
        tasks.insert(id.clone(), actor.to_owned());
        Ok(json!({"task": task(&id)}))
    }

    fn get(&self, actor: &str, id: &str) -> Result<Value, (i64, &'static str, &'static str)> {
        match self.tasks.lock().unwrap().get(id) {
            Some(owner) if owner == actor || self.open => Ok(task(id)),
            Some(_) if self.tells => Err((-32600, "FORBIDDEN", "not yours")),
            _ => Err((-32001, "TASK_NOT_FOUND", "no such task")),
        }
    }
}

fn task(id: &str) -> Value {
    json!({"id": id, "contextId": "c", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-02T03:04:05.000Z"},
        "artifacts": [{"artifactId": "a", "parts": [{"data": {"plan_id": "p-1"}, "mediaType": "application/json"}]}]})
}

#[test]
fn the_output_mismatch_is_caught_as_the_case_expects() {
    let finding = executed(OUTPUT_MISMATCH, "output-contract-mismatch");
    passes(&finding);
    assert_eq!(finding.place.file.as_deref(), Some("cases/negative/case.yaml"));
}

#[test]
fn an_altered_expectation_of_a_tool_result_fails() {
    let alterations = [
        ("result: FAIL", "result: PASS", "result"),
        ("OUTPUT_SCHEMA_VIOLATION", "CONTENT_MODE_MISMATCH", "reason_code"),
        ("plan_id_must_be_string", "plan_id_must_be_integer", "detail"),
        ("plan_id: 12345", "plan_id: \"12345\"", "result"),
        ("isError: false", "isError: true", "result"),
    ];
    for (from, to, member) in alterations {
        differs(&executed(&altered(OUTPUT_MISMATCH, from, to), "output-contract-mismatch"), member);
    }
}

#[test]
fn a_tool_result_that_cannot_be_judged_is_inconclusive() {
    let text = altered(OUTPUT_MISMATCH, "work_plan_create_draft", "work_plan_lookup");
    let finding = executed(&text, "output-contract-mismatch");
    let Verdict::Inconclusive { missing, .. } = &finding.verdict else { panic!("{}", finding.message) };
    assert_eq!(missing.first().what, "outputSchema:work_plan_lookup");
    let text = altered(OUTPUT_MISMATCH, "result: FAIL", "result: FAIL\n  state: TASK_STATE_COMPLETED");
    let finding = executed(&text, "output-contract-mismatch");
    let Verdict::Inconclusive { missing, .. } = &finding.verdict else { panic!("{}", finding.message) };
    assert_eq!(missing.first().what, "expect.state", "what cannot be seen is never taken for granted");
}

#[test]
fn a_required_extension_is_rejected_as_the_case_expects() {
    passes(&executed(REQUIRED_EXTENSION, "agent-card-required-extension"));
}

#[test]
fn an_altered_expectation_of_a_declaration_fails() {
    let alterations = [
        ("admission: REJECT", "admission: ADMIT", "admission"),
        ("REQUIRED_EXTENSION_UNSUPPORTED", "CARD_FIELD_MISSING", "reason_code"),
        ("required: true", "required: false", "admission"),
        ("consumer_extensions: []", "consumer_extensions: [urn:example:test:approval-context]", "admission"),
    ];
    for (from, to, member) in alterations {
        differs(&executed(&altered(REQUIRED_EXTENSION, from, to), "agent-card-required-extension"), member);
    }
}

#[test]
fn effects_without_observers_name_the_missing_observers() {
    let finding = executed(READONLY_CLAIM, "readonly-claim-verification");
    let Verdict::Inconclusive { reason, missing } = &finding.verdict else { panic!("{}", finding.message) };
    assert_eq!(*reason, ReasonCode::ObserverMissing);
    let names: Vec<&str> = missing.as_slice().iter().map(|m| m.what.as_str()).collect();
    assert_eq!(names, ["observer:records", "observer:egress", "observer:outbox"]);
}

#[test]
fn with_every_observer_the_missing_driver_is_named() {
    let mut environment = tenants();
    environment.observed = ["records", "egress", "outbox"].map(str::to_owned).to_vec();
    let report = report(&with_case(READONLY_CLAIM), environment, Agent::default());
    let finding = &of_case(&report, "readonly-claim-verification")[0];
    let Verdict::Inconclusive { missing, .. } = &finding.verdict else { panic!("{}", finding.message) };
    assert_eq!(missing.first().what, "driver:mcp");
}

#[test]
fn the_cross_tenant_probe_is_denied_as_the_case_expects() {
    passes(&executed(CROSS_TENANT, "cross-tenant-task-probe"));
}

#[test]
fn an_altered_expectation_of_an_access_fails() {
    let alterations = [
        ("result: DENY", "result: ALLOW", "result"),
        ("TASK_NOT_ACCESSIBLE", "TASK_NOT_FOUND_UNEXPECTED", "externally_visible_reason"),
        ("leaked_fields: []", "leaked_fields: [stack_trace]", "leaked_fields"),
        ("target_task_tenant: tenant-fixture-b", "target_task_tenant: tenant-fixture-a", "result"),
    ];
    for (from, to, member) in alterations {
        differs(&executed(&altered(CROSS_TENANT, from, to), "cross-tenant-task-probe"), member);
    }
}

#[test]
fn an_agent_that_lets_tenants_read_each_other_fails_the_probe() {
    let lies = [
        (Agent { open: true, ..Agent::default() }, "result"),
        (Agent { tells: true, ..Agent::default() }, "externally_visible_reason"),
        (Agent { leaks: true, ..Agent::default() }, "leaked_fields"),
    ];
    for (agent, member) in lies {
        let report = report(&with_case(CROSS_TENANT), tenants(), agent);
        differs(&of_case(&report, "cross-tenant-task-probe")[0], member);
        assert_eq!(report.verdict, Outcome::Fail);
    }
}

#[test]
fn an_access_without_a_subject_of_the_tenant_is_inconclusive() {
    let text = altered(CROSS_TENANT, "tenant-fixture-b", "tenant-fixture-z");
    let finding = executed(&text, "cross-tenant-task-probe");
    assert_eq!(finding.verdict.reason(), Some(ReasonCode::SubjectMissing), "{}", finding.message);
}

const ANSWER: &str = "case: refused-with-a-trace
when: { operation: a2a.send_message }
then:
  error: { code: -32004, message: no, data: [{ '@type': x, stack_trace: here }] }
expect: { result: FAIL, reason_code: ERROR_DATA_LEAK, leaked_fields: [stack_trace], protocol_error: UnsupportedOperationError }
";

#[test]
fn an_altered_expectation_of_an_answer_fails() {
    let executed = |text: &str| {
        let bundle = with(&[
            ("cases/negative/case.yaml", text),
            ("errors.yaml", ERRORS),
            ("schemas/a2a-error-data.schema.json", "{}"),
        ]);
        of_case(&report(&bundle, tenants(), Agent::default()), "refused-with-a-trace").remove(0)
    };
    passes(&executed(ANSWER));
    let alterations = [
        ("result: FAIL", "result: PASS", "result"),
        ("ERROR_DATA_LEAK", "ERROR_SHAPE_INVALID", "reason_code"),
        ("leaked_fields: [stack_trace]", "leaked_fields: []", "leaked_fields"),
        ("protocol_error: UnsupportedOperationError", "protocol_error: TaskNotFoundError", "protocol_error"),
    ];
    for (from, to, member) in alterations {
        differs(&executed(&altered(ANSWER, from, to)), member);
    }
}

const REOPENED: &str = "case: reopened
when: { operation: a2a.send_streaming_message }
then:
  stream:
    - task: { id: t, contextId: c, status: { state: TASK_STATE_WORKING } }
    - statusUpdate: { taskId: t, contextId: c, status: { state: TASK_STATE_COMPLETED } }
    - statusUpdate: { taskId: t, contextId: c, status: { state: TASK_STATE_WORKING } }
expect: { result: FAIL, reason_code: TERMINAL_STATE_REOPENED, state: TASK_STATE_WORKING }
";

#[test]
fn a_held_stream_is_judged_like_one_from_the_wire() {
    passes(&executed(REOPENED, "reopened"));
    differs(&executed(&altered(REOPENED, "TERMINAL_STATE_REOPENED", "TIMESTAMP_BACKWARDS"), "reopened"), "reason_code");
    differs(&executed(&altered(REOPENED, "result: FAIL", "result: PASS"), "reopened"), "result");
}

const CALL: &str = "case: create-draft
when: { operation: a2a.send_message, arguments: { title: x } }
expect: { result: PASS, state: TASK_STATE_COMPLETED, artifact_schema: plan.schema.json }
";
const PLAN_SCHEMA: &str =
    r#"{"type": "object", "required": ["plan_id"], "properties": {"plan_id": {"type": "string"}}}"#;

#[test]
fn an_altered_expectation_of_a_call_fails() {
    let executed = |text: &str, schema: &str| {
        let bundle = with(&[("cases/negative/case.yaml", text), ("schemas/plan.schema.json", schema)]);
        of_case(&report(&bundle, tenants(), Agent::default()), "create-draft").remove(0)
    };
    passes(&executed(CALL, PLAN_SCHEMA));
    differs(&executed(&altered(CALL, "result: PASS", "result: FAIL"), PLAN_SCHEMA), "result");
    differs(&executed(&altered(CALL, "TASK_STATE_COMPLETED", "TASK_STATE_FAILED"), PLAN_SCHEMA), "state");
    differs(&executed(CALL, &altered(PLAN_SCHEMA, "\"string\"", "\"integer\"")), "artifact_schema");
    let refused = altered(CALL, "expect: {", "expect: { protocol_error: TaskNotFoundError,");
    differs(&executed(&refused, PLAN_SCHEMA), "protocol_error");
}

#[test]
fn every_named_negative_is_executed_or_says_what_is_missing() {
    let report = report(&with_case(NEGATIVES), tenants(), Agent::default());
    let names: Value = json!([
        "invalid_json_rpc_envelope",
        "unsupported_protocol_version",
        "undeclared_streaming_request",
        "terminal_task_message_append",
        "malformed_artifact_part",
        "mcp_unknown_tool",
        "input_schema_boundary_overflow",
        "output_schema_violation",
        "cross_tenant_task_access",
        "expired_task_credential",
        "cancel_during_side_effect",
        "duplicate_idempotency_key",
        "readonly_tool_mutation",
        "required_extension_not_supported"
    ]);
    for name in names.as_array().unwrap() {
        let findings = of_case(&report, name.as_str().unwrap());
        assert_eq!(findings.len(), 1, "{name}");
    }
    for impossible in
        ["mcp_unknown_tool", "cancel_during_side_effect", "readonly_tool_mutation", "output_schema_violation"]
    {
        let finding = &of_case(&report, impossible)[0];
        assert_eq!(finding.verdict.outcome(), Outcome::Inconclusive, "{impossible}");
    }
}

#[test]
fn a_named_negative_fails_where_its_scenario_shows_the_lie() {
    let text = "negative_cases: [terminal_task_message_append]\n";
    let honest = report(&with_case(text), tenants(), Agent::default());
    passes(&of_case(&honest, "terminal_task_message_append")[0]);
    let lying = report(&with_case(text), tenants(), Agent { reopens: true, ..Agent::default() });
    let finding = &of_case(&lying, "terminal_task_message_append")[0];
    differs(finding, "TERMINAL_TASK_MESSAGE_ACCEPTED");
}

#[test]
fn cases_are_executed_at_the_gate_of_their_layer() {
    let bundle = with(&[
        ("cases/negative/a.yaml", OUTPUT_MISMATCH),
        ("cases/negative/b.yaml", REQUIRED_EXTENSION),
        ("cases/negative/c.yaml", READONLY_CLAIM),
        ("cases/negative/d.yaml", CROSS_TENANT),
    ]);
    let harness = Harness::standard();
    let at = |gate| {
        let agent = Arc::new(Agent::default());
        let mut request = request(&bundle);
        (request.gate, request.environment) = (Some(gate), tenants());
        let run = run(&harness, &request, &world(move |actor, out| agent.answer(actor, out)).ports);
        let report = judge(&harness, &run, &bundle, &JudgeOptions::default());
        let mut cases: Vec<String> = report.findings.iter().filter_map(|f| Some(f.finding.case.clone()?.0)).collect();
        cases.sort();
        cases.join(" ")
    };
    assert_eq!(at(Gate::Static), "agent-card-required-extension");
    assert_eq!(at(Gate::Conformance), "agent-card-required-extension output-contract-mismatch");
    assert_eq!(at(Gate::Security), "agent-card-required-extension cross-tenant-task-probe readonly-claim-verification");
}

#[test]
fn one_case_alone_can_be_asked_for() {
    let bundle = with(&[("cases/negative/a.yaml", OUTPUT_MISMATCH), ("cases/negative/d.yaml", CROSS_TENANT)]);
    let harness = Harness::standard();
    let agent = Arc::new(Agent::default());
    let mut request = request(&bundle);
    request.only = vec!["cross-tenant-task-probe".to_owned()];
    request.environment = tenants();
    let run = run(&harness, &request, &world(move |actor, out| agent.answer(actor, out)).ports);
    let driven: Vec<&str> = run.recordings.iter().map(|r| r.scenario.0.as_str()).collect();
    assert_eq!(driven, ["discover", "case.access"]);
    let options = JudgeOptions { only: request.only.clone(), ..JudgeOptions::default() };
    let report = judge(&harness, &run, &bundle, &options);
    assert!(of_case(&report, "output-contract-mismatch").is_empty());
    passes(&of_case(&report, "cross-tenant-task-probe")[0]);
}
