//! The members of one tool: those that must be there, their types, and the name (M-04).

use ostiary_protocol::{
    hidden,
    mcp::{NotTools, Tool, snapshot::form_of},
};
use ostiary_record::ReasonCode;
use serde_json::Value;

use super::lint::{Aspect, Sink, shown};

/// The longest name that 2025-11-25 and later allow.
const NAME_CHARS: usize = 128;

pub(super) fn judge(tool: &Tool<'_>, sink: &mut Sink) {
    if !tool.value().is_object() {
        let what = (Aspect::Members, ReasonCode::ToolFieldInvalid, "tool_not_object");
        return sink.fail(what, tool.pointer(), "an object", type_of(tool.value()));
    }
    name(tool, sink);
    TYPES.iter().for_each(|rule| typed(tool, rule, sink));
    input_schema(tool, sink);
    icons(tool, sink);
    execution(tool, sink);
}

/// What a member must be, where it is there.
pub(super) struct Rule {
    pub(super) member: &'static str,
    pub(super) fits: fn(&Value) -> bool,
    pub(super) expected: &'static str,
}

/// Optional members with their types; schemas and annotations have checks of their own.
const TYPES: &[Rule] = &[
    Rule { member: "title", fits: Value::is_string, expected: "a text" },
    Rule { member: "description", fits: Value::is_string, expected: "a text" },
    Rule { member: "icons", fits: Value::is_array, expected: "a list" },
    Rule { member: "execution", fits: Value::is_object, expected: "an object" },
    Rule { member: "_meta", fits: Value::is_object, expected: "an object" },
];

fn name(tool: &Tool<'_>, sink: &mut Sink) {
    let pointer = tool.at("name");
    let missing = (Aspect::Members, ReasonCode::ToolFieldMissing, "name_missing");
    match tool.member("name") {
        None | Some(Value::Null) => sink.fail(missing, pointer, "`name`", "nothing"),
        Some(Value::String(name)) if name.is_empty() => sink.fail(missing, pointer, "`name`", "an empty text"),
        Some(Value::String(name)) => name_form(name, pointer, sink),
        Some(other) => {
            let what = (Aspect::Members, ReasonCode::ToolFieldInvalid, "name_invalid");
            sink.fail(what, pointer, "a text", type_of(other));
        }
    }
}

/// The form is a SHOULD: existing tools keep their names. What is hidden in a name is told by another check.
fn name_form(name: &str, pointer: String, sink: &mut Sink) {
    if !sink.revision.has_name_rule() || hidden::find(name).is_some() {
        return;
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    let length = name.chars().count();
    if length > NAME_CHARS || !name.chars().all(allowed) {
        let what = (Aspect::Members, ReasonCode::ToolNameInvalid, "name_form");
        let observed = format!("`{}` of {length} characters", shown(name));
        sink.warn(what, pointer, "1 to 128 characters of A-Z, a-z, 0-9, `_`, `-` and `.`", observed);
    }
}

fn typed(tool: &Tool<'_>, Rule { member, fits, expected }: &Rule, sink: &mut Sink) {
    let what = (Aspect::Members, ReasonCode::ToolFieldInvalid, "member_invalid");
    match tool.member(member) {
        None => {}
        // means "not set" to everybody who reads it at all
        Some(Value::Null) => sink.warn(what, tool.at(member), format!("{expected}, or no `{member}`"), "null"),
        Some(value) if fits(value) => {}
        Some(value) => sink.fail(what, tool.at(member), *expected, type_of(value)),
    }
}

fn input_schema(tool: &Tool<'_>, sink: &mut Sink) {
    if tool.member("inputSchema").is_some_and(|v| !v.is_null()) {
        return;
    }
    let what = (Aspect::Members, ReasonCode::ToolFieldMissing, "input_schema_missing");
    let observed = match (tool.member("inputSchema"), form_of(tool.value())) {
        (Some(_), _) => "null".to_owned(),
        (None, Some(form)) if form != NotTools::Catalogue => {
            format!("nothing; the tool has the form of {}", form.as_str())
        }
        (None, _) => "nothing".to_owned(),
    };
    sink.fail(what, tool.at("inputSchema"), "`inputSchema`, in every revision", observed);
}

fn icons(tool: &Tool<'_>, sink: &mut Sink) {
    for (n, icon) in tool.member("icons").and_then(Value::as_array).into_iter().flatten().enumerate() {
        let at = tool.at(&format!("icons/{n}/src"));
        let Some(src) = icon.get("src").and_then(Value::as_str) else {
            let what = (Aspect::Members, ReasonCode::ToolFieldInvalid, "icon_invalid");
            sink.fail(what, at, "an object with the text `src`", type_of(icon));
            continue;
        };
        if !(src.starts_with("https://") || src.starts_with("data:image/")) {
            let what = (Aspect::Members, ReasonCode::ToolFieldInvalid, "icon_address");
            sink.warn(what, at, "an https or data address", shown(src));
        }
    }
}

/// `taskSupport` means something in 2025-11-25 only; elsewhere it is one more unknown member.
fn execution(tool: &Tool<'_>, sink: &mut Sink) {
    let Some(support) = tool.member("execution").and_then(|e| e.get("taskSupport")) else { return };
    let known = matches!(support.as_str(), Some("forbidden" | "optional" | "required"));
    if sink.revision.has_task_support() && !known {
        let what = (Aspect::Members, ReasonCode::ToolFieldInvalid, "task_support_invalid");
        let observed = shown(&support.to_string());
        sink.fail(what, tool.at("execution/taskSupport"), "`forbidden`, `optional` or `required`", observed);
    } else if !sink.revision.has_task_support() {
        let observed = format!("`taskSupport` means nothing in {}", sink.revision);
        sink.note((Aspect::Members, "task_support_ignored"), tool.at("execution/taskSupport"), observed);
    }
}

/// What a value is, in words.
pub(super) fn type_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) => format!("the text `{}`", shown(text)),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
