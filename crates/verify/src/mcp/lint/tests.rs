use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn of(value: &Value) -> Lint {
    lint(value.to_string().as_bytes(), None)
}

fn details(lint: &Lint) -> Vec<&'static str> {
    lint.issues.iter().map(|i| i.detail).collect()
}

#[test]
fn one_bad_tool_never_sinks_the_list() {
    let good = json!({"name": "a", "inputSchema": {"type": "object"}});
    let bad = [json!(7), json!({}), json!({"name": "b", "inputSchema": []}), json!({"name": "c", "inputSchema": null})];
    for bad in bad {
        let found = of(&json!({"tools": [good, bad, good.as_object().map(|o| {
            let mut o = o.clone();
            o.insert("name".into(), json!("z"));
            o
        })]}));
        let verdicts: Vec<Outcome> = found.tools.iter().map(|t| t.verdict).collect();
        assert_eq!(verdicts, [Outcome::Pass, Outcome::Fail, Outcome::Pass], "{bad}");
    }
}

#[test]
fn effective_hints_have_the_defaults_of_the_specification() {
    let found = of(&json!([{"name": "a", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}}]));
    let hints = &found.tools[0].hints;
    let of = |name: &str| (hints[name].declared, hints[name].effective);
    assert_eq!(of("readOnlyHint"), (Some(true), Some(true)));
    assert_eq!(of("destructiveHint"), (None, None), "what only reads destroys nothing");
    assert_eq!(of("openWorldHint"), (None, Some(true)));
    let found = self::of(&json!([{"name": "a", "inputSchema": {"type": "object"}}]));
    let effective: Vec<Option<bool>> = found.tools[0].hints.values().map(|h| h.effective).collect();
    // destructive, idempotent, open world, read-only
    assert_eq!(effective, [Some(true), Some(false), Some(true), Some(false)]);
}

#[test]
fn dialects_are_judged_by_their_own_rules() {
    let tuple = |dialect: Option<&str>| {
        let mut schema = json!({"type": "object", "properties": {"p": {"items": [{"type": "string"}]}}});
        if let Some(dialect) = dialect {
            schema["$schema"] = json!(dialect);
        }
        json!({"tools": [{"name": "a", "inputSchema": schema}]}).to_string()
    };
    let draft7 = tuple(Some("http://json-schema.org/draft-07/schema#"));
    assert_eq!(lint(draft7.as_bytes(), None).verdict(), Outcome::Pass);
    assert_eq!(lint(tuple(None).as_bytes(), Some(Revision::V2025_11_25)).verdict(), Outcome::Fail);
    let silent = lint(tuple(None).as_bytes(), Some(Revision::V2025_06_18));
    assert_eq!((silent.verdict(), silent.tools[0].warnings), (Outcome::Pass, 1));
}

#[test]
fn headers_of_parameters_keep_their_rules() {
    let with = |schema: Value| {
        let value = json!({"tools": [{"name": "a", "inputSchema": schema}], "resultType": "complete", "ttlMs": 0,
                           "cacheScope": "public"});
        of(&value)
    };
    let good = json!({"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region"},
        "x-mcp-header": {"type": "string"}}});
    assert_eq!(with(good.clone()).verdict(), Outcome::Pass);
    let mut twice = good.clone();
    twice["properties"]["s"] = json!({"type": "integer", "x-mcp-header": "REGION"});
    let bad = [
        twice,
        json!({"type": "object", "properties": {"r": {"type": "number", "x-mcp-header": "Region"}}}),
        json!({"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Re gion"}}}),
        json!({"type": "object", "properties": {"r": {"items": {"type": "string", "x-mcp-header": "Region"}}}}),
    ];
    for schema in bad {
        assert_eq!(details(&with(schema.clone())), ["header_invalid"], "{schema}");
    }
}

