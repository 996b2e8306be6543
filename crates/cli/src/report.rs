//! Reports, in every format: for people here, for other readers by `verify::output`. The exit code is the same in all.

use ostiary_contract::Bundle;
use ostiary_record::{FindingLine, Outcome, Report, RunEvent, Severity};
use ostiary_verify::output::{self, Documents, Subject};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::{
    console::{Console, Format, coloured, visible},
    exit::Exit,
};

/// A report, with what it is about.
#[derive(Debug, Serialize)]
pub struct Judged {
    /// What else the JSON says: which card, of which format.
    #[serde(flatten)]
    about: Map<String, Value>,
    /// What was verified, in one word.
    #[serde(skip)]
    name: String,
    /// A first line for people.
    #[serde(skip)]
    head: Option<String>,
    /// Where the documents are that it names.
    #[serde(skip)]
    documents: Documents,
    #[serde(flatten)]
    report: Report,
}

/// An event with what the report is about, for several reports in one stream.
#[derive(Serialize)]
struct About<'a> {
    #[serde(flatten)]
    about: &'a Map<String, Value>,
    #[serde(flatten)]
    event: RunEvent,
}

// === impl Judged ===

impl Judged {
    /// A report on what `name` names.
    #[must_use]
    pub fn new(name: impl Into<String>, report: Report) -> Self {
        Self { about: Map::new(), name: name.into(), head: None, documents: Documents::default(), report }
    }

    /// With a field of its own in JSON.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.about.insert(field.to_owned(), value.into());
        self
    }

    /// With a first line for people.
    #[must_use]
    pub fn headed(mut self, head: impl Into<String>) -> Self {
        self.head = Some(head.into());
        self
    }

    /// With the places of its documents.
    #[must_use]
    pub fn documents(mut self, documents: Documents) -> Self {
        self.documents = documents;
        self
    }
}

/// The files of a bundle that lies in `folder`; findings that name none are shown at its contract.
#[must_use]
pub fn documents_of(bundle: &Bundle, folder: &std::path::Path) -> Documents {
    let path = |file: &str| folder.join(file).display().to_string();
    let home = Documents::at_home(path("contract.yaml"));
    bundle.files.keys().fold(home, |documents, file| documents.with(file.as_str(), path(file)))
}

/// Prints reports, and says how the command ends: with the worst of them.
pub fn show(console: Console, all: &[Judged]) -> Exit {
    let subjects: Vec<Subject<'_>> =
        all.iter().map(|one| Subject { name: &one.name, documents: &one.documents, report: &one.report }).collect();
    match console.format() {
        Format::Human => all.iter().for_each(|one| print(&console, one)),
        Format::Json => match all {
            [one] => console.document(one, true),
            many => console.document(&many, true),
        },
        Format::Jsonl => all.iter().for_each(|one| events(&console, one)),
        Format::Junit => console.text(&output::junit(&subjects)),
        Format::Sarif => console.document(&output::sarif(&subjects), true),
        Format::Markdown => console.text(&output::markdown(&subjects)),
    }
    all.iter().map(|one| one.report.verdict).reduce(Outcome::worst).unwrap_or(Outcome::Inconclusive).into()
}

/// The events of a judgement that drove nothing.
fn events(console: &Console, one: &Judged) {
    let findings = one.report.findings.iter();
    let judged = findings.map(|line| RunEvent::Judged { finding: Box::new(line.finding.clone()) });
    for event in judged.chain([RunEvent::Finished { report: Box::new(one.report.clone()) }]) {
        console.document(&About { about: &one.about, event }, false);
    }
}

fn print(console: &Console, one: &Judged) {
    let report = &one.report;
    if let Some(head) = &one.head {
        console.line(head);
    }
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
    for outcome in [Outcome::Fail, Outcome::Inconclusive] {
        print_findings(console, of(report, outcome));
    }
    void(console, report);
    console.line("");
    console.text(&visible(&report.statement).replace(" Not verified: ", "\n\nNot verified: "));
}

fn of(report: &Report, outcome: Outcome) -> impl Iterator<Item = &FindingLine> {
    report.findings.iter().filter(move |line| line.finding.verdict.outcome() == outcome)
}

fn counted(report: &Report) -> String {
    let counts = &report.counts;
    let mut text = format!(
        "{} passed, {} failed, {} inconclusive, {} not applicable",
        counts.pass, counts.fail, counts.inconclusive, counts.not_applicable
    );
    if counts.warnings > 0 {
        let plural = if counts.warnings == 1 { "" } else { "s" };
        text = format!("{text}, {} warning{plural}", counts.warnings);
    }
    text
}

/// What did not apply, in one line: it is no work for anybody.
fn void(console: &Console, report: &Report) {
    let mut checks: Vec<&str> = of(report, Outcome::NotApplicable).map(|line| line.finding.check.0.as_str()).collect();
    checks.sort_unstable();
    checks.dedup();
    if !checks.is_empty() {
        console.line("");
        console.line(format!("{}  {}", Outcome::NotApplicable, checks.join(", ")));
    }
}

/// Prints findings; what differs in the exchange alone, as repetitions do, is printed once.
fn print_findings<'a>(console: &Console, lines: impl Iterator<Item = &'a FindingLine>) {
    let mut blocks: Vec<(Vec<String>, usize)> = Vec::new();
    for line in lines {
        let block = block(line);
        match blocks.iter_mut().find(|(known, _)| *known == block) {
            Some((_, times)) => *times += 1,
            None => blocks.push((block, 1)),
        }
    }
    for (block, times) in blocks {
        let times = if times > 1 { format!("  (seen {times} times)") } else { String::new() };
        console.line("");
        for (n, line) in block.iter().enumerate() {
            console.line(if n == 0 { format!("{line}{times}") } else { line.clone() });
        }
    }
}

fn block(line: &FindingLine) -> Vec<String> {
    let mut line = line.clone();
    line.finding.place.exchange = None;
    let finding = &line.finding;
    let counts = match finding.severity {
        Severity::Error => "",
        Severity::Warning => " (warning)",
        Severity::Note => " (note)",
    };
    let reason = finding.verdict.reason().map_or("", |reason| reason.as_str());
    let mut head = format!("{}{counts}  {reason}  {}", coloured(finding.verdict.outcome().as_str()), finding.check);
    for of in [finding.profile.as_ref().map(ToString::to_string), finding.case.as_ref().map(ToString::to_string)] {
        head.extend(of.map(|of| format!("  {of}")));
    }
    let said = output::said(&line).into_iter().map(|(name, text)| format!("  {name:>9}  {text}"));
    std::iter::once(head).chain(said).collect()
}
