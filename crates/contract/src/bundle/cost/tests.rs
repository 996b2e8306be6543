use serde_json::json;

use super::*;

const MOST: u64 = 50_000;

/// Definitions that each name the next one twice.
fn ladder(rungs: usize, rung: impl Fn(&str) -> Value) -> Value {
    let mut all: Map<String, Value> =
        (0..rungs).map(|n| (format!("d{n}"), rung(&format!("#/$defs/d{}", n + 1)))).collect();
    all.insert(format!("d{rungs}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": all})
}

fn alternatives(next: &str) -> Value {
    json!({"anyOf": [{"$ref": next}, {"$ref": next}]})
}

fn measured(schema: &Value) -> Result<(), TooMuch> {
    paths("schemas/inline.schema.json", schema, &Schemas::new())
}

fn walked(schema: &Value, value: &Value) -> Option<u64> {
    steps("schemas/inline.schema.json", schema, &Schemas::new(), value, MOST)
}

fn nested(depth: usize, key: &str) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({ key: inner }))
}

#[test]
fn a_ladder_of_references_is_too_much_and_a_short_one_is_not() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let rung = |next: &str| json!({keyword: [{"$ref": next}, {"$ref": next}]});
        assert_eq!(measured(&ladder(40, rung)), Err(TooMuch::Paths), "{keyword}");
        assert_eq!(measured(&ladder(8, rung)), Ok(()), "{keyword}");
    }
    let mixed = |next: &str| json!({"if": {"$ref": next}, "else": {"not": {"$ref": next}}});
    assert_eq!(measured(&ladder(40, mixed)), Err(TooMuch::Paths));
    assert_eq!(walked(&ladder(40, alternatives), &json!("x")), None);
    assert!(walked(&ladder(8, alternatives), &json!("x")).is_some());
    assert_eq!(measured(&ladder(1_000, |next| json!({"$ref": next}))), Err(TooMuch::Hops));
}

#[test]
fn a_ladder_across_files_ids_and_anchors_is_found() {
    let files: Schemas = (0..40)
        .map(|n| {
            let next = format!("d{}.schema.json", n + 1);
            (format!("schemas/d{n}.schema.json"), alternatives(&next))
        })
        .chain([("schemas/d40.schema.json".to_owned(), json!({}))])
        .collect();
    let first = &files["schemas/d0.schema.json"];
    assert_eq!(paths("schemas/d0.schema.json", first, &files), Err(TooMuch::Paths));
    let by_id = json!({"$id": "https://a.test/root", "$ref": "one", "$defs": {
        "one": {"$id": "one", "allOf": [{"$ref": "/two#here"}]},
        "two": {"$id": "https://a.test/two", "$defs": {"h": {"$anchor": "here", "type": "string"}}}
    }});
    assert_eq!(walked(&by_id, &json!("x")), Some(4), "root, one, its alternative, the anchor");
    let lost = json!({"$ref": "https://a.test/nowhere"});
    assert_eq!(walked(&lost, &json!("x")), None, "what is not understood is never called cheap");
}

#[test]
fn a_recursive_schema_is_paid_for_by_the_depth_of_the_value() {
    let twice = json!({"anyOf": [
        {"properties": {"next": {"$ref": "#"}}}, {"properties": {"next": {"$ref": "#"}}, "required": ["kind"]}
    ]});
    assert_eq!(measured(&twice), Ok(()));
    assert_eq!(walked(&twice, &nested(60, "next")), None);
    assert!(walked(&twice, &nested(6, "next")).is_some());
    let once = json!({"properties": {"next": {"$ref": "#"}}});
    assert!(walked(&once, &nested(60, "next")).is_some_and(|steps| steps < 1_000));
    let endless = json!({"allOf": [{"$ref": "#"}]});
    assert_eq!((measured(&endless), walked(&endless, &json!(1))), (Ok(()), None));
}

#[test]
fn every_keyword_that_goes_deeper_is_followed() {
    let expensive = |next: &str| json!({"allOf": [{"$ref": next}, {"$ref": next}]});
    let deep = ladder(30, expensive);
    let with = |schema: Value| {
        let mut all = deep.clone();
        all["$ref"] = json!(null);
        all.as_object_mut().expect("an object").extend(schema.as_object().expect("an object").clone());
        all
    };
    let rung = json!({"$ref": "#/$defs/d0"});
    for key in ["additionalProperties", "unevaluatedProperties", "propertyNames"] {
        assert_eq!(walked(&with(json!({key: rung})), &json!({"a": 1})), None, "{key}");
    }
    for key in ["properties", "patternProperties", "dependentSchemas"] {
        assert_eq!(walked(&with(json!({key: {"a": rung}})), &json!({"a": 1})), None, "{key}");
    }
    for key in ["items", "contains", "unevaluatedItems", "additionalItems"] {
        assert_eq!(walked(&with(json!({key: rung})), &json!([1])), None, "{key}");
    }
    assert_eq!(walked(&with(json!({"prefixItems": [rung]})), &json!([1])), None);
    assert!(walked(&with(json!({"prefixItems": [rung]})), &json!({})).is_some(), "nothing to look at");
    let dynamic = with(json!({"$dynamicRef": "#up", "$dynamicAnchor": "up"}));
    assert_eq!(walked(&dynamic, &json!(1)), None);
}

#[test]
fn large_values_patterns_and_lists_are_paid_for() {
    let many = Value::from(vec![1; 60_000]);
    assert_eq!(walked(&json!({"uniqueItems": true}), &many), None);
    assert!(walked(&json!({"type": "array"}), &many).is_some());
    let back = json!({"items": {"type": "string", "pattern": "^(?=a)(a|a)*b"}});
    assert_eq!(walked(&back, &json!(vec!["a"; 5_000])), None);
    let plain = json!({"items": {"type": "string", "pattern": "^[a-z]+$"}});
    assert!(walked(&plain, &json!(vec!["a"; 5_000])).is_some());
    let metaschema = json!({"$ref": "https://json-schema.org/draft/2020-12/schema"});
    assert!(walked(&metaschema, &json!({"type": "object"})).is_some());
}
