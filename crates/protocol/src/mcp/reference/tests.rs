use serde_json::json;

use super::*;

fn targets(schema: &Value) -> Vec<Target> {
    references(schema).all.into_iter().map(|r| r.target).collect()
}

fn inside(pointer: &str) -> Target {
    Target::Inside(pointer.to_owned())
}

#[test]
fn references_are_resolved_inside_the_schema() {
    let schema = json!({
        "$defs": {"a": {"type": "string"}, "x/y": {}, "g[T]": true, "n": {"$anchor": "named"},
                  "r": {"$id": "https://x.example/r", "$defs": {"own": {}}, "items": {"$ref": "#/$defs/own"}}},
        "anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/x~1y"}, {"$ref": "#/$defs/g%5BT%5D"}, {"$ref": "#named"},
                  {"$ref": "https://x.example/r"}, {"$ref": "https://x.example/r#/$defs/own"},
                  {"$ref": "https://json-schema.org/draft/2020-12/schema"}]
    });
    let expected = [
        inside("/$defs/r/$defs/own"),
        inside("/$defs/a"),
        inside("/$defs/x~1y"),
        inside("/$defs/g[T]"),
        inside("/$defs/n"),
        inside("/$defs/r"),
        inside("/$defs/r/$defs/own"),
        Target::Metaschema,
    ];
    assert_eq!(targets(&schema), expected);
}

#[test]
fn what_leads_nowhere_and_what_leads_out_are_told_apart() {
    let table = [
        ("#/$defs/missing", Target::Dangling),
        ("#anchor", Target::Dangling),
        ("#/$defs", inside("/$defs")),
        ("#/$defs/list", Target::Dangling),
        ("#/%zz", Target::Dangling),
        ("https://schemas.example/a.json", Target::Outside),
        ("other.json#/a", Target::Outside),
        ("file:///etc/passwd", Target::Outside),
        ("Foo", Target::Outside),
    ];
    for (text, target) in table {
        let schema = json!({"$defs": {"list": []}, "items": {"$ref": text}});
        assert_eq!(targets(&schema), [target], "{text}");
    }
}

#[test]
fn data_and_names_are_no_references() {
    let schema = json!({
        "properties": {"$ref": {"type": "string"}, "default": {"$ref": "#/gone"}},
        "default": {"$ref": "#/no"}, "enum": [{"$ref": "#/no"}], "const": {"$ref": "#/no"}, "examples": [{"$ref": "#/no"}]
    });
    let found = references(&schema).all;
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].pointer.as_str(), &found[0].target), ("/properties/default", &Target::Dangling));
}

#[test]
fn recursion_is_legal_and_an_endless_circle_is_not() {
    let tree = json!({"$ref": "#/$defs/node", "$defs": {"node": {"properties": {"next": {"$ref": "#/$defs/node"}}}}});
    let found = references(&tree);
    assert_eq!((found.recursive.as_deref(), found.endless), (Some("/$defs/node/properties/next"), None));
    let root = json!({"properties": {"child": {"$ref": "#"}}});
    assert!(references(&root).recursive.is_some() && references(&root).endless.is_none());
    let circle = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"allOf": [{"$ref": "#/$defs/a"}]}}});
    assert!(references(&circle).endless.is_some());
    assert!(references(&json!({"$ref": "#"})).endless.is_some());
    let line = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {}}, "items": {"$ref": "#/$defs/a"}});
    assert_eq!((references(&line).recursive, references(&line).endless), (None, None));
}

#[test]
fn a_flood_of_references_is_bounded() {
    let many: Vec<Value> = (0..MOST + 5).map(|n| json!({"$ref": format!("#/{n}")})).collect();
    let found = references(&json!({"allOf": many}));
    assert!(found.too_many && found.all.len() == MOST);
    // a chain as long as allowed, and every link below the one before: no recursion of ours, and quick
    let chain: serde_json::Map<String, Value> =
        (0..MOST - 1).map(|n| (format!("d{n}"), json!({"$ref": format!("#/$defs/d{}", n + 1)}))).collect();
    let mut schema = json!({"$defs": chain});
    schema["$defs"][format!("d{}", MOST - 1)] = json!({});
    assert_eq!(references(&schema).endless, None);
}
