//! What is one test, and which findings count: the rule that all formats share.

use std::collections::BTreeMap;

use ostiary_record::{FindingLine, Layer, Outcome, Place, Report, Severity, Verdict};

/// A check under one profile with one case, and everything it found there.
pub(super) struct Test<'a> {
    pub(super) check: &'a str,
    pub(super) profile: Option<String>,
    pub(super) case: Option<&'a str>,
    pub(super) findings: Vec<&'a FindingLine>,
}

/// How a finding bears on the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// Kept, or void here.
    Nothing,
    /// Shown, and does not count: a warning or note, or a failure under a profile that the contract does not activate.
    Aside,
    /// Could not tell, and that counts.
    Unknown,
    /// Broken, and that counts.
    Broken,
}

/// The tests of one layer, in the order of the report.
pub(super) fn of_layer(report: &Report, layer: Layer) -> Vec<Test<'_>> {
    let mut tests: Vec<Test<'_>> = Vec::new();
    let mut known: BTreeMap<(&str, Option<String>, Option<&str>), usize> = BTreeMap::new();
    for line in report.findings.iter().filter(|line| line.finding.layer == layer) {
        let finding = &line.finding;
        let profile = finding.profile.as_ref().map(ToString::to_string);
        let case = finding.case.as_ref().map(|case| case.0.as_str());
        let index = *known.entry((&finding.check.0, profile.clone(), case)).or_insert(tests.len());
        if index == tests.len() {
            tests.push(Test { check: &finding.check.0, profile, case, findings: Vec::new() });
        }
        tests[index].findings.push(line);
    }
    tests
}

/// What a finding means for the verdict of its layer, which already knows the activated profiles.
pub(super) fn weight(report: &Report, line: &FindingLine) -> Weight {
    let finding = &line.finding;
    let layer = report.layers.get(&finding.layer).copied().flatten();
    match (finding.verdict.outcome(), layer) {
        (Outcome::Pass | Outcome::NotApplicable, _) => Weight::Nothing,
        _ if finding.severity != Severity::Error => Weight::Aside,
        (Outcome::Fail, Some(Outcome::Fail)) => Weight::Broken,
        (Outcome::Inconclusive, Some(Outcome::Fail | Outcome::Inconclusive)) => Weight::Unknown,
        (Outcome::Fail | Outcome::Inconclusive, _) => Weight::Aside,
    }
}

/// Whether a layer is INCONCLUSIVE without a finding that says so: nothing in it applied, or nothing was judged.
pub(super) fn is_empty_handed(report: &Report, layer: Layer) -> bool {
    let outcome = report.layers.get(&layer).copied().flatten();
    let of_layer = |line: &&FindingLine| line.finding.layer == layer;
    outcome == Some(Outcome::Inconclusive)
        && !report.findings.iter().filter(of_layer).any(|line| weight(report, line) == Weight::Unknown)
}

/// What a finding says beyond its names, as lines with a heading each (none: its own sentence); nothing twice.
#[must_use]
pub fn said(line: &FindingLine) -> Vec<(&'static str, String)> {
    let finding = &line.finding;
    let mut lines = Vec::new();
    match &finding.verdict {
        Verdict::Fail { expected, observed, .. } => {
            if finding.message != format!("expected {expected}; observed {observed}") {
                lines.push(("", finding.message.clone()));
            }
            lines.push(("expected", expected.clone()));
            lines.push(("observed", observed.clone()));
        }
        Verdict::Inconclusive { missing, .. } => {
            let said = |m: &ostiary_record::Missing| format!("{} is missing: {}", m.what, m.remedy);
            if !missing.as_slice().iter().any(|m| said(m) == finding.message) {
                lines.push(("", finding.message.clone()));
            }
            lines.extend(missing.as_slice().iter().map(|m| ("missing", format!("{}: {}", m.what, m.remedy))));
        }
        Verdict::Pass { .. } | Verdict::NotApplicable { .. } => lines.push(("", finding.message.clone())),
    }
    lines.extend(finding.detail.iter().map(|detail| ("detail", detail.clone())));
    let place = place(&finding.place);
    lines.extend((!place.is_empty()).then_some(("where", place)));
    let covers = finding.covers.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    lines.extend((!covers.is_empty()).then_some(("covers", covers)));
    let consumers = finding.consumers_affected.join(", ");
    lines.extend((!consumers.is_empty()).then_some(("consumers", consumers)));
    lines.retain(|(_, text)| !text.is_empty());
    lines
}

/// Where a finding points, for people.
pub(super) fn place(place: &Place) -> String {
    let mut parts: Vec<String> = place.file.iter().cloned().collect();
    parts.extend(place.line.map(|line| format!("line {line}")));
    parts.extend(place.pointer.iter().filter(|pointer| !pointer.is_empty()).cloned());
    parts.extend(place.exchange.map(|exchange| format!("exchange {exchange}")));
    parts.join(" ")
}

/// The reason code of a finding; a PASS has none.
pub(super) fn code(line: &FindingLine) -> &'static str {
    line.finding.verdict.reason().map_or("", ostiary_record::ReasonCode::as_str)
}
