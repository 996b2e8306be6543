//! What others wrote, made safe to look at.
//!
//! A name, a task state or a reason may hold whatever its author liked: codes that move the cursor or retitle the
//! window, marks that turn a line around, line breaks that forge a line of ours, commands that a CI system obeys when
//! it reads them in a log. Nothing of that is dropped, all of it is shown.

use super::painted;

/// Characters that take no room or change the order of others, beside the control characters.
const UNSEEN: [(char, char); 16] = [
    ('\u{ad}', '\u{ad}'),
    ('\u{34f}', '\u{34f}'),
    ('\u{61c}', '\u{61c}'),
    ('\u{115f}', '\u{1160}'),
    ('\u{17b4}', '\u{17b5}'),
    ('\u{180b}', '\u{180f}'),
    ('\u{200b}', '\u{200f}'),
    ('\u{2028}', '\u{202e}'),
    ('\u{2060}', '\u{206f}'),
    ('\u{3164}', '\u{3164}'),
    ('\u{fe00}', '\u{fe0f}'),
    ('\u{feff}', '\u{feff}'),
    ('\u{ffa0}', '\u{ffa0}'),
    ('\u{fff0}', '\u{fffb}'),
    ('\u{1d173}', '\u{1d17a}'),
    ('\u{e0000}', '\u{e0fff}'),
];

/// How commands to a CI system begin that count anywhere in a line.
const COMMANDS: [&str; 2] = ["##[", "##vso["];

/// A text as one line.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // a command to a CI system may be indented
    let indent = text.len() - text.trim_start().len();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        if let Some(known) = painted().iter().find(|known| rest.starts_with(known.as_str())) {
            out.push_str(known);
            rest = &rest[known.len()..];
            continue;
        }
        let leads = text.len() - rest.len() == indent && rest.starts_with("::");
        if leads || COMMANDS.iter().any(|command| rest.starts_with(command)) {
            out.extend(c.escape_unicode());
        } else if unseen(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// A text whose line breaks are ours.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    text.split('\n').map(visible).collect::<Vec<_>>().join("\n")
}

/// A JSON text with the same meaning, whose strings hold nothing that a terminal obeys.
#[must_use]
pub fn visible_json(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut units = [0; 2];
    for c in text.chars() {
        if c == '\n' || !unseen(c) {
            out.push(c);
        } else {
            // JSON has no other place for such a character than a string
            out.extend(c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")));
        }
    }
    out
}

fn unseen(c: char) -> bool {
    c.is_control() || UNSEEN.iter().any(|&(first, last)| (first..=last).contains(&c))
}

#[cfg(test)]
mod tests {
    use super::{visible, visible_json, visible_lines};

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        for (wrote, shown) in [
            ("\u{1b}[2J\u{1b}]0;owned\u{7}", "\\u{1b}[2J\\u{1b}]0;owned\\u{7}"),
            ("\u{1b}[32mPASS", "\\u{1b}[32mPASS"),
            ("a\r\nPASS  all is well", "a\\r\\nPASS  all is well"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("safe\u{202e}gpj.exe", "safe\\u{202e}gpj.exe"),
            ("ad\u{200b}min", "ad\\u{200b}min"),
            ("\u{e0041}", "\\u{e0041}"),
            ("a\u{2028}b", "a\\u{2028}b"),
        ] {
            assert_eq!(visible(wrote), shown);
            assert_eq!(visible(shown), shown, "shown twice is shown once");
        }
    }

    #[test]
    fn what_a_ci_system_would_obey_is_shown() {
        assert_eq!(visible("::error::forged"), "\\u{3a}:error::forged");
        assert_eq!(visible("  ::error::forged"), "  \\u{3a}:error::forged");
        assert_eq!(visible_lines("a\n::add-mask::b"), "a\n\\u{3a}:add-mask::b");
        assert_eq!(visible("x ##[error]y"), "x \\u{23}#[error]y");
        assert_eq!(visible("##vso[task.setvariable]"), "\\u{23}#vso[task.setvariable]");
    }

    #[test]
    fn honest_text_stays_as_it_is() {
        for text in ["", "état: 完了 🙂", "crate::module, ## title, a\\b", "https://[::1]:8420/x"] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let value = serde_json::json!({"state": "\u{1b}]0;x\u{7}\u{9b}\u{202e}\u{e0041}\u{7f}é"});
        let text = visible_json(&serde_json::to_string_pretty(&value).unwrap());
        assert!(text.chars().all(|c| c == '\n' || !super::unseen(c)), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
