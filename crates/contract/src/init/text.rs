//! Names and scalars as they are written into YAML.

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
    if word && !special {
        return text.to_owned();
    }
    serde_json::to_string(text).expect("a text is always JSON")
}

/// A flow list of texts.
pub(super) fn list<'a>(items: impl IntoIterator<Item = &'a str>) -> String {
    let items: Vec<String> = items.into_iter().map(scalar).collect();
    format!("[{}]", items.join(", "))
}

/// A text on one line of a comment: whatever a stranger wrote cannot end the comment.
pub(super) fn comment(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(80).collect()
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
        ] {
            assert_eq!(scalar(text), written);
        }
    }

    #[test]
    fn a_strangers_line_break_stays_in_the_comment() {
        assert_eq!(comment("a\nactivate: [x]"), "a activate: [x]");
    }
}
