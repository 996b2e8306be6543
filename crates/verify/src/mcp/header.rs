//! `x-mcp-header` of 2026-07-28: clients over HTTP drop a tool that breaks its rules, and SDKs hide that.

use std::collections::BTreeSet;

use ostiary_protocol::mcp::Schema;
use ostiary_record::ReasonCode;
use serde_json::{Map, Value};

use super::lint::{Aspect, Sink, shown};

const MEMBER: &str = "x-mcp-header";

pub(super) fn judge(schema: Schema<'_>, at: &str, sink: &mut Sink) {
    let mut seen = BTreeSet::new();
    schema.each(|parameter, pointer| {
        let Some(header) = parameter.get(MEMBER) else { return };
        let name = header.as_str().unwrap_or_default();
        let wrong = match () {
            () if !is_token(name) => "no header token",
            () if !seen.insert(name.to_ascii_lowercase()) => "a name that another parameter has, too",
            () if !is_reached_by_properties(pointer) => "a place that is not reached through `properties` alone",
            () if !is_simple(parameter) => "a parameter that is no text, integer or boolean",
            () => return,
        };
        let what = (Aspect::Schema, ReasonCode::ToolHeaderInvalid, "header_invalid");
        let expected = "a unique header token on a text, integer or boolean parameter";
        sink.fail(what, format!("{at}{pointer}/{MEMBER}"), expected, format!("`{}`: {wrong}", shown(name)));
    });
}

/// `/properties/a/properties/b`: every other step, from the first on, is `properties`.
fn is_reached_by_properties(pointer: &str) -> bool {
    let steps: Vec<&str> = pointer.split('/').skip(1).collect();
    !steps.is_empty() && steps.len().is_multiple_of(2) && steps.iter().step_by(2).all(|step| *step == "properties")
}

fn is_simple(parameter: &Map<String, Value>) -> bool {
    matches!(parameter.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"))
}

/// RFC 9110, section 5.6.2.
fn is_token(name: &str) -> bool {
    let special = |b: u8| b"!#$%&'*+-.^_`|~".contains(&b);
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || special(b))
}
