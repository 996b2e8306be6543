//! `x-mcp-header` of 2026-07-28: clients over HTTP drop a tool that breaks its rules, and SDKs hide that.

use std::collections::BTreeSet;

use ostiary_protocol::mcp::Tool;
use ostiary_record::ReasonCode;
use serde_json::Value;

use super::lint::{Aspect, Sink, shown};

const MEMBER: &str = "x-mcp-header";

/// Keywords whose values are data.
const DATA: [&str; 4] = ["const", "enum", "default", "examples"];

/// Keywords whose members are schemas by free names, besides `properties`.
const MAPS: [&str; 5] = ["patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];

pub(super) fn judge(tool: &Tool<'_>, sink: &mut Sink) {
    if !sink.revision.is_stateless() {
        return;
    }
    let Some(schema) = tool.member("inputSchema").filter(|s| super::schema::is_bounded(s)) else { return };
    let mut found = Vec::new();
    let root = tool.at("inputSchema");
    collect(schema, &root, Reach::Root, &mut found);
    let mut seen = BTreeSet::new();
    for (at, property, reach) in found {
        let name = property.get(MEMBER).and_then(Value::as_str).unwrap_or_default();
        let wrong = match () {
            () if !is_token(name) => "no header token",
            () if !seen.insert(name.to_ascii_lowercase()) => "a name that another parameter has, too",
            () if reach != Reach::Properties => "a place that is not reached through `properties` alone",
            () if !is_simple(property) => "a parameter that is no text, integer or boolean",
            () => continue,
        };
        let what = (Aspect::Schema, ReasonCode::ToolHeaderInvalid, "header_invalid");
        let expected = "a unique header token on a text, integer or boolean parameter";
        sink.fail(what, format!("{at}/{MEMBER}"), expected, format!("`{}`: {wrong}", shown(name)));
    }
}

/// How a schema is reached from the root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Root,
    Properties,
    Otherwise,
}

fn collect<'a>(schema: &'a Value, at: &str, reach: Reach, found: &mut Vec<(String, &'a Value, Reach)>) {
    match schema {
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                collect(item, &format!("{at}/{n}"), Reach::Otherwise, found);
            }
        }
        Value::Object(members) => {
            if members.contains_key(MEMBER) {
                found.push((at.to_owned(), schema, reach));
            }
            for (key, value) in members {
                let below = if reach == Reach::Otherwise { Reach::Otherwise } else { Reach::Properties };
                match (key.as_str(), value) {
                    ("properties", Value::Object(map)) => each(map, &format!("{at}/properties"), below, found),
                    (key, Value::Object(map)) if MAPS.contains(&key) => {
                        each(map, &format!("{at}/{key}"), Reach::Otherwise, found);
                    }
                    (key, Value::Object(_) | Value::Array(_)) if !DATA.contains(&key) => {
                        collect(value, &format!("{at}/{key}"), Reach::Otherwise, found);
                    }
                    _ => {}
                }
            }
        }
        _ => {}
    }
}

fn each<'a>(
    map: &'a serde_json::Map<String, Value>,
    at: &str,
    reach: Reach,
    found: &mut Vec<(String, &'a Value, Reach)>,
) {
    for (name, value) in map {
        let step = name.replace('~', "~0").replace('/', "~1");
        collect(value, &format!("{at}/{step}"), reach, found);
    }
}

fn is_simple(property: &Value) -> bool {
    matches!(property.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"))
}

/// RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    let special = |b: u8| b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || special(b))
}
