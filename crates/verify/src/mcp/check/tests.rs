use ostiary_record::Outcome;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Driven, World, edit_document};

const CONTRACT: &str = "\
contract_bundle:
  contract_id: tools
  contract_version: 1.0.0
  protocol: { mcp: \"2025-11-25\" }
  producer: { agent_id: tools }
  declarations: { agent_card: agent-card.json, mcp_tools: tools.snapshot.json }
";

fn tool() -> Value {
    json!({"name": "look", "description": "Looks.", "inputSchema": {"type": "object"},
           "annotations": {"readOnlyHint": true, "openWorldHint": false}})
}

/// A run whose bundle has one snapshot, of these tools.
fn snapshot(text: &str) -> Driven {
    let mut world = World::honest();
    world.files.clear();
    world.put("contract.yaml", CONTRACT);
    world.put("tools.snapshot.json", &json!({"tools": [tool()]}).to_string());
    let mut driven = world.drive();
    edit_document(&mut driven.run, "bundle/tools.snapshot.json", text.as_bytes());
    driven
}

fn of(tools: &[Value]) -> Driven {
    snapshot(&json!({"tools": tools}).to_string())
}

/// A good tool and this one.
fn beside(change: impl FnOnce(&mut Value)) -> Driven {
    let mut bad = tool();
    bad["name"] = json!("second");
    change(&mut bad);
    of(&[tool(), bad])
}

fn check(id: &str) -> Box<dyn Check> {
    checks().into_iter().find(|c| c.spec().id == id).unwrap()
}

#[track_caller]
fn caught(id: &str, driven: &Driven, reason: ReasonCode) -> Vec<Finding> {
    let check = check(id);
    crate::testing::caught(check.as_ref(), driven, reason);
    driven.judge(check.as_ref()).into_iter().filter(|f| f.verdict.outcome() == Outcome::Fail).collect()
}

#[test]
fn honest_tools_pass_every_check() {
    let driven = of(&[tool()]);
    for check in checks() {
        let findings = driven.judge(check.as_ref());
        assert!(findings.iter().all(|f| f.verdict.outcome() == Outcome::Pass), "{findings:#?}");
    }
}

#[test]
fn a_bundle_without_snapshots_promises_nothing() {
    let driven = World::honest().drive();
    for check in checks() {
        let findings = driven.judge(check.as_ref());
        assert!(findings.iter().all(|f| f.verdict.outcome() == Outcome::NotApplicable), "{findings:#?}");
    }
}

#[test]
fn a_first_page_and_two_tools_of_one_name_are_caught() {
    let page = snapshot(&json!({"tools": [tool()], "nextCursor": "2"}).to_string());
    caught("mcp.tools.list", &page, ReasonCode::ToolListIncomplete);
    caught("mcp.tools.list", &of(&[tool(), tool()]), ReasonCode::ToolNameDuplicate);
    caught("mcp.tools.list", &snapshot("{"), ReasonCode::ToolListMalformed);
    let other = snapshot(r#"[{"name": "a", "input_schema": {"type": "object"}}]"#);
    let findings = caught("mcp.tools.list", &other, ReasonCode::ToolListNotRecognized);
    assert_eq!(findings.len(), 1, "one verdict, whatever it is instead");
    assert!(findings[0].message.contains("Anthropic"), "{findings:?}");
}

#[test]
fn a_tool_without_schema_is_caught_alone() {
    let driven = beside(|t| drop(t.as_object_mut().unwrap().remove("inputSchema")));
    let findings = caught("mcp.tools.members", &driven, ReasonCode::ToolFieldMissing);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].place.pointer.as_deref(), Some("/tools/1/inputSchema"));
    let typed = beside(|t| t["description"] = json!(["a"]));
    caught("mcp.tools.members", &typed, ReasonCode::ToolFieldInvalid);
}

