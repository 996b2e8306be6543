//! Markdown for a comment on a pull request or a job's summary: the layers, failures first, the statement last.
//!
//! What an agent said is shown in code spans and every other text is escaped: a candidate must not be able to write
//! links, images or mentions into its reviewers' conversation.

mod coverage;

use ostiary_record::{FindingLine, Layer, Outcome, Report};

use super::{
    Broken, Subject,
    weight::{Weight, code, is_empty_handed, place, said, weight},
};

/// Most findings of one kind; a comment holds 65,536 characters, and nobody reads as many.
const ROWS: usize = 40;
/// Most characters of one text in a table.
const CELL: usize = 300;
/// Most characters of a statement.
const STATEMENT: usize = 6000;

/// Reports as one document; what could not be judged stands last.
#[must_use]
pub fn markdown(subjects: &[Subject<'_>], broken: &[Broken<'_>]) -> String {
    let broken = broken.iter().map(|one| {
        format!("## Ostiary: could not run for {}\n\n{}\n", span(one.name), span(&shortened(one.why, STATEMENT)))
    });
    subjects.iter().map(section).chain(broken).collect::<Vec<_>>().join("\n")
}

/// The document of a command that could not run.
#[must_use]
pub fn markdown_broken(message: &str) -> String {
    format!("## Ostiary: could not run\n\n{}\n", span(message))
}

fn section(subject: &Subject<'_>) -> String {
    let report = subject.report;
    let mut text = format!("## Ostiary: {} for {}\n\n", report.verdict, span(subject.name));
    text.push_str(&layers(report));
    for (weight, title) in [(Weight::Broken, "Failed"), (Weight::Unknown, "Could not tell"), (Weight::Aside, "Aside")] {
        text.push_str(&findings(report, weight, title));
    }
    let void: Vec<&str> = of(report, |line| line.finding.verdict.outcome() == Outcome::NotApplicable)
        .map(|line| line.finding.check.0.as_str())
        .collect();
    if !void.is_empty() {
        text.push_str(&format!("\nNot applicable: {}.\n", listed(&void)));
    }
    for (name, profiles) in [("passed", &report.profiles_passed), ("failed", &report.profiles_failed)] {
        if !profiles.is_empty() {
            let names: Vec<String> = profiles.iter().map(ToString::to_string).collect();
            text.push_str(&format!("\nProfiles that {name}: {}.\n", listed(&names)));
        }
    }
    text.push_str(&coverage::coverage(&report.coverage));
    text.push_str(&format!("\n{}\n", escaped(&shortened(&report.statement, STATEMENT))));
    text
}

fn layers(report: &Report) -> String {
    let mut text = "| layer | verdict | blocks |\n| --- | --- | --- |\n".to_owned();
    for layer in Layer::ALL {
        let outcome = report.layers.get(&layer).copied().flatten();
        let verdict = match outcome {
            None => "not asked for".to_owned(),
            Some(Outcome::Pass) => "PASS".to_owned(),
            Some(outcome) => format!("**{outcome}**"),
        };
        let empty = if is_empty_handed(report, layer) { " (nothing could be judged)" } else { "" };
        text.push_str(&format!("| {layer} | {verdict}{empty} | {} gate |\n", layer.blocks()));
    }
    text
}

fn of(report: &Report, wanted: impl Fn(&FindingLine) -> bool) -> impl Iterator<Item = &FindingLine> {
    report.findings.iter().filter(move |line| wanted(line))
}

fn findings(report: &Report, wanted: Weight, title: &str) -> String {
    let mut rows: Vec<(String, String, usize)> = Vec::new();
    for line in of(report, |line| weight(report, line) == wanted) {
        let (reason, rest) = (span(code(line)), rest_of_row(line));
        match rows.iter_mut().find(|(known, beside, _)| *known == reason && *beside == rest) {
            Some((.., times)) => *times += 1,
            None => rows.push((reason, rest, 1)),
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let mut text = format!("\n### {title}\n\n| reason | check | what | where |\n| --- | --- | --- | --- |\n");
    for (reason, rest, times) in rows.iter().take(ROWS) {
        let times = if *times > 1 { format!(" ×{times}") } else { String::new() };
        text.push_str(&format!("| {reason}{times} | {rest}\n"));
    }
    if rows.len() > ROWS {
        text.push_str(&format!("\n… and {} more.\n", rows.len() - ROWS));
    }
    text
}

/// What stands beside the reason; what differs between repetitions alone, the exchange, is left out.
fn rest_of_row(line: &FindingLine) -> String {
    let finding = &line.finding;
    let mut check = span(&finding.check.0);
    for of in [finding.profile.as_ref().map(ToString::to_string), finding.case.as_ref().map(ToString::to_string)] {
        check.extend(of.map(|of| format!("<br>{}", span(&of))));
    }
    let what: Vec<String> = said(line)
        .into_iter()
        .filter(|(name, _)| !matches!(*name, "where" | "covers"))
        .map(
            |(name, text)| {
                if name.is_empty() { escaped(&shortened(&text, CELL)) } else { format!("{name} {}", span(&text)) }
            },
        )
        .collect();
    let mut whereabouts = finding.place.clone();
    whereabouts.exchange = None;
    let place = place(&whereabouts);
    let place = if place.is_empty() { String::new() } else { span(&place) };
    format!("{check} | {} | {place} |", what.join("<br>"))
}

fn listed<T: AsRef<str>>(items: &[T]) -> String {
    let mut names: Vec<String> = items.iter().map(|item| span(item.as_ref())).collect();
    names.dedup();
    names.join(", ")
}

/// A code span on one line: fenced by more backticks than stand in it, with pipes escaped, as tables need it even there.
fn span(text: &str) -> String {
    let text = shortened(text, CELL);
    let flat: String = text.chars().map(visible).collect();
    let longest = flat.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if flat.starts_with('`') || flat.ends_with('`') || flat.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", flat.replace('|', "\\|"))
}

/// Text that means nothing to a Markdown reader, on one line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // mentions and references are looked for after escapes are gone; an empty comment keeps them apart
            '@' | '#' => {
                out.push(c);
                out.push_str("<!-- -->");
            }
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '!' | '|' | '~' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(visible(c)),
        }
    }
    // bare addresses become links, too
    out.replace("://", ":\\//").replace("www.", "www\\.")
}

/// Control characters as spaces, and what is invisible or turns text around as the sign for "something was here".
const fn visible(c: char) -> char {
    match c {
        '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' => ' ',
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => '\u{fffd}',
        _ => c,
    }
}

fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_agent_says_stays_text() {
        assert_eq!(span("a|b"), "`a\\|b`");
        assert_eq!(span("`x` ``y``"), "``` `x` ``y`` ```");
        assert_eq!(span("one\ntwo\u{1b}[31m"), "`one two [31m`");
        assert_eq!(
            escaped("[x](http://e) @ada #1 |<img>"),
            "\\[x\\](http:\\//e) @<!-- -->ada #<!-- -->1 \\|&lt;img&gt;"
        );
        assert_eq!(escaped("a\n# b"), "a #<!-- --> b");
        assert_eq!(span("a\u{202e}b"), "`a\u{fffd}b`");
        assert_eq!(shortened("ü🦀x", 2), "ü🦀…");
    }
}
