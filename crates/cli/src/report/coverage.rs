//! What was covered, for people: totals and what stays uncovered beside every report, everything where it is asked for.

use ostiary_record::{Coverage, Gap, Outcome, Uncovered};

use crate::console::{Console, coloured};

/// Most lines of what stays uncovered beside a report; the table has them all.
const FEW: usize = 12;
/// Most ids in one cell; a cause that leaves more open is not made clearer by them.
const IDS: usize = 8;

/// Totals and causes.
pub(super) fn short(console: &Console, coverage: &Coverage) {
    // a card or list that was judged alone drove nothing, and has no combinations
    if coverage.scenarios.is_empty() {
        return;
    }
    console.line(format!("scenarios  {}", counts(coverage)));
    console.line(format!(" coverage  {}", totals(coverage)));
}

/// What stays uncovered, one line a cause. What the policy or a constraint leaves out is counted alone.
pub(super) fn causes(console: &Console, coverage: &Coverage) {
    let quiet = |gap: Gap| matches!(gap, Gap::Policy | Gap::Constraint | Gap::NotAsked);
    let loud: Vec<&Uncovered> = coverage.uncovered.iter().filter(|u| !quiet(u.why)).collect();
    if coverage.scenarios.is_empty() || loud.is_empty() {
        return;
    }
    console.line("");
    console.line("Left uncovered (`--coverage` shows all):");
    for one in loud.iter().take(FEW) {
        console.line(format!("  {}  {}: {}", one.why.as_str(), one.what, one.detail));
    }
    if loud.len() > FEW {
        console.line(format!("  … and {} more", loud.len() - FEW));
    }
}

/// Risk × combination in full.
pub(super) fn full(console: &Console, coverage: &Coverage) {
    console.line("");
    console.line("Promises, by what they were covered with:");
    let promise = |p: &ostiary_record::PromiseCoverage| {
        let by = p.by.iter().map(move |by| {
            let profile = by.profile.clone().unwrap_or_else(|| "–".to_owned());
            let reason = by.reason.map_or_else(String::new, |r| r.to_string());
            let variants = by.variants.join("\n");
            [p.id.clone(), by.check.to_string(), profile, by.verdict.as_str().to_owned(), reason, variants]
        });
        by.collect::<Vec<_>>()
    };
    let head = ["promise", "check", "profile", "verdict", "reason", "combinations"];
    console.table(&head, coverage.promises.iter().flat_map(promise));
    for space in &coverage.combinations {
        combinations(console, space);
    }
    if !coverage.incidents.is_empty() {
        console.line("");
        console.line("Past incidents, always tried:");
        let rows = coverage.incidents.iter().map(|incident| {
            let reason = incident.reason.map_or_else(String::new, |r| r.to_string());
            [incident.case.to_string(), incident.file.clone(), outcome(incident.verdict), reason]
        });
        console.table(&["case", "file", "verdict", "reason"], rows);
    }
    console.line("");
    console.line("Left uncovered:");
    let rows = coverage.uncovered.iter().map(|u| [u.what.clone(), u.why.as_str().to_owned(), u.detail.clone(), ids(u)]);
    console.table(&["what", "why", "cause", "promises"], rows);
}

fn combinations(console: &Console, space: &ostiary_record::RiskCoverage) {
    console.line("");
    console.line(format!(
        "Combinations of {} operations ({}), {}: {} of {}, {} of {} parts driven",
        space.risk,
        space.operations.join(", "),
        space.policy,
        space.rows.len(),
        space.product,
        space.parts.driven,
        space.parts.possible,
    ));
    // an axis of one value says nothing in a row
    let axes: Vec<&String> = space.axes.iter().filter(|(_, values)| values.len() > 1).map(|(name, _)| name).collect();
    let head: Vec<&str> = axes.iter().map(|a| a.as_str()).chain(["verdict"]).collect();
    let rows = space.rows.iter().map(|row| {
        let cells = axes.iter().map(|axis| row.values.get(*axis).cloned().unwrap_or_default());
        cells.chain([outcome(row.verdict)]).collect::<Vec<_>>()
    });
    console.table(&head, rows);
}

fn outcome(verdict: Option<Outcome>) -> String {
    verdict.map_or("not driven", Outcome::as_str).to_owned()
}

fn ids(uncovered: &Uncovered) -> String {
    let some = uncovered.ids.iter().take(IDS).cloned().collect::<Vec<_>>().join(", ");
    let more = uncovered.ids.len().saturating_sub(IDS);
    if more > 0 { format!("{some} and {more} more") } else { some }
}

/// "JSON-RPC 41, HTTP+JSON 39, gRPC 38".
fn counts(coverage: &Coverage) -> String {
    let one = |count: &ostiary_record::BindingCount| match count.not_run {
        0 => format!("{} {}", count.binding, count.driven),
        not_run => format!("{} {} ({not_run} not run)", count.binding, count.driven),
    };
    coverage.scenarios.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn totals(coverage: &Coverage) -> String {
    let (driven, asked) = coverage.driven();
    let of = |outcome: Outcome| coverage.promises.iter().filter(|p| p.verdict == outcome).count();
    let incidents = coverage.incidents.iter().filter(|i| i.verdict.is_some()).count();
    format!(
        "{} of {} promises shown ({} {}, {} {}), {driven} of {asked} combinations, {incidents} of {} past incidents",
        coverage.shown(),
        coverage.promises.len(),
        of(Outcome::Pass),
        coloured(Outcome::Pass.as_str()),
        of(Outcome::Fail),
        coloured(Outcome::Fail.as_str()),
        coverage.incidents.len(),
    )
}
