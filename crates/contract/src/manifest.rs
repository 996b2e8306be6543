//! The capability manifest (B-06): what a bundle says a producer can do, capability by capability, with what a run adds.
//!
//! What nobody knows is written as `unknown`, never left out: a reader must see the gap.

use ostiary_canon::{Digest, json};
use serde_json::{Map, Value, json as object};

use crate::{
    Bundle, Case, CaseKind, CaseSet, Environment,
    file::{
        operations::{Approval, Risk},
        tools::{Tool, ToolSnapshot},
    },
};

/// The format that manifests carry.
pub const FORMAT: &str = "ostiary.capability-manifest/1";

const UNKNOWN: &str = "unknown";

/// What is derivable from a bundle; `environment` and `result` come from a run, where there was one: `result` is where its
/// report can be found.
#[must_use]
pub fn manifest(bundle: &Bundle, environment: Option<&Environment>, result: Option<&str>) -> Value {
    let contract = &bundle.contract;
    let skills = card_skills(bundle).into_iter().map(|skill| of_skill(bundle, skill));
    let tools = bundle.tools.iter().flat_map(|s| s.tools.iter().map(move |t| of_tool(bundle, s, t)));
    object!({
        "format": FORMAT,
        "contract": {
            "id": contract.contract_id,
            "version": contract.contract_version,
            "digest": bundle.digest,
        },
        "producer": contract.producer,
        "protocol_versions": contract.protocol,
        "capabilities": skills.chain(tools).collect::<Vec<Value>>(),
        "consumer_expectations": consumer_expectations(bundle),
        "provider_checks": provider_checks(bundle),
        "mechanical_invariants": bundle.invariants,
        "quality_evaluation": UNKNOWN,
        "verification_environment": environment.map_or_else(|| UNKNOWN.into(), of_environment),
        "result_locator": result.unwrap_or(UNKNOWN),
    })
}

fn card_skills(bundle: &Bundle) -> Vec<&Value> {
    let skills = bundle.card.as_ref().and_then(|c| c.value.get("skills")).and_then(Value::as_array);
    skills.into_iter().flatten().collect()
}

fn of_skill(bundle: &Bundle, skill: &Value) -> Value {
    let id = skill.get("id").and_then(Value::as_str).unwrap_or_default();
    let card = bundle.card.as_ref().map(|c| &c.value);
    let contract = bundle.skill(id);
    let schemas: Vec<Value> = contract
        .into_iter()
        .flat_map(|c| &c.examples)
        .map(|e| object!({"example": e.name, "input": e.input_fixture, "artifact_schema": schema_of(bundle, e)}))
        .collect();
    let matches = |case: &Case| case_skill(case) == Some(id);
    object!({
        "capability_id": format!("skill:{id}"),
        "declaration_hash": card.and_then(|c| ostiary_protocol::a2a::digest::card_digest(c).ok()).map_or_else(unknown, digest),
        "target_interface": card.and_then(|c| c.get("supportedInterfaces")).cloned().unwrap_or_else(unknown),
        "protocol_version": pinned(bundle.contract.protocol.a2a.as_ref()),
        "schemas": or_unknown(schemas),
        "authorization_conditions": authorization(bundle),
        "external_effects": effects(bundle, id),
        "forbidden_effects": contract.map_or_else(unknown, |c| object!(c.forbidden)),
        "cases": cases(bundle, &matches),
        "state_transitions": bundle.machine.as_ref().map_or_else(unknown, |m| object!(m)),
        "expected_readback": readback(bundle, id),
    })
}

fn of_tool(bundle: &Bundle, snapshot: &ToolSnapshot, tool: &Tool) -> Value {
    let matches = |case: &Case| case_tool(case) == Some(tool.name.as_str());
    object!({
        "capability_id": format!("tool:{}/{}", snapshot.server, tool.name),
        "declaration_hash": json::digest(&tool.value).ok().map_or_else(unknown, digest),
        "target_interface": { "server": snapshot.server, "profile": snapshot.profile.as_deref().unwrap_or("default") },
        "protocol_version": pinned(bundle.contract.protocol.mcp.as_ref()),
        "schemas": { "input": tool.input_schema, "output": tool.output_schema.clone().unwrap_or_else(unknown) },
        "authorization_conditions": authorization(bundle),
        "external_effects": effects(bundle, &tool.name),
        "annotations": tool.annotations.clone().unwrap_or_else(unknown),
        "cases": cases(bundle, &matches),
        "state_transitions": "not_applicable",
        "expected_readback": readback(bundle, &tool.name),
    })
}

