//! The schemas of one tool: root, dialect, validity, bounds, references (J-01, J-04).

use jsonschema::{ValidationError, draft4, draft6, draft7, draft201909, draft202012};
use ostiary_protocol::mcp::{
    Dialect, Schema, Tool,
    reference::{MOST, Target},
    schema::Stated,
};
use ostiary_record::ReasonCode;
use serde_json::Value;

use super::{
    header,
    lint::{Aspect, Sink, shown},
    members::type_of,
};

/// Most bytes of one schema; the largest seen in the field has 38 KB.
const MOST_BYTES: usize = 256 << 10;

/// Most arrays and objects inside each other: 32 schemas below each other, each inside its `properties`. The deepest seen
/// in the field has 10.
const MOST_DEPTH: usize = 64;

/// Combinators at the root of an input schema, which the protocol allows and several model providers refuse.
const COMBINATORS: [&str; 3] = ["anyOf", "oneOf", "allOf"];

pub(super) fn judge(tool: &Tool<'_>, sink: &mut Sink) {
    one(tool, "inputSchema", true, sink);
    one(tool, "outputSchema", sink.revision.output_is_object(), sink);
}

fn one(tool: &Tool<'_>, member: &'static str, object: bool, sink: &mut Sink) {
    let at = tool.at(member);
    let value = match tool.member(member) {
        None => return,
        // an absent inputSchema is told among the members
        Some(Value::Null) if member == "inputSchema" => return,
        Some(Value::Null) => {
            let what = (Aspect::Schema, ReasonCode::ToolFieldInvalid, "output_schema_null");
            return sink.warn(what, at, "a schema, or no `outputSchema`", "null");
        }
        Some(value @ Value::Object(_)) => value,
        Some(other) => {
            let what = (Aspect::Schema, ReasonCode::ToolSchemaInvalid, "schema_not_object");
            return sink.fail(what, at, "an object", type_of(other));
        }
    };
    let schema = Schema(value);
    if !bounded(schema, &at, sink) {
        return;
    }
    if object && !schema.is_object_typed() {
        root(schema, member, &at, sink);
    }
    if member == "inputSchema"
        && let Some(combinator) = COMBINATORS.into_iter().find(|c| value.get(c).is_some())
    {
        let observed = format!("`{combinator}` at the root is legal, and several model providers refuse it");
        sink.note((Aspect::Schema, "root_combinator"), format!("{at}/{combinator}"), observed);
    }
    if member == "inputSchema" && sink.revision.is_stateless() {
        header::judge(schema, &at, sink);
    }
    validity(schema, &at, sink);
    patterns(schema, &at, sink);
    references(schema, &at, sink);
}

/// Tells a schema that is too large to be looked into.
fn bounded(schema: Schema<'_>, at: &str, sink: &mut Sink) -> bool {
    let size = schema.measure();
    let what = (Aspect::Schema, ReasonCode::ToolSchemaTooLarge, "schema_too_large");
    if size.bytes > MOST_BYTES {
        sink.fail(what, at, format!("at most {MOST_BYTES} bytes"), format!("{} bytes", size.bytes));
        return false;
    }
    if size.depth > MOST_DEPTH {
        sink.fail(what, at, format!("at most {MOST_DEPTH} levels"), format!("{} levels", size.depth));
        return false;
    }
    true
}

fn root(schema: Schema<'_>, member: &str, at: &str, sink: &mut Sink) {
    let observed = schema.0.get("type").map_or_else(|| "no `type`".to_owned(), |t| shown(&t.to_string()));
    let expected = format!("`\"type\": \"object\"` at the root of `{member}`, as {} demands", sink.revision);
    let what = (Aspect::Schema, ReasonCode::ToolSchemaInvalid, "schema_root_not_object");
    sink.fail(what, format!("{at}/type"), expected, observed);
}

