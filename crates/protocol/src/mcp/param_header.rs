//! What 2026-07-28 repeats of a request's body in header fields (Streamable HTTP, "Request Headers").

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::Value;

/// What a value begins with that cannot stand in a field as it is.
const BEGIN: &str = "=?base64?";
/// What such a value ends with.
const END: &str = "?=";
/// Longest path of `properties` that is followed: a schema of any server is read.
const DEPTH: usize = 32;

/// A field's value for a text: as it is, or in base64 where a field cannot hold it or would lose its edges.
#[must_use]
pub fn encode(text: &str) -> String {
    let plain = text.bytes().all(|b| (0x20..=0x7e).contains(&b)) && text.trim() == text && !text.starts_with(BEGIN);
    if plain { text.to_owned() } else { format!("{BEGIN}{}{END}", STANDARD.encode(text)) }
}

/// The text that a field's value stands for; `None` = base64 of nothing readable.
#[must_use]
pub fn decode(value: &str) -> Option<String> {
    let value = value.trim_matches([' ', '\t']);
    match value.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(END)) {
        Some(inner) => String::from_utf8(STANDARD.decode(inner).ok()?).ok(),
        None => Some(value.to_owned()),
    }
}

/// The field that repeats what a method is about: `params.name`, `params.uri` or, of tasks, `params.taskId`.
#[must_use]
pub fn subject<'p>(method: &str, params: &'p Value) -> Option<&'p str> {
    let member = match method {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        _ if method.starts_with("tasks/") => "taskId",
        _ => return None,
    };
    params.get(member).and_then(Value::as_str)
}

/// The `Mcp-Param-` fields of a call, by the tool's `inputSchema`: parameters that it marks with `x-mcp-header`, reached
/// by `properties` alone, that are given and not null.
#[must_use]
pub fn fields(input_schema: &Value, arguments: &Value) -> Vec<(String, String)> {
    let mut out = Vec::new();
    collect(input_schema, arguments, &mut out, DEPTH);
    out
}

fn collect(schema: &Value, given: &Value, out: &mut Vec<(String, String)>, depth: usize) {
    let (Some(properties), true) = (schema.get("properties").and_then(Value::as_object), depth > 0) else { return };
    for (name, property) in properties {
        let Some(value) = given.get(name) else { continue };
        if let (Some(header), Some(text)) = (property.get("x-mcp-header").and_then(Value::as_str), text_of(value)) {
            out.push((format!("Mcp-Param-{header}"), encode(&text)));
        }
        collect(property, value, out, depth - 1);
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_field_cannot_hold_goes_in_base64() {
        for (text, expect) in [
            ("us-west1", "us-west1"),
            ("two words", "two words"),
            ("", ""),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(encode(text), expect, "{text}");
            assert_eq!(decode(expect).as_deref(), Some(text));
        }
        assert_eq!(decode("=?base64?%%?="), None);
        assert_eq!(decode("\t x "), Some("x".to_owned()), "white space around a value is none of it");
    }

    #[test]
    fn fields_follow_the_schema_and_skip_what_is_not_given() {
        let schema = json!({"properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "gone": {"type": "string", "x-mcp-header": "Gone"},
            "null": {"type": "string", "x-mcp-header": "Null"},
            "deep": {"type": "object", "properties": {"on": {"type": "boolean", "x-mcp-header": "On"}}},
            "list": {"type": "array", "items": {"properties": {"x": {"x-mcp-header": "No"}}}},
        }});
        let given = json!({"region": "ö", "count": 7, "null": null, "deep": {"on": true}, "list": [{"x": "y"}]});
        let text = |n: &str, v: &str| (n.to_owned(), v.to_owned());
        let expect =
            [text("Mcp-Param-Region", "=?base64?w7Y=?="), text("Mcp-Param-Count", "7"), text("Mcp-Param-On", "true")];
        assert_eq!(fields(&schema, &given), expect);
        assert_eq!(subject("tools/call", &json!({"name": "a"})), Some("a"));
        assert_eq!(subject("tools/list", &json!({"name": "a"})), None);
    }

    proptest! {
        #[test]
        fn every_text_comes_back(text in ".*") {
            let value = encode(&text);
            prop_assert!(value.bytes().all(|b| (0x20..=0x7e).contains(&b)));
            prop_assert_eq!(decode(&value), Some(text));
        }
    }
}
