//! Stable words for what a schema violation is: `plan_id_must_be_string`, `items_has_too_few_items`.
//!
//! Cases of a bundle expect these texts, so they never change; the validator's own messages may.

use jsonschema::{
    JsonType, ValidationError, Validator,
    error::{TypeKind, ValidationErrorKind},
};
use serde_json::Value;

/// Most violations that are named for one value: enough to repair, bounded for hostile answers.
const MOST: usize = 20;

/// One violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Violation {
    /// JSON pointer into the value.
    pub(crate) pointer: String,
    /// The stable words.
    pub(crate) detail: String,
    /// The keyword of the schema.
    pub(crate) keyword: String,
}

/// How a value violates a schema; empty when it does not, `None` when a pattern could not be matched to its end. `root` is
/// what a value without a name is called. Only [`crate::schema_cost`] may ask, which knows that an answer will come.
pub(crate) fn violations(validator: &Validator, value: &Value, root: &str) -> Option<Vec<Violation>> {
    let mut out = Vec::new();
    for error in validator.iter_errors(value).take(MOST) {
        if matches!(error.kind(), ValidationErrorKind::BacktrackLimitExceeded { .. }) {
            return None;
        }
        out.extend(of(&error, root));
    }
    out.truncate(MOST);
    Some(out)
}

fn of(error: &ValidationError<'_>, root: &str) -> Vec<Violation> {
    let pointer = error.instance_path().as_str().to_owned();
    let member = member(&pointer, root);
    let keyword = error.kind().keyword().to_owned();
    let one = |detail: String| vec![Violation { pointer: pointer.clone(), detail, keyword: keyword.clone() }];
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            one(format!("{}_is_required", snake(property.as_str().unwrap_or_default())))
        }
        ValidationErrorKind::AdditionalProperties { unexpected }
        | ValidationErrorKind::UnevaluatedProperties { unexpected } => {
            unexpected.iter().flat_map(|name| one(format!("{}_is_not_allowed", snake(name)))).collect()
        }
        ValidationErrorKind::Type { kind } => one(format!("{member}_must_be_{}", types(kind))),
        ValidationErrorKind::Format { format } => one(format!("{member}_must_be_{}", snake(format))),
        other => one(format!("{member}_{}", words(other))),
    }
}

fn words(kind: &ValidationErrorKind) -> String {
    use ValidationErrorKind as K;
    let words = match kind {
        K::Enum { .. } => "must_be_allowed_value",
        K::Constant { .. } => "must_be_constant",
        K::Pattern { .. } => "must_match_pattern",
        K::MinLength { .. } => "is_too_short",
        K::MaxLength { .. } => "is_too_long",
        K::MinItems { .. } => "has_too_few_items",
        K::MaxItems { .. } | K::AdditionalItems { .. } => "has_too_many_items",
        K::MinProperties { .. } => "has_too_few_members",
        K::MaxProperties { .. } => "has_too_many_members",
        K::Minimum { .. } | K::ExclusiveMinimum { .. } => "is_too_small",
        K::Maximum { .. } | K::ExclusiveMaximum { .. } => "is_too_large",
        K::MultipleOf { .. } => "must_be_multiple",
        K::UniqueItems => "must_have_unique_items",
        K::AnyOf { .. } | K::OneOfNotValid { .. } => "matches_no_alternative",
        K::OneOfMultipleValid { .. } => "matches_several_alternatives",
        K::FalseSchema => "is_not_allowed",
        other => return format!("violates_{}", snake(other.keyword())),
    };
    words.to_owned()
}

fn types(kind: &TypeKind) -> String {
    match kind {
        TypeKind::Single(one) => one.to_string(),
        TypeKind::Multiple(set) => {
            let names: Vec<String> = set.iter().map(|t: JsonType| t.to_string()).collect();
            names.join("_or_")
        }
    }
}

/// The last name on the way to the value: that of the list, for an item of a list.
fn member(pointer: &str, root: &str) -> String {
    let named = pointer.split('/').rev().find(|part| !part.is_empty() && part.parse::<usize>().is_err());
    snake(&named.map_or_else(|| root.to_owned(), |name| name.replace("~1", "/").replace("~0", "~")))
}

/// `planId`, `plan-id` and `plan id` are all `plan_id`.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.chars() {
        if c.is_ascii_uppercase() && lower {
            out.push('_');
        }
        lower = c.is_ascii_lowercase() || c.is_ascii_digit();
        out.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn details(schema: &Value, value: &Value) -> Vec<String> {
        let validator = jsonschema::validator_for(schema).unwrap();
        violations(&validator, value, "structured_content").expect("decided").into_iter().map(|v| v.detail).collect()
    }

    #[test]
    fn each_kind_of_violation_has_its_words() {
        let schema = json!({"type": "object", "required": ["plan_id"], "additionalProperties": false, "properties": {
            "plan_id": {"type": "string", "minLength": 2},
            "status": {"enum": ["draft", "ready"]},
            "size": {"type": ["integer", "null"], "maximum": 3},
            "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}
        }});
        let cases = [
            (json!({"plan_id": 12345}), "plan_id_must_be_string"),
            (json!({}), "plan_id_is_required"),
            (json!({"plan_id": "p"}), "plan_id_is_too_short"),
            (json!({"plan_id": "pp", "extraField": 1}), "extra_field_is_not_allowed"),
            (json!({"plan_id": "pp", "status": "gone"}), "status_must_be_allowed_value"),
            (json!({"plan_id": "pp", "size": 9}), "size_is_too_large"),
            (json!({"plan_id": "pp", "items": []}), "items_has_too_few_items"),
            (json!({"plan_id": "pp", "items": [1]}), "items_must_be_string"),
            (json!("text"), "structured_content_must_be_object"),
        ];
        for (value, expected) in cases {
            assert_eq!(details(&schema, &value), [expected], "{value}");
        }
        assert!(details(&schema, &json!({"plan_id": "pp"})).is_empty());
    }

    #[test]
    fn several_types_are_joined_and_many_violations_bounded() {
        let schema = json!({"properties": {"size": {"type": ["integer", "null"]}}});
        assert_eq!(details(&schema, &json!({"size": "x"})).len(), 1);
        assert!(details(&schema, &json!({"size": "x"}))[0].starts_with("size_must_be_"));
        let many = json!({"items": {"type": "string"}});
        assert_eq!(details(&many, &json!(vec![1; 1000])).len(), MOST);
    }
}
