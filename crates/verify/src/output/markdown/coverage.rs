//! What was covered, in a few lines, and every cause of what was not, folded away.

use ostiary_record::{Coverage, Outcome};

use super::{CELL, ROWS, escaped, shortened, span};

/// Nothing for a card or list that was judged alone: it drove nothing.
pub(super) fn coverage(coverage: &Coverage) -> String {
    if coverage.scenarios.is_empty() {
        return String::new();
    }
    let counts = coverage.scenarios.iter().map(|c| match c.not_run {
        0 => format!("{} {}", escaped(&c.binding), c.driven),
        not_run => format!("{} {} ({not_run} not run)", escaped(&c.binding), c.driven),
    });
    let (driven, asked) = coverage.driven();
    let mut text = format!(
        "\n### Coverage\n\nScenarios: {}. Promises shown: {} of {}. Combinations: {driven} of {asked}.\n",
        counts.collect::<Vec<_>>().join(", "),
        coverage.shown(),
        coverage.promises.len(),
    );
    if !coverage.incidents.is_empty() {
        let said = |i: &ostiary_record::IncidentCoverage| {
            format!("{} {}", span(&i.case.0), i.verdict.map_or("not driven", Outcome::as_str))
        };
        let all: Vec<String> = coverage.incidents.iter().take(ROWS).map(said).collect();
        text.push_str(&format!("Past incidents: {}.\n", all.join(", ")));
    }
    if coverage.uncovered.is_empty() {
        return text;
    }
    text.push_str(&format!("\n<details><summary>Left uncovered: {}</summary>\n\n", coverage.uncovered.len()));
    text.push_str("| what | why | cause |\n| --- | --- | --- |\n");
    for one in coverage.uncovered.iter().take(ROWS) {
        let cause = escaped(&shortened(&one.detail, CELL));
        text.push_str(&format!("| {} | {} | {cause} |\n", span(&one.what), one.why.as_str()));
    }
    if coverage.uncovered.len() > ROWS {
        text.push_str(&format!("\n… and {} more.\n", coverage.uncovered.len() - ROWS));
    }
    text.push_str("\n</details>\n");
    text
}
