//! Names and scalars as they are written into YAML.

use ostiary_protocol::hidden;
use serde_json::Value;

/// A name of lower-case letters, digits and `-`.
pub(super) fn slug(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => out.push(c.to_ascii_lowercase()),
            _ if out.ends_with('-') || out.is_empty() => {}
            _ => out.push('-'),
        }
    }
    let short: String = out.trim_end_matches('-').chars().take(LONGEST).collect();
    if short.is_empty() { "unnamed".to_owned() } else { short }
}

/// Longest name that is made of a text: names of files and cases stay readable.
const LONGEST: usize = 60;

/// A text as a YAML scalar: bare where no reader can take it for anything else, else in JSON's quotes, which YAML reads.
pub(super) fn scalar(text: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let word = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.chars().all(bare);
    let special = matches!(
        text.to_ascii_lowercase().as_str(),
        "true" | "false" | "yes" | "no" | "on" | "off" | "null" | "y" | "n"
    );
    if word && !special && !text.contains(MARKED) {
        return text.to_owned();
    }
    flow(&Value::from(text))
}

/// A value as YAML reads it on one line: JSON, in which every character is seen and nothing looks like a mark of ours.
pub(super) fn flow(value: &Value) -> String {
    let json = value.to_string().replace(MARKED, &format!("\\u{:04x}{}", u32::from('D'), &MARKED[1..]));
    // only texts hold such characters, so that an escape of theirs is one for YAML, too
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match u32::from(c) {
            _ if !hides(c) => out.push(c),
            code @ 0..=0xFFFF => out.push_str(&format!("\\u{code:04x}")),
            code => out.push_str(&format!("\\U{code:08x}")),
        }
    }
    out
}

/// A value as a JSON document in which every character is seen.
pub(super) fn document(value: &Value) -> String {
    let json = serde_json::to_string_pretty(value).expect("a JSON value is always JSON");
    let (mut out, mut units) = (String::with_capacity(json.len() + 1), [0; 2]);
    for c in json.chars() {
        if c == '\n' || !hides(c) {
            out.push(c);
        } else {
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out + "\n"
}

/// The word by which people search for what is theirs to decide; a stranger does not write it.
const MARKED: &str = "DECIDE";

fn hides(c: char) -> bool {
    c.is_control() || (!c.is_ascii() && hidden::find(c.encode_utf8(&mut [0; 4])).is_some())
}

/// A flow list of texts.
pub(super) fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(scalar).collect();
    format!("[{}]", items.join(", "))
}

/// A text on one line of a comment: whatever a stranger wrote cannot end the comment, hide in it, or look like a mark
/// of ours.
pub(super) fn comment(text: &str) -> String {
    let text = text.replace(MARKED, "decide");
    text.chars().map(|c| if hides(c) { ' ' } else { c }).take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_of_any_text() {
        for (text, name) in
            [("Text statistics", "text-statistics"), ("Ünïcode/Agent!", "n-code-agent"), ("…", "unnamed")]
        {
            assert_eq!(slug(text), name, "{text}");
        }
    }

    #[test]
    fn what_yaml_could_read_otherwise_is_quoted() {
        for (text, written) in [
            ("application/json", "application/json"),
            ("1.0", "\"1.0\""),
            ("no", "\"no\""),
            ("a: b # c", "\"a: b # c\""),
            ("x\ny", "\"x\\ny\""),
            ("", "\"\""),
            ("a\u{202e}b\u{7f}", "\"a\\u202eb\\u007f\""),
            ("\u{e0041}", "\"\\U000e0041\""),
            ("x # DECIDE: y", "\"x # \\u0044ECIDE: y\""),
            ("DECIDE", "\"\\u0044ECIDE\""),
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    #[test]
    fn a_strangers_line_break_stays_in_the_comment() {
        assert_eq!(comment("a\nactivate: [x]"), "a activate: [x]");
        assert_eq!(comment("a # DECIDE: b\u{202e}c"), "a # decide: b c");
    }
}