#[test]
fn a_schema_that_its_dialect_refuses_is_caught() {
    let schema = |schema: Value| beside(|t| t["inputSchema"] = schema);
    let invalid = [json!({}), json!({"type": "object", "properties": []}), json!({"type": "object", "minLength": "1"})];
    for one in invalid {
        caught("mcp.tools.schema", &schema(one), ReasonCode::ToolSchemaInvalid);
    }
    let unknown = schema(json!({"type": "object", "$schema": "https://schemas.example/mine"}));
    caught("mcp.tools.schema", &unknown, ReasonCode::ToolSchemaDialectUnknown);
}

#[test]
fn references_that_lead_nowhere_or_out_are_caught() {
    let to = |reference: &str| {
        let schema = json!({"type": "object", "properties": {"a": {"$ref": reference}}});
        beside(|t| t["inputSchema"] = schema)
    };
    caught("mcp.tools.references", &to("#/$defs/gone"), ReasonCode::ToolReferenceDangling);
    caught("mcp.tools.references", &to("https://schemas.example/a"), ReasonCode::ToolReferenceExternal);
    caught("mcp.tools.references", &to("#/properties/a"), ReasonCode::ToolReferenceEndless);
    assert_eq!(to("#").verdict(check("mcp.tools.references").as_ref()).0, Outcome::Pass, "recursion is legal");
}

#[test]
fn hints_that_are_no_truth_values_or_contradict_are_caught() {
    let text = beside(|t| t["annotations"]["readOnlyHint"] = json!("true"));
    caught("mcp.tools.hints", &text, ReasonCode::ToolHintInvalid);
    let both = beside(|t| t["annotations"]["destructiveHint"] = json!(true));
    caught("mcp.tools.hints", &both, ReasonCode::ToolHintContradictory);
}

#[test]
fn hidden_characters_are_caught() {
    for text in ["look\u{200B}", "abc\u{202E}cba", "x\u{E0041}", "\u{1B}[8m"] {
        caught("mcp.tools.text", &beside(|t| t["description"] = json!(text)), ReasonCode::ToolTextHidden);
        caught("mcp.tools.text", &beside(|t| t["name"] = json!(text)), ReasonCode::ToolTextHidden);
        let schema = json!({"type": "object", "properties": {text: {"type": "string"}}});
        caught("mcp.tools.text", &beside(|t| t["inputSchema"] = schema), ReasonCode::ToolTextHidden);
    }
}

#[test]
fn a_description_that_contradicts_is_a_warning() {
    let driven = beside(|t| t["description"] = json!("Deletes the file."));
    let check = check("mcp.tools.description");
    let warnings = crate::testing::warnings(check.as_ref(), &driven);
    assert_eq!(warnings, [ReasonCode::ToolDescriptionContradicts]);
    assert!(driven.judge(check.as_ref()).iter().all(|f| f.severity != Severity::Error), "it decides nothing");
}

#[test]
fn the_contract_says_which_revision_judges() {
    let output = || json!({"type": "array", "items": {"type": "string"}});
    let old = beside(|t| t["outputSchema"] = output());
    caught("mcp.tools.schema", &old, ReasonCode::ToolSchemaInvalid);
    let mut world = World::honest();
    world.files.clear();
    world.put("contract.yaml", &CONTRACT.replace("2025-11-25", "2026-07-28"));
    let mut with = tool();
    with["outputSchema"] = output();
    world.put("tools.snapshot.json", &json!({"tools": [with]}).to_string());
    assert_eq!(world.drive().verdict(check("mcp.tools.schema").as_ref()).0, Outcome::Pass);
}

#[test]
fn every_gate_judges_the_snapshots_of_a_bundle() {
    let harness = crate::Harness::standard();
    for gate in Gate::ALL {
        let asked: Vec<&str> = harness.checks_for(Some(gate), &[]).map(|c| c.spec().id).collect();
        assert!(checks().iter().all(|c| asked.contains(&c.spec().id)), "{gate}: {asked:?}");
    }
}
