//! What the texts of one tool hide, and how long they are: models read every one of them (S-04).

use ostiary_protocol::{hidden, mcp::Tool};
use ostiary_record::ReasonCode;
use serde_json::Value;

use super::lint::{Aspect, Sink, shown};

/// Bytes of a description beyond which it deserves a look: nine of ten have less than 622 characters.
const LONG: usize = 4 << 10;

/// Bytes of any text beyond which it is no description any more; the longest seen in the field has 9,241.
const TOO_LONG: usize = 64 << 10;

pub(super) fn judge(tool: &Tool<'_>, sink: &mut Sink) {
    walk(tool.value(), &mut tool.pointer().to_owned(), "", sink);
}

fn walk(value: &Value, at: &mut String, member: &str, sink: &mut Sink) {
    let length = at.len();
    match value {
        Value::String(text) => judge_text(text, at, member, sink),
        Value::Array(items) => {
            for (n, item) in items.iter().enumerate() {
                at.push('/');
                at.push_str(&n.to_string());
                walk(item, at, member, sink);
                at.truncate(length);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                at.push('/');
                if name.contains(['~', '/']) {
                    at.push_str(&name.replace('~', "~0").replace('/', "~1"));
                } else {
                    at.push_str(name);
                }
                hidden_in(name, at, "the member's name", sink);
                walk(value, at, name, sink);
                at.truncate(length);
            }
        }
        _ => {}
    }
}

fn judge_text(text: &str, at: &str, member: &str, sink: &mut Sink) {
    if member == "pattern" {
        // a pattern may have to name the very characters that it keeps out
        return;
    }
    hidden_in(text, at, "the text", sink);
    let what = (Aspect::Text, ReasonCode::ToolTextOversized, "text_oversized");
    let observed = format!("{} bytes", text.len());
    // an icon may stand in the list itself
    if text.len() > TOO_LONG && !text.starts_with("data:") {
        sink.fail(what, at, format!("at most {TOO_LONG} bytes"), observed);
    } else if text.len() > LONG && matches!(member, "description" | "title" | "name") {
        sink.warn(what, at, format!("at most {LONG} bytes, which a person reads"), observed);
    }
}

fn hidden_in(text: &str, at: &str, where_: &str, sink: &mut Sink) {
    let Some(found) = hidden::find(text) else { return };
    let what = (Aspect::Text, ReasonCode::ToolTextHidden, "text_hidden");
    let observed = format!(
        "{where_} has {} hidden character(s), the first a {} (U+{:04X}) at {}",
        found.count,
        found.kind.as_str(),
        u32::from(found.first),
        found.at
    );
    sink.fail(what, shown(at), "text that shows all it says", observed);
}