fn unknown() -> Value {
    UNKNOWN.into()
}

fn digest(digest: Digest) -> Value {
    digest.to_string().into()
}

fn pinned(version: Option<&crate::decode::Located<String>>) -> Value {
    version.map_or_else(unknown, |v| v.value.clone().into())
}

fn or_unknown(items: Vec<Value>) -> Value {
    if items.is_empty() { unknown() } else { Value::Array(items) }
}

fn schema_of(bundle: &Bundle, example: &crate::file::skill::SkillExample) -> Value {
    let named = example.expected_artifact_schema.as_ref().and_then(|name| bundle.schema(name));
    named.map_or_else(unknown, |(path, schema)| object!({"path": path, "schema": schema}))
}

/// Who may, by the contract's matrix; the card's schemes say how one proves to be who.
fn authorization(bundle: &Bundle) -> Value {
    let schemes = bundle.card.as_ref().and_then(|c| c.value.get("securityRequirements")).cloned();
    match &bundle.authorization {
        None => object!({"matrix": UNKNOWN, "schemes": schemes.unwrap_or_else(unknown)}),
        Some(policy) => {
            object!({"public": policy.public, "matrix": policy.matrix, "schemes": schemes.unwrap_or_else(unknown)})
        }
    }
}

fn effects(bundle: &Bundle, subject: &str) -> Value {
    let Some(operation) = bundle.operation(subject) else { return unknown() };
    object!({
        "risk": operation.risk,
        "idempotency_key": operation.idempotency_key.as_ref().map_or_else(
            || if operation.risk == Risk::Read { "not_applicable".into() } else { unknown() },
            |key| key.value.clone().into(),
        ),
        "ledger": operation.ledger.as_ref().map_or_else(unknown, |l| object!(l)),
        "approval_needed": operation.approval == Approval::Required,
        "cleared_in": operation.cleared_in,
    })
}

fn readback(bundle: &Bundle, subject: &str) -> Value {
    bundle.operation(subject).and_then(|o| o.expected_readback.clone()).unwrap_or_else(unknown)
}

fn case_skill(case: &Case) -> Option<&str> {
    case.when().and_then(|w| w.skill.as_ref()).map(|s| s.value.as_str())
}

fn case_tool(case: &Case) -> Option<&str> {
    case.when().and_then(crate::file::case::When::tool_name).map(|t| t.value.as_str())
}

/// The capability's cases by set.
fn cases(bundle: &Bundle, matches: &dyn Fn(&Case) -> bool) -> Value {
    let of = |set: CaseSet| -> Value {
        let ids = bundle.cases.iter().filter(|c| c.set == set && matches(c));
        ids.map(|c| Value::from(c.id.clone())).collect()
    };
    object!({
        "positive": of(CaseSet::Positive),
        "negative": of(CaseSet::Negative),
        "regression": of(CaseSet::Regression),
    })
}

/// What consumers rely on: their contracts, carried and named by digest.
fn consumer_expectations(bundle: &Bundle) -> Value {
    let pacts = bundle.pacts().map(|(path, bytes)| object!({"path": path, "digest": Digest::of(bytes)}));
    pacts.collect()
}

/// What is checked of the provider whoever consumes it.
fn provider_checks(bundle: &Bundle) -> Value {
    let mut out = Map::new();
    for case in &bundle.cases {
        let kind = match &case.kind {
            CaseKind::Judge(_) => "judge",
            CaseKind::Live(_) => "live",
            CaseKind::Negative(_) => "standard_negative",
        };
        out.insert(case.id.clone(), object!({"kind": kind, "set": case.set, "path": case.path}));
    }
    Value::Object(out)
}

fn of_environment(environment: &Environment) -> Value {
    object!({
        "name": environment.name,
        "strictness": environment.strictness,
        "cleared_effects": environment.cleared_effects,
        "parts": environment.parts,
        "observers": environment.observers.iter().map(|o| o.kind()).collect::<Vec<_>>(),
        "subjects": environment.subjects.keys().collect::<Vec<_>>(),
    })
}