#[test]
fn bounds_hold_and_hit_only_their_tool() {
    let mut deep = json!({"type": "object"});
    for _ in 0..40 {
        deep = json!({"type": "object", "properties": {"x": deep}});
    }
    let wide = json!({"type": "object", "description": "x".repeat(300 << 10)});
    let small = json!({"type": "object"});
    let tools = json!([{"name": "d", "inputSchema": deep}, {"name": "w", "inputSchema": wide}, {"name": "s", "inputSchema": small}]);
    let verdicts: Vec<Outcome> = of(&tools).tools.iter().map(|t| t.verdict).collect();
    assert_eq!(verdicts, [Outcome::Fail, Outcome::Fail, Outcome::Pass]);
}

#[test]
fn a_hostile_tool_is_told_of_in_bounds_and_still_fails() {
    let properties: serde_json::Map<String, Value> =
        (0..500).map(|n| (format!("p{n}"), json!({"$ref": "#/gone", "description": "a\u{200B}"}))).collect();
    let found = of(&json!([{"name": "a", "inputSchema": {"type": "object", "properties": properties}}]));
    assert!(found.issues.len() < 40, "{}", found.issues.len());
    assert_eq!(found.verdict(), Outcome::Fail);
}

#[test]
fn what_is_shown_hides_nothing() {
    assert_eq!(shown("a\u{202E}b\u{1B}"), "a\\u{202e}b\\u{1b}");
    assert!(shown(&"x".repeat(500)).chars().count() <= 81);
}

#[test]
fn nothing_was_judged_in_an_empty_list() {
    assert_eq!(of(&json!({"tools": []})).verdict(), Outcome::Inconclusive);
}

/// JSON that is near enough to a tool list to get past the first look.
fn near() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        prop_oneof![Just("object"), Just("#"), Just("#/$defs/a"), Just("https://x.example/y")].prop_map(Value::from),
    ];
    let key = prop_oneof![
        Just("$ref"),
        Just("$id"),
        Just("$schema"),
        Just("$defs"),
        Just("$anchor"),
        Just("type"),
        Just("properties"),
        Just("items"),
        Just("allOf"),
        Just("a"),
        Just("x-mcp-header"),
        Just("name"),
        Just("inputSchema"),
        Just("annotations"),
        Just("readOnlyHint"),
        Just("required"),
        Just("description"),
        Just("icons"),
        Just("tools"),
        Just("nextCursor"),
        Just("outputSchema"),
        Just("~/"),
    ];
    leaf.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_json_gives_one_report_and_the_same_twice(value in near(), bare in any::<bool>()) {
        let value = if bare { value } else { json!({"tools": [value, {"name": "a", "inputSchema": {"type": "object"}}]}) };
        for revision in Revision::ALL.map(Some).into_iter().chain([None]) {
            let text = value.to_string();
            let first = lint(text.as_bytes(), revision);
            prop_assert_eq!(&first, &lint(text.as_bytes(), revision));
            prop_assert!(first.is_list() || first.issues.len() == 1);
            prop_assert_eq!(first.verdict() == Outcome::Fail, first.issues.iter().any(Issue::fails));
        }
    }

    #[test]
    fn any_bytes_give_a_report(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let found = lint(&bytes, None);
        prop_assert!(!found.is_list() && found.issues.len() == 1);
    }

    #[test]
    fn a_snapshot_cut_or_changed_anywhere_gives_one_report(at in any::<prop::sample::Index>(), byte: u8, cut: bool) {
        let tool = json!({"name": "a", "description": "d", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true}});
        let mut bytes = json!({"tools": [tool]}).to_string().into_bytes();
        let at = at.index(bytes.len());
        if cut { bytes.truncate(at) } else { bytes[at] = byte }
        let found = lint(&bytes, None);
        prop_assert!(found.is_list() || found.issues.len() == 1);
        prop_assert_eq!(found.verdict() == Outcome::Fail, found.issues.iter().any(Issue::fails));
    }

    #[test]
    fn an_honest_tool_beside_anything_passes(value in near()) {
        let list = json!({"tools": [{"name": "honest\u{1}".trim_end_matches('\u{1}'), "inputSchema": {"type": "object"}}, value]});
        if let Ok(snapshot) = recognise(&list) {
            let found = judge(&snapshot, Revision::V2026_07_28, false);
            let same_name = list["tools"][1]["name"] == json!("honest");
            prop_assert!(same_name || found.tools[0].verdict == Outcome::Pass);
        }
    }
}