fn validity(schema: Schema<'_>, at: &str, sink: &mut Sink) {
    let dialect = match schema.stated() {
        Stated::Known(dialect) => dialect,
        Stated::Absent => Dialect::Draft202012,
        Stated::Unknown(uri) => {
            let what = (Aspect::Schema, ReasonCode::ToolSchemaDialectUnknown, "dialect_unknown");
            return sink.fail(what, format!("{at}/$schema"), "a known dialect, such as 2020-12", shown(uri));
        }
        Stated::NotText => {
            let what = (Aspect::Schema, ReasonCode::ToolSchemaInvalid, "dialect_invalid");
            return sink.fail(what, format!("{at}/$schema"), "a text", "another type");
        }
    };
    if dialect < Dialect::Draft7 {
        let observed = format!("{} is judged as such; not every client knows it", dialect.as_str());
        sink.note((Aspect::Schema, "dialect_old"), format!("{at}/$schema"), observed);
    }
    let Some(error) = invalid(dialect, schema.0) else { return };
    let pointer = format!("{at}{}", error.instance_path().as_str());
    let observed = shown(&error.to_string());
    let expected = format!("a schema that is valid by {}", dialect.as_str());
    let what = (Aspect::Schema, ReasonCode::ToolSchemaInvalid, "schema_invalid");
    // 2025-06-18 names no default dialect: what was valid by the one that its SDKs wrote stands
    let silent = schema.stated() == Stated::Absent && !sink.revision.states_dialect();
    if silent && invalid(Dialect::Draft7, schema.0).is_none() {
        sink.warn(what, pointer, expected, format!("{observed} (valid by draft-07, which the schema does not name)"));
    } else {
        sink.fail(what, pointer, expected, observed);
    }
}

fn invalid(dialect: Dialect, schema: &Value) -> Option<ValidationError<'_>> {
    let judged = match dialect {
        Dialect::Draft4 => draft4::meta::validate(schema),
        Dialect::Draft6 => draft6::meta::validate(schema),
        Dialect::Draft7 => draft7::meta::validate(schema),
        Dialect::Draft201909 => draft201909::meta::validate(schema),
        Dialect::Draft202012 => draft202012::meta::validate(schema),
    };
    judged.err()
}

/// Patterns are ECMA-262, and engines differ: one that ours cannot read may still be right, so that it is a warning.
fn patterns(schema: Schema<'_>, at: &str, sink: &mut Sink) {
    let mut wrong = Vec::new();
    schema.each(|members, pointer| {
        if let Some(Value::String(pattern)) = members.get("pattern")
            && !sink.patterns.reads(pattern)
        {
            wrong.push((format!("{at}{pointer}/pattern"), shown(pattern)));
        }
    });
    for (pointer, pattern) in wrong {
        let what = (Aspect::Schema, ReasonCode::ToolSchemaInvalid, "pattern_unreadable");
        sink.warn(what, pointer, "a regular expression that every validator reads", format!("`{pattern}`"));
    }
}

fn references(schema: Schema<'_>, at: &str, sink: &mut Sink) {
    let found = schema.references();
    for reference in &found.all {
        let pointer = format!("{at}{}", reference.pointer);
        let observed = format!("`{}`", shown(&reference.text));
        match reference.target {
            Target::Inside(_) | Target::Metaschema => {}
            Target::Dangling => {
                let what = (Aspect::References, ReasonCode::ToolReferenceDangling, "reference_dangling");
                sink.fail(what, pointer, "a reference to a schema that is there", observed);
            }
            Target::Outside => {
                let what = (Aspect::References, ReasonCode::ToolReferenceExternal, "reference_external");
                sink.fail(what, pointer, "references inside the schema; nothing is fetched", observed);
            }
        }
    }
    if found.too_many {
        let what = (Aspect::References, ReasonCode::ToolSchemaTooLarge, "too_many_references");
        sink.fail(what, at, format!("at most {MOST} references"), "more");
    }
    if let Some(pointer) = found.endless {
        let what = (Aspect::References, ReasonCode::ToolReferenceEndless, "reference_endless");
        let expected = "recursion through `properties` or `items`";
        sink.fail(what, format!("{at}{pointer}"), expected, "a circle that judges the same value for ever");
    } else if let Some(pointer) = found.recursive {
        let observed = "a recursive schema, which is legal: consumers must bound its depth";
        sink.note((Aspect::References, "reference_recursive"), format!("{at}{pointer}"), observed);
    }
}
