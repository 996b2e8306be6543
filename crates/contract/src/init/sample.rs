//! A value that a schema lets pass, and one that it does not. Only what a validator confirms is handed out.

use serde_json::{Map, Value, json};

/// Deepest structure that is made.
const DEEPEST: u8 = 8;

/// Most steps of one validation.
const MOST_STEPS: u64 = 100_000;

/// A value that the schema accepts, and one that it refuses; `None` where no such pair is found.
pub(super) fn pair(schema: &Value) -> Option<(Value, Value)> {
    let validator = jsonschema::options().with_draft(jsonschema::Draft::Draft202012).build(schema).ok()?;
    // a schema comes from whoever is asked: no sample is worth a validation without end
    let cheap = |value: &Value| crate::bundle::steps_alone(schema, value, MOST_STEPS).is_some();
    let good =
        sample(schema, schema, 0).filter(|value| value.is_object() && cheap(value) && validator.is_valid(value))?;
    let bad = broken(&good).into_iter().find(|value| cheap(value) && !validator.is_valid(value))?;
    Some((good, bad))
}

fn sample(root: &Value, schema: &Value, depth: u8) -> Option<Value> {
    if depth > DEEPEST {
        return None;
    }
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)).or_else(|| schema.get("default")) {
        return Some(value.clone());
    }
    if let Some(pointer) = schema.get("$ref").and_then(Value::as_str) {
        return sample(root, root.pointer(pointer.strip_prefix('#')?)?, depth + 1);
    }
    let alternatives = ["anyOf", "oneOf"].iter().find_map(|key| schema.get(*key)?.as_array());
    if let Some(all) = alternatives {
        return all.iter().find_map(|one| sample(root, one, depth + 1));
    }
    let kind = schema.get("type").and_then(|t| t.as_str().or_else(|| t.get(0)?.as_str()));
    match kind.unwrap_or("object") {
        "object" => object(root, schema, depth),
        "array" => array(root, schema, depth),
        "string" => text(schema),
        "integer" | "number" => {
            Some(schema.get("minimum").or_else(|| schema.get("maximum")).cloned().unwrap_or(json!(1)))
        }
        "boolean" => Some(json!(true)),
        "null" => Some(Value::Null),
        _ => None,
    }
}

fn object(root: &Value, schema: &Value, depth: u8) -> Option<Value> {
    let required = schema.get("required").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut out = Map::new();
    for name in required.iter().filter_map(Value::as_str) {
        let property = schema.get("properties").and_then(|p| p.get(name));
        let value = property.map_or(Some(json!("any")), |schema| sample(root, schema, depth + 1))?;
        out.insert(name.to_owned(), value);
    }
    Some(Value::Object(out))
}

fn array(root: &Value, schema: &Value, depth: u8) -> Option<Value> {
    let least = schema.get("minItems").and_then(Value::as_u64).unwrap_or(0).min(4);
    let item = schema.get("items").cloned().unwrap_or(json!({"type": "string"}));
    let items: Option<Vec<Value>> = (0..least).map(|_| sample(root, &item, depth + 1)).collect();
    items.map(Value::Array)
}

fn text(schema: &Value) -> Option<Value> {
    match schema.get("format").and_then(Value::as_str) {
        Some("date-time") => return Some(json!("2026-01-01T00:00:00Z")),
        Some("date") => return Some(json!("2026-01-01")),
        Some("uri") => return Some(json!("https://example.test/")),
        _ => {}
    }
    let least = usize::try_from(schema.get("minLength").and_then(Value::as_u64).unwrap_or(0)).ok()?;
    (least <= 1_000).then(|| json!(if least <= 6 { "sample".to_owned() } else { "s".repeat(least) }))
}

/// Ways in which a value may be wrong: a member of another type, a member left out, no object at all.
fn broken(good: &Value) -> Vec<Value> {
    let mut out = Vec::new();
    for (name, value) in good.as_object().into_iter().flatten() {
        let (mut other, mut without) = (good.clone(), good.clone());
        other[name] = if value.is_number() { json!("wrong") } else { json!(12_345) };
        without.as_object_mut().map(|members| members.remove(name));
        out.extend([other, without]);
    }
    out.push(json!([]));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_what_the_validator_says() {
        for (schema, found) in [
            (
                json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "minLength": 9}}}),
                true,
            ),
            (
                json!({"type": "object", "required": ["n"], "properties": {"n": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"enum": [3]}}}),
                true,
            ),
            (json!({"type": "object"}), true),
            // recursive without end, and a pattern that nobody guesses
            (json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}), false),
            (
                json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "pattern": "^z{3}$"}}}),
                false,
            ),
            // everything passes: there is nothing that breaks it
            (json!({}), false),
            (json!({"type": 3}), false),
            // judging any value against it would never end
            (
                json!({"type": "object", "allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}}),
                false,
            ),
        ] {
            let pair = pair(&schema);
            assert_eq!(pair.is_some(), found, "{schema}: {pair:?}");
        }
    }
}
