//! A report as people read it: the verdict, the layers, everything that is not PASS, and what that proves.

use ostiary_record::{FindingLine, Outcome, Report, Severity, Verdict};

use crate::console::{Console, coloured};

/// Prints a report.
pub fn print(console: &Console, report: &Report) {
    console.line(format!("{}  {}", coloured(report.verdict.as_str()), counted(report)));
    console.table(
        &["layer", "verdict", "blocks"],
        report.layers.iter().map(|(layer, outcome)| {
            let outcome = outcome.map_or("not asked for", Outcome::as_str);
            [layer.to_string(), outcome.to_owned(), format!("{} gate", layer.blocks())]
        }),
    );
    for (name, digest) in
        [("bundle", &report.bundle_digest), ("producer", &report.producer_digest), ("card", &report.card_digest)]
    {
        console.line(format!("{name:>9}  {}", digest.as_deref().unwrap_or("unknown")));
    }
    for (name, profiles) in [("passed", &report.profiles_passed), ("failed", &report.profiles_failed)] {
        let names: Vec<String> = profiles.iter().map(ToString::to_string).collect();
        console
            .line(format!("{name:>9}  {}", if names.is_empty() { "no profile".to_owned() } else { names.join(", ") }));
    }
    for outcome in [Outcome::Fail, Outcome::Inconclusive, Outcome::NotApplicable] {
        for line in report.findings.iter().filter(|line| line.finding.verdict.outcome() == outcome) {
            print_finding(console, line);
        }
    }
    console.line("");
    console.line(report.statement.replace(" Not verified: ", "\n\nNot verified: "));
}

fn counted(report: &Report) -> String {
    let counts = &report.counts;
    let mut text = format!(
        "{} passed, {} failed, {} inconclusive, {} not applicable",
        counts.pass, counts.fail, counts.inconclusive, counts.not_applicable
    );
    if counts.warnings > 0 {
        text = format!("{text}, {} warnings", counts.warnings);
    }
    text
}

fn print_finding(console: &Console, line: &FindingLine) {
    let finding = &line.finding;
    let outcome = finding.verdict.outcome();
    let counts = match finding.severity {
        Severity::Error => "",
        Severity::Warning => " (warning)",
        Severity::Note => " (note)",
    };
    let reason = finding.verdict.reason().map_or("", |reason| reason.as_str());
    let scope = finding.profile.as_ref().map(|profile| format!("  {profile}")).unwrap_or_default();
    console.line(format!("\n{}{counts}  {reason}  {}{scope}", coloured(outcome.as_str()), finding.check));
    if outcome == Outcome::NotApplicable {
        return;
    }
    detail(console, "", &finding.message);
    match &finding.verdict {
        Verdict::Fail { expected, observed, .. } => {
            detail(console, "expected", expected);
            detail(console, "observed", observed);
        }
        Verdict::Inconclusive { missing, .. } => {
            for missing in missing.as_slice() {
                detail(console, "missing", &format!("{}: {}", missing.what, missing.remedy));
            }
        }
        Verdict::Pass { .. } | Verdict::NotApplicable { .. } => {}
    }
    detail(console, "where", &place(line));
    detail(console, "covers", &joined(finding.covers.iter()));
    detail(console, "consumers", &joined(finding.consumers_affected.iter()));
}

fn place(line: &FindingLine) -> String {
    let place = &line.finding.place;
    let mut parts: Vec<String> = place.file.iter().cloned().collect();
    parts.extend(place.line.map(|line| format!("line {line}")));
    parts.extend(place.pointer.iter().filter(|pointer| !pointer.is_empty()).cloned());
    parts.extend(place.exchange.map(|exchange| format!("exchange {exchange}")));
    parts.join(" ")
}

fn joined<T: ToString>(items: impl Iterator<Item = T>) -> String {
    items.map(|item| item.to_string()).collect::<Vec<_>>().join(", ")
}

fn detail(console: &Console, name: &str, text: &str) {
    if !text.is_empty() {
        console.line(format!("  {name:>9}  {text}"));
    }
}
