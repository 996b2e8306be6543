//! Descriptions held against hints and schema: what prose says is never a permission, and a contradiction is worth a look
//! (S-04).
//!
//! Prose is read by a few plain words in places where they can hardly mean anything else, so that a warning is nearly
//! always right; what is phrased otherwise passes unseen.

use ostiary_protocol::mcp::{HintKind, Tool};
use ostiary_record::ReasonCode;
use serde_json::Value;

use super::lint::{Aspect, Sink, shown};

/// Verbs that, at the start of a name or description, say that something is changed.
const CHANGES: [&str; 16] = [
    "create",
    "delete",
    "update",
    "write",
    "edit",
    "insert",
    "remove",
    "drop",
    "send",
    "publish",
    "upload",
    "rename",
    "overwrite",
    "destroy",
    "purge",
    "wipe",
];

/// Those of them that say that something existing is lost.
const DESTROYS: [&str; 7] = ["delete", "remove", "drop", "overwrite", "destroy", "purge", "wipe"];

const READS_ONLY: [&str; 5] = ["read-only", "read only", "does not modify", "without modifying", "has no side effects"];
const NOT_READ_ONLY: [&str; 3] = ["not read-only", "non-read-only", "not read only"];
const REPEATS: [&str; 4] = ["not idempotent", "each call creates", "every call creates", "each call adds"];
const REACHES_OUT: [&str; 4] = ["searches the web", "search the web", "from the internet", "on the internet"];
const NO_ARGUMENTS: [&str; 4] =
    ["takes no arguments", "takes no parameters", "requires no arguments", "requires no parameters"];

pub(super) fn judge(tool: &Tool<'_>, sink: &mut Sink) {
    let description = tool.description().unwrap_or_default();
    // a hostile description is long; whoever wants to be understood says it early
    let text: String = description.chars().take(4_000).flat_map(char::to_lowercase).collect();
    hints(tool, &text, sink);
    arguments(tool, &text, sink);
    properties(tool, sink);
}

fn contradicts(sink: &mut Sink, detail: &'static str, at: String, declared: &str, said: String) {
    let what = (Aspect::Claims, ReasonCode::ToolDescriptionContradicts, detail);
    sink.warn(what, at, format!("prose that agrees with {declared}"), said);
}

fn hints(tool: &Tool<'_>, text: &str, sink: &mut Sink) {
    let says = |kind: HintKind, value: bool| tool.hint(kind).says(value);
    let holds = |phrases: &[&'static str]| phrases.iter().copied().find(|p| text.contains(p));
    let at = || tool.at("description");
    if says(HintKind::ReadOnly, true)
        && let Some(verb) = verb(tool, text, &CHANGES)
    {
        contradicts(sink, "changes_and_read_only", at(), "readOnlyHint true", format!("it begins with `{verb}`"));
    }
    if says(HintKind::Destructive, false)
        && let Some(verb) = verb(tool, text, &DESTROYS)
    {
        contradicts(
            sink,
            "destroys_and_not_destructive",
            at(),
            "destructiveHint false",
            format!("it begins with `{verb}`"),
        );
    }
    if holds(&NOT_READ_ONLY).is_none()
        && !says(HintKind::ReadOnly, true)
        && let Some(phrase) = holds(&READS_ONLY)
    {
        if says(HintKind::ReadOnly, false) {
            contradicts(sink, "reads_only_and_writes", at(), "readOnlyHint false", format!("it says `{phrase}`"));
        } else {
            let observed = format!("the prose says `{phrase}` and no hint does: reckon with writes");
            sink.note((Aspect::Claims, "prose_is_no_hint"), at(), observed);
        }
    }
    if says(HintKind::Idempotent, true)
        && let Some(phrase) = holds(&REPEATS)
    {
        contradicts(sink, "repeats_and_idempotent", at(), "idempotentHint true", format!("it says `{phrase}`"));
    }
    if says(HintKind::OpenWorld, false)
        && let Some(phrase) = holds(&REACHES_OUT)
    {
        contradicts(sink, "reaches_out_and_closed", at(), "openWorldHint false", format!("it says `{phrase}`"));
    }
}

/// The first word of the description, or else of the name, where it is one of these verbs.
fn verb(tool: &Tool<'_>, text: &str, verbs: &[&'static str]) -> Option<&'static str> {
    let first = text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| !word.is_empty()).unwrap_or_default();
    let name = tool.name().unwrap_or_default();
    let own = name.split(|c: char| !c.is_ascii_lowercase()).next().unwrap_or_default();
    let is = |word: &str, verb: &str| word == verb || (word.strip_suffix('s') == Some(verb));
    verbs.iter().copied().find(|verb| is(first, verb) || own == *verb)
}

fn arguments(tool: &Tool<'_>, text: &str, sink: &mut Sink) {
    let required = required(tool.member("inputSchema"));
    if let (Some(phrase), Some(one)) = (NO_ARGUMENTS.iter().find(|p| text.contains(*p)), required.first()) {
        let said = format!("it says `{phrase}`, and `{}` is required", shown(one));
        contradicts(sink, "no_arguments_and_required", tool.at("description"), "the required parameters", said);
    }
}

/// What a parameter's own description says about whether it must be there.
fn properties(tool: &Tool<'_>, sink: &mut Sink) {
    let schema = tool.member("inputSchema");
    let required = required(schema);
    let all = schema.and_then(|s| s.get("properties")).and_then(Value::as_object);
    for (name, property) in all.into_iter().flatten() {
        let Some(prose) = property.get("description").and_then(Value::as_str) else { continue };
        let prose: String = prose.chars().take(200).flat_map(char::to_lowercase).collect();
        let is_required = required.contains(&name.as_str());
        let optional = prose.starts_with("optional") || prose.starts_with("(optional)");
        let demanded = prose.starts_with("(required)") || prose.starts_with("required.");
        let step = name.replace('~', "~0").replace('/', "~1");
        let at = || tool.at(&format!("inputSchema/properties/{step}/description"));
        if optional && is_required {
            contradicts(sink, "optional_and_required", at(), "`required`", "it says `optional`".to_owned());
        } else if demanded && !is_required && property.get("default").is_none() {
            contradicts(sink, "required_and_optional", at(), "`required`", "it says `required`".to_owned());
        }
    }
}

fn required(schema: Option<&Value>) -> Vec<&str> {
    let list = schema.and_then(|s| s.get("required")).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).collect()
}
