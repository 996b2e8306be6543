//! The four hints: truth values that do not contradict each other (N-01).

use ostiary_protocol::mcp::{Declared, HintKind, Tool};
use ostiary_record::ReasonCode;
use serde_json::Value;

use super::{
    lint::{Aspect, Sink, shown},
    members::type_of,
};

pub(super) fn judge(tool: &Tool<'_>, sink: &mut Sink) {
    misplaced(tool, sink);
    let invalid = (Aspect::Hints, ReasonCode::ToolHintInvalid, "annotations_invalid");
    match tool.member("annotations") {
        None => return,
        Some(Value::Object(_)) => {}
        Some(Value::Null) => {
            return sink.warn(invalid, tool.at("annotations"), "an object, or no `annotations`", "null");
        }
        Some(other) => return sink.fail(invalid, tool.at("annotations"), "an object", type_of(other)),
    }
    values(tool, sink);
    misspelt(tool, sink);
    contradictions(tool, sink);
}

fn values(tool: &Tool<'_>, sink: &mut Sink) {
    let what = (Aspect::Hints, ReasonCode::ToolHintInvalid, "hint_not_boolean");
    for hint in tool.hints() {
        let member = hint.kind.member();
        let at = tool.at(&format!("annotations/{member}"));
        let counts = format!("it counts as {}", hint.effective());
        match hint.declared {
            Declared::Absent | Declared::Is(_) => {}
            Declared::Null => sink.warn(what, at, "true, false, or no such member", format!("null; {counts}")),
            Declared::NotBoolean => {
                let value = tool.annotations().and_then(|a| a.get(member)).map(type_of).unwrap_or_default();
                sink.fail(what, at, "true or false", format!("{value}; {counts}"));
            }
        }
    }
    let title = (Aspect::Hints, ReasonCode::ToolFieldInvalid, "annotation_title_invalid");
    match tool.annotations().and_then(|a| a.get("title")) {
        None | Some(Value::String(_)) => {}
        Some(Value::Null) => sink.warn(title, tool.at("annotations/title"), "a text, or no `title`", "null"),
        Some(other) => sink.fail(title, tool.at("annotations/title"), "a text", type_of(other)),
    }
}

/// A member that is nearly a hint says nothing to anybody: `readOnly`, `read_only_hint`, `destructivehint`.
fn misspelt(tool: &Tool<'_>, sink: &mut Sink) {
    let plain = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase());
        let letters: String = letters.collect();
        letters.strip_suffix("hint").map_or(letters.clone(), str::to_owned)
    };
    for name in tool.annotations().into_iter().flat_map(serde_json::Map::keys) {
        let meant = HintKind::ALL.into_iter().find(|k| k.member() != name && plain(k.member()) == plain(name));
        if let Some(kind) = meant {
            let what = (Aspect::Hints, ReasonCode::ToolHintInvalid, "hint_misspelt");
            let observed = format!("`{}`, which no client reads", shown(name));
            sink.warn(what, tool.at(&format!("annotations/{name}")), format!("`{}`", kind.member()), observed);
        }
    }
}

/// A hint beside `annotations` says nothing either, and the default holds, which is the worst case.
fn misplaced(tool: &Tool<'_>, sink: &mut Sink) {
    let what = (Aspect::Hints, ReasonCode::ToolHintInvalid, "hint_misplaced");
    for member in HintKind::ALL.map(HintKind::member).into_iter().filter(|member| tool.member(member).is_some()) {
        let observed = format!("`{member}` in the tool itself, where no client reads it");
        sink.warn(what, tool.at(member), format!("`annotations/{member}`"), observed);
    }
}

fn contradictions(tool: &Tool<'_>, sink: &mut Sink) {
    if !tool.hint(HintKind::ReadOnly).says(true) {
        return;
    }
    if tool.hint(HintKind::Destructive).says(true) {
        let what = (Aspect::Hints, ReasonCode::ToolHintContradictory, "read_only_and_destructive");
        let expected = "a read-only tool that destroys nothing";
        let observed = "readOnlyHint and destructiveHint are both true; the worse counts: it may write and destroy";
        sink.fail(what, tool.at("annotations/destructiveHint"), expected, observed);
    }
    if tool.hint(HintKind::Idempotent).says(false) {
        let observed = "idempotentHint means nothing for a read-only tool";
        sink.note((Aspect::Hints, "idempotent_meaningless"), tool.at("annotations/idempotentHint"), observed);
    }
}
