//! The document as a list: readable, recognised, whole, and without two tools of one name (M-04).

use std::collections::{BTreeMap, HashMap};

use ostiary_canon::json::JsonError;
use ostiary_protocol::mcp::{Form, NotTools, Snapshot, Tool};
use ostiary_record::{ReasonCode, Severity};
use serde_json::Value;

use super::{
    lint::{Aspect, Issue, Sink, shown},
    members::Rule,
};

/// Tools of one list beyond which a model is hardly served; the largest list seen in the field has 302.
const MANY: usize = 1_000;

/// What 2026-07-28 requires beside the tools.
const RESULT: &[Rule] = &[
    Rule { member: "resultType", fits: |v| v.as_str() == Some("complete"), expected: "`complete`" },
    Rule { member: "ttlMs", fits: |v| v.as_u64().is_some(), expected: "a whole number of milliseconds" },
    Rule {
        member: "cacheScope",
        fits: |v| matches!(v.as_str(), Some("public" | "private")),
        expected: "`public` or `private`",
    },
];

pub(super) fn malformed(error: &JsonError) -> Issue {
    refusal(ReasonCode::ToolListMalformed, "malformed", "one JSON document", error.to_string())
}

pub(super) fn not_recognized(other: NotTools) -> Issue {
    let observed = other.describe();
    refusal(ReasonCode::ToolListNotRecognized, other.as_str(), "an answer to tools/list", observed.to_owned())
}

fn refusal(reason: ReasonCode, detail: &'static str, expected: &str, observed: String) -> Issue {
    Issue {
        aspect: Aspect::List,
        severity: Severity::Error,
        reason: Some(reason),
        detail,
        pointer: String::new(),
        tool: None,
        expected: expected.to_owned(),
        observed,
    }
}

/// Judges the list; `answered` = it is just what a server said.
pub(super) fn judge(snapshot: &Snapshot<'_>, answered: bool, sink: &mut Sink) {
    cursor(snapshot, sink);
    result(snapshot, answered, sink);
    match snapshot.form {
        Form::Bare => {
            sink.note((Aspect::List, "bare_list"), "", "a bare list: whether these are all tools cannot be seen");
        }
        Form::Single => sink.note((Aspect::List, "single_tool"), "", "one tool, which says nothing about others"),
        Form::ListResult | Form::Envelope => {}
    }
    if snapshot.tools.len() > MANY {
        let observed = format!("{} tools", snapshot.tools.len());
        let what = (Aspect::List, ReasonCode::ToolListIncomplete, "too_many_tools");
        sink.warn(what, snapshot.pointer, format!("at most {MANY} tools, which a consumer can keep apart"), observed);
    }
}

/// A cursor means that there is more: what is judged here is not what the server has.
fn cursor(snapshot: &Snapshot<'_>, sink: &mut Sink) {
    let Some(cursor) = snapshot.result_member("nextCursor") else { return };
    let pointer = snapshot.result_pointer("nextCursor");
    let invalid = (Aspect::List, ReasonCode::ToolFieldInvalid, "next_cursor_invalid");
    match cursor {
        Value::Null => sink.warn(invalid, pointer, "no `nextCursor` at the end of the list", "null"),
        // an empty cursor is one like any other in 2026-07-28; before, many servers meant the end by it
        Value::String(text) if text.is_empty() && !sink.revision.is_stateless() => {
            sink.warn(invalid, pointer, "no `nextCursor` at the end of the list", "an empty text");
        }
        Value::String(_) => {
            let what = (Aspect::List, ReasonCode::ToolListIncomplete, "first_page_only");
            sink.fail(what, pointer, "all tools of the server", "one page of a longer list: `nextCursor` is set");
        }
        _ => sink.fail(invalid, pointer, "a text, or nothing", "another type"),
    }
}

/// The members of the result. Files are often trimmed, so that only an answer as it came is held to it.
fn result(snapshot: &Snapshot<'_>, answered: bool, sink: &mut Sink) {
    if !sink.revision.is_stateless() || snapshot.result.is_none() {
        return;
    }
    for Rule { member: name, fits, expected } in RESULT {
        let pointer = snapshot.result_pointer(name);
        match snapshot.result_member(name) {
            None if answered => {
                let what = (Aspect::List, ReasonCode::ToolFieldMissing, "result_member_missing");
                sink.warn(what, pointer, format!("`{name}`, which 2026-07-28 requires"), "nothing");
            }
            None => {}
            Some(value) if fits(value) => {}
            Some(value) => {
                let what = (Aspect::List, ReasonCode::ToolFieldInvalid, "result_member_invalid");
                sink.fail(what, pointer, *expected, shown(&value.to_string()));
            }
        }
    }
}

/// The place of each tool whose name was there before, with the place of the first.
pub(super) fn duplicates(snapshot: &Snapshot<'_>) -> BTreeMap<usize, usize> {
    let mut first: HashMap<&str, usize> = HashMap::with_capacity(snapshot.tools.len());
    let mut out = BTreeMap::new();
    for (n, tool) in snapshot.tools.iter().enumerate() {
        let Some(name) = tool.name() else { continue };
        match first.get(name) {
            Some(earlier) => drop(out.insert(n, *earlier)),
            None => drop(first.insert(name, n)),
        }
    }
    out
}

pub(super) fn duplicate(tool: &Tool<'_>, first: usize, sink: &mut Sink) {
    let observed = format!("`{}` is the name of tool {first}, too", shown(tool.name().unwrap_or_default()));
    let what = (Aspect::List, ReasonCode::ToolNameDuplicate, "name_duplicate");
    sink.fail(what, tool.at("name"), "a name of its own", observed);
}
