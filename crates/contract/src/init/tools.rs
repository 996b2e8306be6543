//! Tools: their snapshots, `operations.yaml`, and cases made from their schemas.

use std::fmt::Write as _;

use ostiary_protocol::a2a::Card;
use serde_json::Value;

use super::{
    MARK, Server, Source, sample,
    text::{flow, scalar, slug},
};
use crate::{bundle::Files, file::tools::Tool};

/// Where the snapshot of a server goes.
pub(super) fn path(server: &str) -> String {
    format!("mcp/{server}/harness.default.default.snapshot.json")
}

pub(super) fn write(source: &Source<'_>, files: &mut Files) {
    for server in &source.servers {
        files.insert(path(&server.name), server.bytes.clone());
        for tool in &server.tools {
            cases(server, tool, files);
        }
    }
    files.insert("operations.yaml".to_owned(), operations(source).into());
}

fn operations(source: &Source<'_>) -> String {
    let mut out =
        String::from("# What each skill and tool does to the world, and how that can be proved from outside.\n");
    let mut seen = Vec::new();
    for tool in source.servers.iter().flat_map(|s| &s.tools) {
        if seen.contains(&tool.name.as_str()) {
            continue;
        }
        out.push_str(if seen.is_empty() { "operations:\n" } else { "" });
        seen.push(tool.name.as_str());
        let _ = writeln!(out, "  - tool: {}", scalar(&tool.name));
        let risk = risk(tool);
        let _ = writeln!(out, "    risk: {risk} {MARK}taken from the tool's hints, which are claims");
        if risk != "read" {
            let what = "idempotency_key (a JSON pointer into the input) and ledger (where the result is counted)";
            let _ = writeln!(out, "    {MARK}{what}");
        }
    }
    if seen.is_empty() {
        out.push_str("operations: []\n");
    }
    for id in source.card.iter().flat_map(Card::skills).filter_map(|skill| skill.id()) {
        let what = "what this skill does to the world: add `skill`, `risk` (read, write or destructive) for";
        let _ = writeln!(out, "{MARK}{what} {}", scalar(id));
    }
    out
}

/// The risk that a tool's hints claim, with the defaults of the protocol where it gives none.
fn risk(tool: &Tool) -> &'static str {
    let hint = |name: &str| tool.annotations.as_ref().and_then(|a| a.get(name)).and_then(Value::as_bool);
    match (hint("readOnlyHint"), hint("destructiveHint")) {
        (Some(true), _) => "read",
        (_, Some(false)) => "write",
        (_, _) => "destructive",
    }
}

/// An answer that keeps the output schema and one that breaks it: both prove the judge, without any call.
fn cases(server: &Server, tool: &Tool, files: &mut Files) {
    let Some(schema) = &tool.output_schema else { return };
    let Some((good, bad)) = sample::pair(schema) else { return };
    let name = format!("{}-{}", server.name, slug(&tool.name));
    let mut case = |set: &str, suffix: &str, content: &Value, expect: &str| {
        let text = format!(
            "# Judged without any call: what the tool's output schema lets pass and what not.\ncase: {name}-{suffix}\nwhen:\n  \
             call: {}\nthen:\n  isError: false\n  structuredContent: {}\nexpect:\n{expect}",
            scalar(&tool.name),
            flow(content)
        );
        files.insert(format!("cases/{set}/{name}-{suffix}.yaml"), text.into());
    };
    case("positive", "output-kept", &good, "  result: PASS\n");
    case("negative", "output-broken", &bad, "  result: FAIL\n  reason_code: OUTPUT_SCHEMA_VIOLATION\n");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hints_that_are_not_given_are_the_protocols_defaults() {
        let tool = |annotations: Value| {
            Tool::from_value(&json!({"name": "t", "inputSchema": {}, "annotations": annotations})).expect("a tool")
        };
        for (annotations, expected) in [
            (json!({}), "destructive"),
            (json!({"readOnlyHint": false}), "destructive"),
            (json!({"destructiveHint": false}), "write"),
            (json!({"readOnlyHint": true}), "read"),
            (json!({"readOnlyHint": "true"}), "destructive"),
        ] {
            assert_eq!(risk(&tool(annotations.clone())), expected, "{annotations}");
        }
    }
}
